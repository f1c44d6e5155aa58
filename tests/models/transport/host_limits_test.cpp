// Limits inside a host beyond its links: hand-worked numbers on machines of the catalogue, and what
// thread blocks reached on real PCIe (tests/data/measured).
#include "models/transport/host_limits.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/transport/wiring.h"
#include "sim/core/text.h"
#include "sim/core/yaml.h"

namespace busbw::transport {
namespace {

const std::string kCatalog = std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog";
const std::string kMeasured =
    std::string(BUSBW_SOURCE_DIR) + "/tests/data/measured/h200x2-host-memory.json";
constexpr double kGiga = 1e9;

struct Data {
  topologies::Catalog catalog;
  params::Transports transports;
  std::vector<topologies::Machine> machines;
};

const Data& data() {
  static const Data loaded = [] {
    Problems problems;
    Data read;
    read.catalog = topologies::load_catalog(kCatalog, problems);
    read.transports = params::load_transports(kCatalog, problems);
    read.machines = topologies::load_machines(kCatalog + "/machines", read.catalog, problems);
    problems.throw_if_any();
    return read;
  }();
  return loaded;
}

topologies::Machine machine(const std::string& name) {
  return *std::find_if(data().machines.begin(), data().machines.end(),
                       [&](const topologies::Machine& known) { return known.name == name; });
}

/// One host and its limits.
struct Host {
  explicit Host(const topologies::Machine& machine) {
    cluster.hosts = {machine};
    built = topologies::build(cluster, data().catalog);
    limits = std::make_unique<HostLimits>(*engine, cluster, built, data().transports);
  }

  [[nodiscard]] topologies::NodeId gpu(std::size_t index) const { return built.gpus[0][index]; }
  [[nodiscard]] topologies::NodeId nic(const std::string& name) const {
    return built.nics[0][*cluster.hosts[0].find_nic(name)];
  }
  [[nodiscard]] HostLimits::FabricPath way(topologies::NodeId from, topologies::NodeId to) const {
    return *built.fabric.route(from, to, topologies::host_only());
  }
  /// Capacities in GB/s of the limits between a GPU and a NIC.
  [[nodiscard]] std::vector<double> peers(topologies::NodeId from, topologies::NodeId to,
                                          const std::string& nic_name) const {
    std::vector<double> rates;
    for (const engine::LinkId link : limits->of_peers(way(from, to), nic(nic_name))) {
      rates.push_back(static_cast<double>(engine->capacity(link).bps()) / 8 / kGiga);
    }
    return rates;
  }

  topologies::Cluster cluster;
  topologies::BuiltCluster built;
  std::unique_ptr<engine::Engine> engine = engine::make_engine(engine::Kind::kFluid);
  std::unique_ptr<HostLimits> limits;
};

// Gen4 x16: 31.508 GB/s as coded, 0.878 of it payload; both ways 2 x 27.664 x 0.8 = 44.26 GB/s.
TEST(HostLimits, BothDirectionsOfALinkShareOne) {
  const Host host(machine("rtx4090-x8"));
  const topologies::NodeId cpu = host.built.cpus[0][0];
  const auto up = host.limits->of_blocks(host.way(host.gpu(0), cpu));
  const auto down = host.limits->of_blocks(host.way(cpu, host.gpu(0)));
  const auto other = host.limits->of_blocks(host.way(cpu, host.gpu(1)));
  ASSERT_EQ(up.size(), 1U);
  EXPECT_EQ(up, down);
  EXPECT_NE(up, other);
  EXPECT_NEAR(static_cast<double>(host.engine->capacity(up.front()).bps()) / 8 / kGiga, 44.26,
              0.01);
}

// GPUs behind one switch share the limit of its uplink, each has that of its own slot.
TEST(HostLimits, ASharedUplinkHasOneForAllBehindIt) {
  const Host host(machine("l40s-x8"));
  const topologies::NodeId cpu = host.built.cpus[0][0];
  const auto first = host.limits->of_blocks(host.way(host.gpu(0), cpu));
  const auto second = host.limits->of_blocks(host.way(cpu, host.gpu(1)));
  ASSERT_EQ(first.size(), 2U);
  ASSERT_EQ(second.size(), 2U);
  EXPECT_NE(first.front(), second.back());
  EXPECT_EQ(first.back(), second.front());
}

// A coherent link to the CPU is no PCIe, and GPUs with one take it.
TEST(HostLimits, NoneOverNvLinkC2c) {
  const Host host(machine("alps-gh200"));
  const topologies::NodeId cpu = host.built.cpus[0][0];
  EXPECT_TRUE(host.limits->of_blocks(host.way(host.gpu(0), cpu)).empty());
  const std::string nic = host.cluster.hosts[0].nics.back().name;
  EXPECT_TRUE(host.peers(host.gpu(0), host.nic(nic), nic).empty());
}

// mlx5_0 is on the second socket, GPUs 0 to 3 on the first: reading is slow at any root complex,
// across sockets sending and receiving share what is left.
TEST(HostLimits, PeersAtARootComplex) {
  const Host direct(machine("rtx4090-x8"));
  const std::string nic = "mlx5_0";
  EXPECT_EQ(direct.peers(direct.gpu(4), direct.nic(nic), nic), (std::vector<double>{14}));
  EXPECT_EQ(direct.peers(direct.nic(nic), direct.gpu(4), nic), std::vector<double>{});
  EXPECT_EQ(direct.peers(direct.gpu(0), direct.nic(nic), nic), (std::vector<double>{14, 12}));
  EXPECT_EQ(direct.peers(direct.nic(nic), direct.gpu(0), nic), (std::vector<double>{12}));
  EXPECT_EQ(
      direct.limits->of_peers(direct.way(direct.gpu(0), direct.nic(nic)), direct.nic(nic))[1],
      direct.limits->of_peers(direct.way(direct.nic(nic), direct.gpu(3)), direct.nic(nic))[0]);
}

TEST(HostLimits, BehindOneSwitchNothingLimitsPeers) {
  const Host host(machine("l40s-x8"));
  EXPECT_TRUE(host.peers(host.gpu(0), host.nic("mlx5_0"), "mlx5_0").empty());
}

TEST(HostLimits, AcsTurnsTrafficAroundAtTheCpu) {
  topologies::Machine switched = machine("l40s-x8");
  switched.acs_redirect = true;
  const Host host(switched);
  EXPECT_EQ(host.peers(host.gpu(0), host.nic("mlx5_0"), "mlx5_0"), (std::vector<double>{14}));
}

// A root port has one limit, whatever direction and however often a way goes through it.
TEST(HostLimits, TranslationIsOneOfEachRootPort) {
  topologies::Machine switched = machine("l40s-x8");
  switched.acs_redirect = true;
  switched.dma_translation = true;
  const Host host(switched);
  const topologies::NodeId cpu = host.built.cpus[0][0];
  const auto up = host.limits->of_translation(host.way(host.gpu(0), cpu));
  ASSERT_TRUE(up.has_value());
  EXPECT_EQ(host.engine->capacity(*up), Bandwidth::gigabytes_per_second(27));
  EXPECT_EQ(up, host.limits->of_translation(host.way(cpu, host.gpu(1))));
  EXPECT_EQ(up, host.limits->of_translation(host.way(host.gpu(0), host.nic("mlx5_0"))));
  EXPECT_NE(up, host.limits->of_translation(host.way(host.gpu(4), host.built.cpus[0][1])));
}

TEST(HostLimits, NoTranslationUnlessSaid) {
  const Host host(machine("l40s-x8"));
  EXPECT_FALSE(host.limits->of_translation(host.way(host.gpu(0), host.built.cpus[0][0])));
}

TEST(HostLimits, VerbsInSoftware) {
  const Host host(machine("jean-zay-v100"));
  const std::size_t nic = *host.cluster.hosts[0].find_nic("hfi1_0");
  const auto limit = host.limits->of_verbs(0, nic);
  ASSERT_TRUE(limit.has_value());
  EXPECT_EQ(host.engine->capacity(*limit), Bandwidth::gigabytes_per_second(4));
  EXPECT_EQ(limit, host.limits->of_verbs(0, nic));
}

TEST(HostLimits, VerbsInHardware) {
  const Host host(machine("dgx-a100"));
  EXPECT_FALSE(host.limits->of_verbs(0, *host.cluster.hosts[0].find_nic("mlx5_0")).has_value());
}

/// Median over GPUs and directions of the measured rows of a kind, GB/s.
double measured(const std::string& kind, std::int64_t gpus, std::int64_t blocks) {
  Problems problems;
  // JSON is YAML.
  MappingReader file(load_yaml(kMeasured, problems), kMeasured, problems);
  for (const YamlNode& node : file.required_sequence("rows").elements()) {
    MappingReader row(node, "row", problems);
    const bool found = row.required_integer("gpus", 1, 8) == gpus &&
                       row.required_integer("blocks", 1, 64) == blocks &&
                       row.required_text("kind") == kind;
    std::vector<double> rates;
    for (const std::string& text : row.required_texts("GBps")) {
      rates.push_back(parse_number(text).value_or(0));
    }
    if (found) {
      problems.throw_if_any();
      std::sort(rates.begin(), rates.end());
      return rates[rates.size() / 2];
    }
  }
  ADD_FAILURE() << "no row " << kind << " " << gpus << " " << blocks;
  return 1;
}

// One block of 512 threads asks for 64 bytes each and waits a round trip: 32768 B / 1.6 us = 20.5
// GB/s. Many fill what the packets of 128 bytes leave of the link; reading and writing at once gets
// less than twice that.
TEST(HostMemory, BlocksReachWhatTheyReachOnARealH200) {
  const params::Transports& transports = data().transports;
  constexpr std::size_t kSimple = 2;
  const double round = static_cast<double>(transports.blocks.threads[kSimple] *
                                           transports.blocks.round[kSimple].count());
  const double one_block = round / (transports.blocks.host_round_trip.as_us() * 1e3);
  EXPECT_NEAR(one_block / measured("read", 1, 1), 1, 0.03);
  EXPECT_NEAR(one_block / measured("read", 2, 1), 1, 0.03);

  const auto as_double = [](Ratio ratio) {
    return static_cast<double>(ratio.numerator) / static_cast<double>(ratio.denominator);
  };
  const double link = 63.015 * as_double(transports.pcie_share.share);
  const double one_way = link * as_double(transports.shm.share[kSimple]);
  EXPECT_NEAR(one_way / measured("read", 1, 8), 1, 0.03);
  EXPECT_NEAR(one_way / measured("write", 1, 8), 1, 0.03);
  const double both = one_way * as_double(transports.pcie_share.host_both_ways);
  EXPECT_NEAR(both / measured("copy", 1, 8), 1, 0.06);
  EXPECT_NEAR(both / measured("copy", 2, 8), 1, 0.18);  // two GPUs: the CPU limits too
}

}  // namespace
}  // namespace busbw::transport
