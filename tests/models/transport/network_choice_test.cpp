// Which ways connections take, by what is said of their network.
#include "models/transport/network_choice.h"

#include <set>

#include <gtest/gtest.h>

#include "models/transport/incast.h"

namespace busbw::transport {
namespace {

using params::Balance;
using topologies::LinkId;
using topologies::LinkKind;
using topologies::NodeId;
using topologies::NodeKind;

constexpr Bandwidth kRate = Bandwidth::gigabits_per_second(400);

/// Two leaves with two hosts each (a NIC a host), four spines.
struct Bench {
  topologies::Cluster cluster;
  topologies::Fabric fabric;
  std::vector<NodeId> leaf;
  std::vector<NodeId> nic;
  std::vector<topologies::Wire> wire;

  Bench() {
    cluster.networks.emplace_back();
    cluster.networks.back().name = "rdma";
    for (int i = 0; i < 2; ++i) {
      leaf.push_back(
          fabric.add_node({NodeKind::kSwitch, "rdma/leaf" + std::to_string(i), std::nullopt, i}));
    }
    for (int i = 0; i < 4; ++i) {
      const NodeId spine =
          fabric.add_node({NodeKind::kSwitch, "rdma/spine" + std::to_string(i), std::nullopt, i});
      for (const NodeId below : leaf) {
        fabric.add_duplex(LinkKind::kNetwork, below, spine, kRate, Duration());
      }
    }
    for (int i = 0; i < 4; ++i) {
      const std::size_t below = i < 2 ? 0 : 1;
      nic.push_back(
          fabric.add_node({NodeKind::kNic, "node" + std::to_string(i) + "/mlx5_0", HostId(i), 0}));
      const auto [out, in] =
          fabric.add_duplex(LinkKind::kNetwork, nic.back(), leaf[below], kRate, Duration());
      wire.push_back({out, in, leaf[below], std::nullopt});
    }
  }

  [[nodiscard]] NetworkEnds ends(std::size_t from, std::size_t to, int channel = 0) const {
    NetworkEnds ends{RankId(static_cast<std::int32_t>(from)),
                     RankId(static_cast<std::int32_t>(to)),
                     ChannelId(channel),
                     {from, 0, 0},
                     {to, 0, 0},
                     {},
                     {}};
    ends.out_leaf = wire[from].leaf;
    ends.in_leaf = wire[to].leaf;
    return ends;
  }

  NetworkChoice choice(const params::Traffic& traffic, FlowOptions options = {}) {
    return {cluster, fabric, {traffic}, options};
  }
};

FlowOptions roce(std::int32_t queue_pairs, bool split) {
  FlowOptions options;
  options.ethernet = true;
  options.flows = queue_pairs;
  options.split = split;
  return options;
}

TEST(NetworkChoice, ByDestinationOneWayToEachPort) {
  Bench bench;
  NetworkChoice choice = bench.choice({});
  const auto to_two = choice.choose(bench.ends(0, 2));
  ASSERT_EQ(to_two.ways.size(), 1U);
  EXPECT_EQ(to_two.ways, choice.choose(bench.ends(1, 2)).ways);
  EXPECT_NE(to_two.ways, choice.choose(bench.ends(0, 3)).ways);
}

TEST(NetworkChoice, OnOneLeafThereIsOneWay) {
  Bench bench;
  params::Traffic spraying;
  spraying.balance = Balance::kPacket;
  const auto chosen = bench.choice(spraying).choose(bench.ends(0, 1));
  ASSERT_EQ(chosen.ways.size(), 1U);
  EXPECT_TRUE(chosen.ways.front().empty());
}

TEST(NetworkChoice, ByFlowEveryQueuePairHasAWayOfItsOwn) {
  Bench bench;
  NetworkChoice choice = bench.choice({}, roce(4, true));
  const auto chosen = choice.choose(bench.ends(0, 2));
  EXPECT_EQ(chosen.ways.size(), 4U);
  EXPECT_EQ(chosen.spread, Spread::kCut);
  // Asked again, the same; another channel has other queue pairs; without a cut message by message.
  EXPECT_EQ(choice.choose(bench.ends(0, 2)).ways, chosen.ways);
  std::set<std::vector<Ways::FabricPath>> different;
  for (int channel = 0; channel < 8; ++channel) {
    different.insert(choice.choose(bench.ends(0, 2, channel)).ways);
  }
  EXPECT_GT(different.size(), 4U);
  EXPECT_EQ(bench.choice({}, roce(2, false)).choose(bench.ends(0, 2)).spread, Spread::kInTurn);
}

TEST(NetworkChoice, TheSeedChangesTheWays) {
  Bench bench;
  std::set<std::vector<Ways::FabricPath>> different;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    params::Traffic traffic;
    traffic.seed = seed;
    different.insert(bench.choice(traffic, roce(1, true)).choose(bench.ends(0, 2)).ways);
  }
  EXPECT_EQ(different.size(), 4U);
}

TEST(NetworkChoice, FlowletsDrawAndPacketsTakeAll) {
  Bench bench;
  params::Traffic traffic;
  traffic.balance = Balance::kFlowlet;
  EXPECT_EQ(bench.choice(traffic, roce(1, true)).choose(bench.ends(0, 2)).spread, Spread::kDrawn);
  traffic.balance = Balance::kPacket;
  const auto sprayed = bench.choice(traffic, roce(1, true)).choose(bench.ends(0, 2));
  EXPECT_EQ(sprayed.spread, Spread::kCut);
  EXPECT_EQ(sprayed.ways.size(), 4U);
}

/// Links to a way, as the wiring records them.
LinkPairs pairs_of(const Bench& bench,
                   const std::vector<std::pair<std::size_t, std::size_t>>& all) {
  LinkPairs pairs;
  NetworkChoice choice(bench.cluster, bench.fabric, {}, {});
  for (const auto& [from, to] : all) {
    Ways::FabricPath way = choice.choose(bench.ends(from, to)).ways.front();
    way.push_back(bench.wire[from].out);
    way.push_back(bench.wire[to].in);
    for (const LinkId link : way) {
      pairs[link].insert({PortPlace{from, 0, 0}, PortPlace{to, 0, 0}});
    }
  }
  return pairs;
}

params::Transports transports() {
  params::Transports values;
  values.congestion.rdma_round_trip = Duration::microseconds(8);
  values.congestion.port_buffer = Bytes(375'000);
  values.congestion.least_window = 4;
  values.recovery.tcp.first = Duration::milliseconds(200);
  return values;
}

std::map<LinkId, Ratio> shares(const Bench& bench, const LinkPairs& pairs, bool pfc, bool ecn) {
  params::Traffic traffic;
  traffic.pfc = pfc;
  traffic.ecn = ecn;
  const NetworkChoice choice(bench.cluster, bench.fabric, {traffic}, roce(1, true));
  IncastNetwork network;
  network.packet = Bytes(4096);
  return incast_shares(bench.fabric, pairs, choice, transports(), network);
}

TEST(Incast, LosslessAndFairLeavesAllToTheEngine) {
  const Bench bench;
  EXPECT_TRUE(shares(bench, pairs_of(bench, {{0, 3}, {1, 3}}), true, true).empty());
}

TEST(Incast, WithoutPfcThePortCollapses) {
  const Bench bench;
  const auto found = shares(bench, pairs_of(bench, {{0, 3}, {1, 3}, {0, 2}}), false, true);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.begin()->first, bench.wire[3].in);
  // W = 98.65625: 2 / (1 + 98.65625) of the rate.
  EXPECT_NEAR(found.begin()->second.as_double(), 2 / 99.65625, 1e-6);
}

TEST(Incast, WithPfcAndWithoutEcnOthersArePausedToo) {
  // Hosts 0 and 1 send to 3, host 0 also to 2. Port 3 gives each half its rate; the cable of host
  // 0 passes half of it for each of its two destinations, all of it together: no share. That of
  // host 1 has one destination: half.
  const Bench bench;
  const auto found = shares(bench, pairs_of(bench, {{0, 3}, {1, 3}, {0, 2}}), true, false);
  EXPECT_EQ(found.count(bench.wire[0].out), 0U);
  ASSERT_EQ(found.count(bench.wire[1].out), 1U);
  EXPECT_NEAR(found.at(bench.wire[1].out).as_double(), 0.5, 1e-6);
  // Three senders, a third each. The cable of host 2 has no other destination: a third; that of
  // host 0 has three, so what is no part of the incast gets a third at most as well, where fair
  // congestion control would leave it more.
  const auto more =
      shares(bench, pairs_of(bench, {{0, 3}, {1, 3}, {2, 3}, {0, 1}, {0, 2}}), true, false);
  EXPECT_EQ(more.count(bench.wire[0].out), 0U);
  ASSERT_EQ(more.count(bench.wire[2].out), 1U);
  EXPECT_NEAR(more.at(bench.wire[2].out).as_double(), 1.0 / 3, 1e-6);
}

}  // namespace
}  // namespace busbw::transport
