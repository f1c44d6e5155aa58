// TCP against RDMA: latency of a small message and copies through host memory, on the case's two
// hosts; and NVSwitch under traffic between all pairs.
#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "models/transport/wiring.h"
#include "sim/core/errors.h"

namespace busbw::transport {
namespace {

const std::string kCatalog = std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog";

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

const topologies::Machine& machine(const std::string& name) {
  return *std::find_if(data().machines.begin(), data().machines.end(),
                       [&](const topologies::Machine& known) { return known.name == name; });
}

/// All three legs of a connection, one after the other.
std::vector<engine::LinkId> whole_way(const Connection& connection) {
  std::vector<engine::LinkId> links = connection.fill;
  links.insert(links.end(), connection.path.begin(), connection.path.end());
  links.insert(links.end(), connection.drain.begin(), connection.drain.end());
  return links;
}

/// Two hosts of the case, with an IOMMU that translates or without. NIC 0 is eth0, NIC 1 the HCA.
struct Pair {
  explicit Pair(bool translated = false) {
    topologies::Machine host = machine("a100-40gb-x4");
    host.dma_translation = translated;
    cluster.hosts = {host, host};
    for (const char* nic : {"eth0", "mlx5_0"}) {
      topologies::Network network;
      network.name = nic;
      network.nics = {nic};
      cluster.networks.push_back(network);
    }
    built = topologies::build(cluster, data().catalog);
  }

  Connection connect(Network network, std::size_t nic, bool gdr,
                     params::Protocol protocol = params::Protocol::kLowLatency) {
    WiringOptions options;
    options.protocol = protocol;
    options.network = network;
    options.ports.assign(8, {{"nic", nic, 0, gdr, gdr, std::nullopt}});
    Wiring wiring(*engine, cluster, built, data().transports, options);
    return wiring.connect(RankId(0), RankId(4), ChannelId(0));
  }

  /// How often a message crosses the DRAM of host `host`, by writes and reads.
  [[nodiscard]] std::int64_t crossings(const Connection& connection, int host) const {
    const std::string prefix = "node" + std::to_string(host) + "/";
    const std::vector<engine::LinkId> links = whole_way(connection);
    return std::count_if(links.begin(), links.end(), [&](engine::LinkId link) {
      const std::string& name = engine->name(link);
      return name.starts_with(prefix) && name.find("memory") != std::string::npos;
    });
  }

  topologies::Cluster cluster;
  topologies::BuiltCluster built;
  std::unique_ptr<engine::Engine> engine = engine::make_engine(engine::Kind::kFluid);
};

// A small message (LL) from GPU 0 to GPU 4, each under a PCIe switch with the HCA. PCIe hops of
// 0.15 us, those of eth0 0.2 (Gen3); adapters 0.3 and 1 us at each end.
//   GPUDirect RDMA            1.4 us + 6 hops + 2 x 0.3                            =  2.9 us
//     (LL is sent from host memory, where the proxy thread can see its flags: two hops more)
//   RDMA from host memory     1.4 us + 8 hops + 2 x 0.3                            =  3.2 us
//   sockets over the same NIC  15 us + 8 hops + 2 x 0.3                            = 16.8 us
//   sockets over eth0          15 us + 4 hops + 2 x 0.2 + 2 x 1                    = 18.0 us
// Sockets take 5.3 to 6.2 times as long. Public figures: 1 to 2 us between hosts by InfiniBand, 5
// to 10 times as much by TCP.
TEST(Copies, SmallMessagesTakeFiveToTenTimesAsLongBySocket) {
  Pair pair;
  const Duration direct = pair.connect(Network::kInfiniBand, 1, true).latency;
  const Duration staged = pair.connect(Network::kInfiniBand, 1, false).latency;
  const Duration same_nic = pair.connect(Network::kSocket, 1, false).latency;
  const Duration slow_nic = pair.connect(Network::kSocket, 0, false).latency;
  EXPECT_EQ(direct.ps(), 2'900'000);
  EXPECT_EQ(staged.ps(), 3'200'000);
  EXPECT_EQ(same_nic.ps(), 16'800'000);
  EXPECT_EQ(slow_nic.ps(), 18'000'000);
  for (const Duration socket : {same_nic, slow_nic}) {
    for (const Duration rdma : {direct, staged}) {
      const double ratio = socket.as_us() / rdma.as_us();
      EXPECT_GE(ratio, 5);
      EXPECT_LE(ratio, 10);
    }
  }
}

// GPU -> NCCL's buffer -> kernel's buffer -> NIC: two writes and two reads at each end. RDMA leaves
// out the kernel's buffer, GPUDirect RDMA both.
TEST(Copies, SocketsCrossTheMemoryTwiceRdmaOnceGpuDirectNever) {
  Pair pair;
  const Connection socket = pair.connect(Network::kSocket, 0, false);
  const Connection staged = pair.connect(Network::kInfiniBand, 1, false);
  const Connection direct = pair.connect(Network::kInfiniBand, 1, true, params::Protocol::kSimple);
  for (const int host : {0, 1}) {
    EXPECT_EQ(pair.crossings(socket, host), 4);
    EXPECT_EQ(pair.crossings(staged, host), 2);
    EXPECT_EQ(pair.crossings(direct, host), 0);
  }
}

// A proxy thread can't see flags in a GPU's memory: the sender's threads write LL's lines to the
// host's, where the proxy looks through them at its own rate. The receiver's GPU sees its own.
TEST(Copies, LlIsSentFromHostMemoryAndReceivedInTheGpus) {
  Pair pair;
  const Connection ll = pair.connect(Network::kInfiniBand, 1, true);
  EXPECT_EQ(pair.crossings(ll, 0), 2);
  EXPECT_EQ(pair.crossings(ll, 1), 0);
  // Two PCIe links with what both their directions share, and the memory.
  EXPECT_EQ(ll.fill.size(), 5U);
  EXPECT_TRUE(ll.drain.empty());
  const auto checks = [&](const Connection& connection) {
    return std::count_if(connection.path.begin(), connection.path.end(), [&](engine::LinkId link) {
      return pair.engine->name(link) == "rank 0 proxy thread" &&
             pair.engine->capacity(link) == data().transports.host.flag_check;
    });
  };
  EXPECT_EQ(checks(ll), 1);
  EXPECT_EQ(checks(pair.connect(Network::kInfiniBand, 1, true, params::Protocol::kLowLatency128)),
            0);
}

// An IOMMU that translates costs by the request. The sender's threads write host memory by 128
// bytes where the adapter reads it by 256: they count twice on the root port that GPU and NIC
// share, the adapter once. The receiver's side is the same. By GPUDirect only adapters ask.
TEST(Copies, TranslationCostsThreadBlocksTwice) {
  Pair pair(true);
  const auto counts = [&](const Connection& connection) {
    std::vector<std::int64_t> result;
    for (const std::vector<engine::LinkId>* leg :
         {&connection.fill, &connection.path, &connection.drain}) {
      result.push_back(std::count_if(leg->begin(), leg->end(), [&](engine::LinkId link) {
        return pair.engine->name(link).find(" translation") != std::string::npos;
      }));
    }
    return result;
  };
  const auto simple = params::Protocol::kSimple;
  EXPECT_EQ(counts(pair.connect(Network::kInfiniBand, 1, false, simple)),
            (std::vector<std::int64_t>{2, 2, 2}));
  // A switch that does not redirect joins GPU and NIC without the root port.
  EXPECT_EQ(counts(pair.connect(Network::kInfiniBand, 1, true, simple)),
            (std::vector<std::int64_t>{0, 0, 0}));
}

// What crosses a link twice uses twice its rate there: of 1 MB by socket the memory writes 2 MB and
// the proxy threads of both ranks each move 1 MB; by RDMA no thread moves any, LL's flags apart.
TEST(Copies, AreResourcesOfTheEngine) {
  Pair pair;
  const Connection socket = pair.connect(Network::kSocket, 0, false);
  engine::FlowSpec flow;
  flow.path = whole_way(socket);
  flow.size = Bytes(1'000'000);
  pair.engine->start_flow(flow, [](engine::FlowEnd) {});
  pair.engine->run();
  int threads = 0;
  int memories = 0;
  for (std::size_t i = 0; i < pair.engine->link_count(); ++i) {
    const engine::LinkId link(static_cast<std::int32_t>(i));
    const std::int64_t carried = pair.engine->usage(link).carried.count();
    if (pair.engine->name(link).ends_with("proxy thread")) {
      EXPECT_NEAR(static_cast<double>(carried), 1e6, 1);
      ++threads;
    } else if (pair.engine->name(link).find("memory") != std::string::npos) {
      EXPECT_NEAR(static_cast<double>(carried), 2e6, 1);
      ++memories;
    }
  }
  EXPECT_EQ(threads, 2);
  EXPECT_EQ(memories, 4);  // a write and a read link at each end
  const Connection rdma = pair.connect(Network::kInfiniBand, 1, false, params::Protocol::kSimple);
  for (const engine::LinkId link : rdma.path) {
    EXPECT_FALSE(pair.engine->name(link).ends_with("proxy thread"));
  }
}

// Eight GPUs, each sending 1 GB to each other one at the same time: 7 flows leave a GPU over its 18
// links. Without contention inside the switch they end together after 7 GB / (rate x 0.876).
TEST(NvSwitch, AllPairsAtTheFullRateOfTheGpus) {
  const std::vector<std::pair<std::string, double>> machines = {{"dgx-h100", 450},
                                                                {"dgx-b200", 900}};
  for (const auto& entry : machines) {
    topologies::Cluster cluster;
    cluster.hosts = {machine(entry.first)};
    const topologies::BuiltCluster built = topologies::build(cluster, data().catalog);
    const std::unique_ptr<engine::Engine> engine = engine::make_engine(engine::Kind::kFluid);
    Wiring wiring(*engine, cluster, built, data().transports, {});
    std::vector<double> ends;
    for (std::int32_t from = 0; from < 8; ++from) {
      for (std::int32_t to = 0; to < 8; ++to) {
        if (from != to) {
          engine::FlowSpec flow;
          flow.path = wiring.connect(RankId(from), RankId(to), ChannelId(0)).fill;
          flow.size = Bytes(1'000'000'000);
          engine->start_flow(flow, [&](engine::FlowEnd end) {
            EXPECT_EQ(end, engine::FlowEnd::kDone);
            ends.push_back((engine->now() - SimTime()).as_ms());
          });
        }
      }
    }
    engine->run();
    ASSERT_EQ(ends.size(), 56U);
    for (const double end : ends) {
      EXPECT_NEAR(end, 7 / (entry.second * 0.82) * 1e3, 1e-6) << entry.first;
    }
  }
}

}  // namespace
}  // namespace busbw::transport
