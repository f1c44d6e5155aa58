// Jobs over fabric files: what oversubscription, rails, partitions and the subnet manager do to
// them.
#include <set>

#include <gtest/gtest.h>

#include "scenarios/perf.h"
#include "scenarios/simulate.h"
#include "sim/core/yaml.h"
#include "tests/scenarios/library.h"

namespace busbw::scenarios {
namespace {

using collectives::Collective;

networks::FabricSpec fabric(const std::string& body) {
  Problems problems;
  const YamlNode node = parse_yaml("schema: busbw.fabric/1\nname: f\n" + body, "f.yaml", problems);
  networks::FabricSpec spec = networks::read_fabric(node, problems);
  problems.throw_if_any();
  return spec;
}

PerfRequest request(const std::string& name, std::int32_t nodes, const std::string& body) {
  PerfRequest asked;
  asked.machine = machine(name);
  asked.hosts.hosts = nodes;
  asked.hosts.fabric = fabric(body);
  asked.version = *nccl::parse_version("2.27");
  asked.sizes = {Bytes::mib(256)};
  return asked;
}

double busbw(const PerfRequest& asked) {
  const PerfResult result = perf(asked, context());
  EXPECT_FALSE(result.error) << *result.error;
  return result.sizes.at(0).busbw_GBps;
}

std::string tree(const std::string& oversubscription) {
  return "topology: fat-tree\ntiers: 2\nleaf_ports: 4\noversubscription: " + oversubscription +
         "\nhosts: [{count: 8, rate: 100 Gb/s}]\nswitches: SB7800\n";
}

// Eight hosts with one port of 100 Gb/s, four a leaf. In order of places only two edges of the ring
// cross; taken from both leaves in turn all do: four flows over two cables up.
TEST(Fabrics, OversubscriptionHalvesACrossingRing) {
  PerfRequest full = request("a100-40gb-x4", 8, tree("1:1"));
  full.environment["NCCL_ALGO"] = "Ring";
  PerfRequest half = request("a100-40gb-x4", 8, tree("2:1"));
  half.environment["NCCL_ALGO"] = "Ring";
  EXPECT_NEAR(busbw(half), busbw(full), 0.001 * busbw(full));
  full.hosts.places = half.hosts.places = {0, 4, 1, 5, 2, 6, 3, 7};
  EXPECT_NEAR(busbw(half), 0.5 * busbw(full), 0.03 * busbw(full));
}

// Rings stay on their rails; all-to-all reaches the rail of its target over NVLink first. Without
// that (PXN) a NIC would have to send to another rail, and there is no way.
TEST(Fabrics, RailOnlyCarriesRingsAndPxn) {
  const std::string hosts = "hosts: [{count: 2, nics: 8}]\nswitches: QM9700\n";
  PerfRequest only = request("dgx-h100", 2, "topology: rail-only\n" + hosts);
  PerfRequest all = request("dgx-h100", 2, "topology: rail-optimised\ntiers: 2\n" + hosts);
  EXPECT_NEAR(busbw(only), busbw(all), 0.001 * busbw(all));
  only.collective = all.collective = Collective::kAllToAll;
  EXPECT_NEAR(busbw(only), busbw(all), 0.001 * busbw(all));
  only.environment["NCCL_PXN_DISABLE"] = "1";
  EXPECT_THROW(busbw(only), InputError);
}

// NCCL asks no subnet manager for a path: what counts is whether the ports are ACTIVE.
TEST(Fabrics, WithoutASubnetManagerNewPortsAreNoDevices) {
  PerfRequest asked = request("a100-40gb-x4", 2, tree("1:1") + "subnet_manager: {state: down}\n");
  const PerfResult sockets = perf(asked, context());
  EXPECT_EQ(sockets.decision.hosts.front().network, "Socket");
  ASSERT_FALSE(sockets.remarks.empty());
  EXPECT_EQ(sockets.remarks.front(),
            "NCCL does not list ports that are not Active: mlx5_0:1 of hosts 1 and 2 Initializing");
  asked.environment["NCCL_NET"] = "IB";
  const PerfResult error = perf(asked, context());
  ASSERT_TRUE(error.error);
  EXPECT_NE(error.error->find("Failed to initialize any NET plugin"), std::string::npos);
  // Ports that were up before keep on, and connect.
  const PerfRequest before =
      request("a100-40gb-x4", 2, tree("1:1") + "subnet_manager: {state: down, ports: active}\n");
  const PerfRequest running = request("a100-40gb-x4", 2, tree("1:1"));
  EXPECT_EQ(busbw(before), busbw(running));
}

/// All hosts over one fabric, with what happens during a ring.
VariantResult ring(const PerfRequest& asked, std::vector<Fault> events,
                   engine::Kind engine = engine::Kind::kFluid) {
  Variant variant;
  variant.name = "ring";
  variant.environment = asked.environment;
  variant.environment["NCCL_ALGO"] = "Ring";
  variant.version = asked.version;
  variant.workload.collective = asked.collective;
  variant.workload.element = Bytes(4);
  variant.workload.sizes = asked.sizes;
  variant.events = std::move(events);
  set_equal_hosts(asked.machine, asked.hosts, library().catalog, variant);
  Scenario scenario;
  scenario.name = "f";
  scenario.variants = {variant};
  SimulateOptions options;
  options.engine = {engine, Level::kPlayed};
  return simulate(scenario, context(), options).variants.front();
}

const FaultOutcome& outcome(const VariantResult& variant) {
  const SizeResult& size =
      variant.results.empty() ? variant.failed.front() : variant.results.front();
  const FaultOutcome& found = *size.chosen.faults;
  EXPECT_EQ(found.asked, found.arrived + found.lost);
  EXPECT_GT(found.asked, Bytes());
  return found;
}

// Key of the file or of the scenario: queue pairs connect, and give up after eight timers.
TEST(Fabrics, PartitionsOfFileAndScenarioEndAlike) {
  const PerfRequest file = request(
      "a100-40gb-x4", 2,
      tree("1:1") +
          "subnet_manager: {partitions: [{pkey: 1, hosts: node0}, {pkey: 2, hosts: node1}]}\n");
  const PerfResult refused = perf(file, context());
  ASSERT_TRUE(refused.error);
  EXPECT_TRUE(refused.sizes.empty());
  const VariantResult played = ring(file, {});
  EXPECT_EQ(played.outcome, "error");
  EXPECT_NEAR(outcome(played).end.as_seconds(), 34.36 + 0.1, 0.01);
  EXPECT_GT(outcome(played).lost, Bytes());  // what stays in a host arrives

  PerfRequest plain = request("a100-40gb-x4", 2, tree("1:1"));
  Variant variant;
  variant.version = plain.version;
  variant.workload.element = Bytes(4);
  variant.workload.sizes = plain.sizes;
  variant.environment["NCCL_ALGO"] = "Ring";
  set_equal_hosts(plain.machine, plain.hosts, library().catalog, variant);
  variant.cluster.networks.front().partitions = {{1, {0}, {}}, {2, {1}, {}}};
  Scenario scenario;
  scenario.variants = {variant};
  const VariantResult by_scenario = simulate(scenario, context(), {}).variants.front();
  EXPECT_EQ(by_scenario.error, played.error);
  EXPECT_NE(played.error->find("status=12"), std::string::npos);
  // A common key at the index in use lets them pass.
  PerfRequest second =
      request("a100-40gb-x4", 2,
              tree("1:1") +
                  "subnet_manager: {partitions: [{pkey: 1, hosts: node0}, {pkey: 2, hosts: node1}, "
                  "{pkey: 3, members: limited, hosts: node0}, {pkey: 3, hosts: node1}]}\n");
  EXPECT_TRUE(perf(second, context()).error);
  second.environment["NCCL_IB_PKEY"] = "1";
  EXPECT_EQ(busbw(second), busbw(plain));
}

Fault between(const std::string& from, const std::string& to, Duration at) {
  Fault fault;
  fault.kind = FaultKind::kLinkDown;
  fault.at = at;
  fault.from = from;
  fault.to = to;
  return fault;
}

/// Eight hosts, two a leaf, so that every second edge of the ring goes over a spine.
PerfRequest small_leaves(const std::string& more = "") {
  PerfRequest asked = request(
      "a100-40gb-x4", 8,
      "topology: fat-tree\ntiers: 2\nleaf_ports: 2\nspines: 2\nhosts: [{count: 8, rate: 100 "
      "Gb/s}]\nswitches: SB7800\n" +
          more);
  asked.sizes = {Bytes::mib(64)};
  return asked;
}

// Of the two spines' cables to leaf 0 one at least carries the ring. It fails at 1 ms; the manager
// has new tables after 1 s, and the queue pairs try after 4.295 s.
TEST(Fabrics, ALostCableIsGoneAroundByNewTables) {
  constexpr double kTimerMs = 4294.967296;
  Fault nothing;
  nothing.kind = FaultKind::kSlowGpu;
  nothing.host = 0;
  nothing.gpu = 0;
  const Duration base = ring(small_leaves(), {nothing}).results.front().chosen.time;
  double most = 0;
  for (const char* spine : {"ib/spine0", "ib/spine1"}) {
    const Fault fault = between("ib/leaf0", spine, Duration::milliseconds(1));
    const VariantResult around = ring(small_leaves(), {fault});
    EXPECT_EQ(around.outcome, "runs") << around.error.value_or("");
    EXPECT_EQ(outcome(around).lost, Bytes());
    most = std::max(most, (around.results.front().chosen.time - base).as_ms());
    const VariantResult reference = ring(small_leaves(), {fault}, engine::Kind::kReference);
    EXPECT_NEAR(reference.results.front().chosen.time.as_us(),
                around.results.front().chosen.time.as_us(), 5);
  }
  EXPECT_NEAR(most, kTimerMs, 20);
  // Both: leaf 0 is cut off, and the job fails.
  const VariantResult cut =
      ring(small_leaves(), {between("ib/leaf0", "ib/spine0", Duration::milliseconds(1)),
                            between("ib/leaf0", "ib/spine1", Duration::milliseconds(1))});
  EXPECT_EQ(cut.outcome, "error");
  EXPECT_GT(outcome(cut).lost, Bytes());
  EXPECT_NE(cut.error->find("status=12"), std::string::npos);
}

// A file's cable that is missing at a host's port: the port is DOWN, and NCCL does without it.
TEST(Fabrics, AMissingHostCableTakesThePortAway) {
  const PerfResult result =
      perf(request("a100-40gb-x4", 2, tree("1:1") + "missing: [{from: node1}]\n"), context());
  EXPECT_FALSE(result.remarks.empty());
  EXPECT_EQ(result.remarks.front(),
            "NCCL does not list ports that are not Active: mlx5_0:1 of host 2 Down");
}

TEST(Fabrics, PlacesAreTakenOnce) {
  PerfRequest asked = request("a100-40gb-x4", 2, tree("1:1"));
  asked.hosts.places = {3, 3};
  EXPECT_THROW(busbw(asked), InputError);
}

/// Eight hosts with an Ethernet NIC of 100 Gb/s each, four a leaf, four spines.
PerfRequest ethernet(const std::string& more = "") {
  PerfRequest asked = request(
      "a100-40gb-x4", 8,
      "topology: fat-tree\ntiers: 2\nleaf_ports: 4\nspines: 4\nhosts: [{count: 8, rate: 100 "
      "Gb/s}]\nswitches: SN2700\n" +
          more);
  for (topologies::MachineNic& nic : asked.machine.nics) {
    nic.link_layer = topologies::NicLinkLayer::kEthernet;
  }
  asked.hosts.places = {0, 4, 1, 5, 2, 6, 3, 7};  // every edge of the ring crosses
  asked.environment["NCCL_ALGO"] = "Ring";
  asked.sizes = {Bytes::mib(64)};
  return asked;
}

// Four hosts with two channels each send up from each leaf, over four cables. Tables of d-mod-k
// give each host its own; a hash does not: of 8 balls in 4 bins the fullest has 3.6 on average, and
// of both leaves the worse one bounds the ring. More queue pairs spread better, packets wholly.
TEST(Fabrics, EthernetHashesFlowsOverEqualWays) {
  const double tables = busbw(ethernet("subnet_manager: {routing: d-mod-k}\n"));
  const auto with = [](params::Balance balance, std::uint64_t seed, const char* queue_pairs) {
    PerfRequest asked = ethernet();
    params::Traffic traffic;
    traffic.balance = balance;
    traffic.seed = seed;
    asked.hosts.traffic = traffic;
    asked.environment["NCCL_IB_QPS_PER_CONNECTION"] = queue_pairs;
    asked.environment["NCCL_IB_SPLIT_DATA_ON_QPS"] = "1";
    return busbw(asked);
  };
  double one = 0;
  double many = 0;
  constexpr int kSeeds = 6;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    one += with(params::Balance::kFlow, seed, "1") / kSeeds;
    many += with(params::Balance::kFlow, seed, "8") / kSeeds;
  }
  EXPECT_LT(one, 0.65 * tables);
  EXPECT_GT(many, 1.15 * one);
  EXPECT_NEAR(with(params::Balance::kPacket, 1, "1"), tables, 0.02 * tables);
  // Nothing said: the hash of seed 1.
  EXPECT_EQ(busbw(ethernet()), busbw([] {
              PerfRequest asked = ethernet();
              asked.hosts.traffic = params::Traffic();
              return asked;
            }()));
  EXPECT_LT(busbw(ethernet()), tables);
}

// Switches that find a cable down hash over what is left after 0.2 s; the senders try after 4.295
// s.
TEST(Fabrics, EthernetHashesAnewAfterALoss) {
  double most = 0;
  for (int spine = 0; spine < 2; ++spine) {
    const VariantResult around = ring(
        ethernet(),
        {between("rails/leaf0", "rails/spine" + std::to_string(spine), Duration::milliseconds(1))});
    EXPECT_EQ(around.outcome, "runs") << around.error.value_or("");
    EXPECT_EQ(outcome(around).lost, Bytes());
    most = std::max(most, around.results.front().chosen.time.as_seconds());
  }
  EXPECT_GT(most, 4.29);
  EXPECT_LT(most, 4.4);
}

TEST(Fabrics, WhatTheFabricsLinkLayerRulesOut) {
  PerfRequest asked = request("a100-40gb-x4", 2, tree("1:1"));
  params::Traffic traffic;
  traffic.balance = params::Balance::kFlow;
  asked.hosts.traffic = traffic;
  EXPECT_THROW(perf(asked, context()), InputError);  // InfiniBand has no ECMP
  asked = ethernet();
  asked.hosts.fabric = fabric(tree("1:1"));
  EXPECT_THROW(perf(asked, context()), InputError);  // no NIC of the machine fits the switches
}

// The hottest links are there without being asked for, with the ranks that share them.
TEST(Fabrics, HottestLinksAreReported) {
  PerfRequest asked = request("a100-40gb-x4", 8, tree("2:1"));
  asked.environment["NCCL_ALGO"] = "Ring";
  asked.hosts.places = {0, 4, 1, 5, 2, 6, 3, 7};
  const PerfResult result = perf(asked, context());
  const std::vector<HotLink>& hottest = result.sizes.at(0).chosen.hottest;
  ASSERT_EQ(hottest.size(), 3U);
  // Two flows a cable between leaf and spine, which is what bounds the ring.
  EXPECT_NE(hottest[0].link.find("ib/spine"), std::string::npos);
  std::set<std::pair<std::int32_t, std::int32_t>> hosts;  // of four ranks
  for (const auto& [from, to] : hottest[0].users) {
    hosts.insert({from.value() / 4, to.value() / 4});
  }
  EXPECT_EQ(hosts.size(), 2U);
  for (const auto& [from, to] : hosts) {
    EXPECT_EQ((from + 1) % 8, to);
  }
  Context none = context();
  none.hottest_links = 0;
  EXPECT_TRUE(perf(asked, none).sizes.at(0).chosen.hottest.empty());
}

// rail-only-64 of the catalogue, two hosts, S = 256 MiB. With PXN a NIC sends what the eight ranks
// of its host have for the GPU beside its twin: 8 x S/16 = 128 MiB, at 50 GB/s x 4096/4122 x 0.981
// = 48.74 GB/s 2.754 ms at least. Without PXN, and with CROSS_NIC 0, a GPU hands what is for
// another rail to that rail's NIC through host memory: 4 GPUs x 7 x S/16 = 448 MiB a socket, at
// 307.2/2 x 0.8 = 122.88 GB/s 3.823 ms at least. NCCL's rounds keep both links from being busy all
// the time.
TEST(Fabrics, CrossRailTrafficOfRailOnly64) {
  PerfRequest asked = request("dgx-h100", 2, tree("1:1"));
  Problems problems;
  asked.hosts.fabric = networks::read_fabric(
      load_yaml(library().catalog.directory + "/rail-only-64.yaml", problems), problems);
  problems.throw_if_any();
  asked.version = *nccl::parse_version("2.28.9");
  asked.collective = Collective::kAllToAll;
  const SizeResult pxn = perf(asked, context()).sizes.at(0);
  const HotLink& nic = pxn.chosen.hottest.front();
  EXPECT_EQ(nic.link, "node0/mlx5_0->ib/rail0/leaf0");
  EXPECT_EQ(nic.carried, Bytes::mib(128));
  EXPECT_EQ(nic.users.size(), 8U);
  EXPECT_NEAR(nic.capacity.as_gigabytes_per_second(), 48.74, 0.01);
  EXPECT_GT(pxn.chosen.time.as_ms(), 2.754);
  asked.environment["NCCL_PXN_DISABLE"] = "1";
  asked.environment["NCCL_CROSS_NIC"] = "0";
  const SizeResult staged = perf(asked, context()).sizes.at(0);
  const HotLink& memory = staged.chosen.hottest.front();
  EXPECT_EQ(memory.link, "node0/cpu0->node0/memory0");
  EXPECT_EQ(memory.carried, Bytes::mib(448));
  EXPECT_EQ(memory.users.size(), 28U);
  EXPECT_NEAR(memory.capacity.as_gigabytes_per_second(), 122.88, 0.01);
  EXPECT_GT(staged.chosen.time.as_ms(), 3.823);
  EXPECT_LT(staged.busbw_GBps, 0.95 * pxn.busbw_GBps);
  EXPECT_GT(staged.busbw_GBps, 0.72 * pxn.busbw_GBps);  // 2.754 / 3.823
  // With neither, the NIC would have to send to another rail.
  asked.environment.erase("NCCL_CROSS_NIC");
  EXPECT_THROW(perf(asked, context()), InputError);
}

}  // namespace
}  // namespace busbw::scenarios
