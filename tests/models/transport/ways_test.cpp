// Ways through leaf-spine networks, and how evenly hashes spread flows over them.
#include "models/transport/ways.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace busbw::transport {
namespace {

using topologies::LinkKind;
using topologies::NodeId;
using topologies::NodeKind;

/// Leaves, each joined to all spines.
struct LeafSpine {
  topologies::Fabric fabric;
  std::vector<NodeId> leaf;
  std::vector<NodeId> spine;

  LeafSpine(int leaves, int spines) {
    for (int i = 0; i < leaves; ++i) {
      leaf.push_back(
          fabric.add_node({NodeKind::kSwitch, "leaf" + std::to_string(i), std::nullopt, i}));
    }
    for (int i = 0; i < spines; ++i) {
      spine.push_back(
          fabric.add_node({NodeKind::kSwitch, "spine" + std::to_string(i), std::nullopt, i}));
      for (const NodeId below : leaf) {
        fabric.add_duplex(LinkKind::kNetwork, below, spine.back(),
                          Bandwidth::gigabits_per_second(400), Duration());
      }
    }
  }
};

/// Expected maximum load of n balls in m bins, exactly: the sum over k of 1 - P(all bins <= k),
/// where P = n! / m^n x the coefficient of x^n in (sum of x^j / j! for j <= k)^m.
double balls_in_bins(int n, int m) {
  double expected = 0;
  for (int k = 0; k < n; ++k) {
    std::vector<double> ways(static_cast<std::size_t>(n) + 1, 0);
    ways[0] = 1;
    for (int bin = 0; bin < m; ++bin) {
      std::vector<double> next(ways.size(), 0);
      for (int before = 0; before <= n; ++before) {
        double term = ways[static_cast<std::size_t>(before)];
        for (int more = 0; more <= k && before + more <= n; ++more) {
          next[static_cast<std::size_t>(before + more)] += term;
          term /= more + 1;
        }
      }
      ways = next;
    }
    const double log_p = std::lgamma(n + 1.0) - n * std::log(m);
    expected += 1 - ways[static_cast<std::size_t>(n)] * std::exp(log_p);
  }
  return expected;
}

TEST(BallsInBins, SmallCasesByHand) {
  // Two balls, two bins: 2 with 1/2, else 1.
  EXPECT_NEAR(balls_in_bins(2, 2), 1.5, 1e-12);
  // Three balls, two bins: 3 with 2/8, else 2.
  EXPECT_NEAR(balls_in_bins(3, 2), 2.25, 1e-12);
  // Two balls, four bins: 2 with 1/4.
  EXPECT_NEAR(balls_in_bins(2, 4), 1.25, 1e-12);
}

class Ecmp : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(Ecmp, LoadsTheBusiestLinkAsBallsFallIntoBins) {
  // n queue pairs between hosts on two leaves over m spines, 1,000 seeds; within 3 %.
  const auto [flows, spines] = GetParam();
  const LeafSpine network(2, spines);
  Ways ways(network.fabric);
  double sum = 0;
  constexpr int kSeeds = 1000;
  for (int seed = 0; seed < kSeeds; ++seed) {
    std::vector<int> load(static_cast<std::size_t>(spines), 0);
    for (int flow = 0; flow < flows; ++flow) {
      FlowKey key;
      key.source = 0x0a000001U + static_cast<std::uint32_t>(flow % 4);
      key.destination = 0x0a000101U + static_cast<std::uint32_t>(flow % 4);
      key.source_port = roce_source_port(0x100U + static_cast<std::uint32_t>(flow), 0x1a7U);
      key.destination_port = 4791;
      key.protocol = 17;
      const Ways::FabricPath way = ways.hashed(network.leaf[0], network.leaf[1],
                                               hash_flow(key, static_cast<std::uint64_t>(seed)));
      ASSERT_EQ(way.size(), 2U);
      const NodeId spine = network.fabric.link(way.front()).to;
      ++load[static_cast<std::size_t>(network.fabric.node(spine).index)];
    }
    sum += *std::max_element(load.begin(), load.end());
  }
  const double exact = balls_in_bins(flows, spines);
  EXPECT_NEAR(sum / kSeeds, exact, exact * 0.03);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Ecmp,
                         ::testing::Values(std::pair{4, 4}, std::pair{8, 4}, std::pair{8, 8},
                                           std::pair{16, 8}, std::pair{32, 16}, std::pair{64, 8},
                                           std::pair{128, 32}));

TEST(Ways, AllShortestOnesInOrder) {
  const LeafSpine network(3, 4);
  Ways ways(network.fabric);
  const auto all = ways.all(network.leaf[0], network.leaf[2], 64);
  ASSERT_EQ(all.size(), 4U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i].size(), 2U);
    EXPECT_EQ(network.fabric.link(all[i][0]).to, network.spine[i]);
    EXPECT_EQ(network.fabric.link(all[i][1]).to, network.leaf[2]);
  }
  EXPECT_EQ(ways.all(network.leaf[0], network.leaf[2], 3).size(), 3U);
  const auto none = ways.all(network.leaf[1], network.leaf[1], 64);
  ASSERT_EQ(none.size(), 1U);
  EXPECT_TRUE(none.front().empty());
}

TEST(Ways, GoAroundWhatIsAvoided) {
  const LeafSpine network(2, 2);
  Ways ways(network.fabric);
  const auto up = network.fabric.links_between(network.leaf[0], network.spine[0]);
  ways.avoid(up.front(), true);
  ASSERT_EQ(ways.all(network.leaf[0], network.leaf[1], 64).size(), 1U);
  for (std::uint64_t hash = 0; hash < 20; ++hash) {
    const auto way = ways.hashed(network.leaf[0], network.leaf[1], hash);
    EXPECT_EQ(network.fabric.link(way.front()).to, network.spine[1]);
  }
  ways.avoid(network.fabric.links_between(network.leaf[0], network.spine[1]).front(), true);
  EXPECT_TRUE(ways.all(network.leaf[0], network.leaf[1], 64).empty());
  EXPECT_TRUE(ways.hashed(network.leaf[0], network.leaf[1], 7).empty());
  ways.avoid(up.front(), false);
  EXPECT_EQ(ways.all(network.leaf[0], network.leaf[1], 64).size(), 1U);
}

TEST(Ways, RoceSourcePortAsTheKernelComputesIt) {
  // 0x111 x 0x222 = 0x24642: label 0x24642, low 14 bits 0x0642, the rest 0x24000 >> 14 = 9;
  // 0x0642 ^ 9 = 0x064b, and 0xc000.
  EXPECT_EQ(roce_source_port(0x111, 0x222), 0xc64b);
  // 0xffffff x 0xffffff = 0xfffffe000001: v ^ v >> 20 = 0xfffffe000001 ^ 0xfffffe0 =
  // 0xfffff1ffffe1, ^ v >> 40 (0xff) = ...ffff1e; label 0xfff1e, low 0x3f1e ^ 0x3f = 0x3f21.
  EXPECT_EQ(roce_source_port(0xffffff, 0xffffff), 0xff21);
}

TEST(Ways, DrawnOnesAreSpreadAndRepeat) {
  Connection connection;
  connection.ways.resize(4);
  connection.spread = Spread::kDrawn;
  connection.draw = 17;
  std::vector<int> used(4, 0);
  for (std::size_t number = 0; number < 4000; ++number) {
    ++used[draw_way(connection, number)];
    EXPECT_EQ(draw_way(connection, number), draw_way(connection, number));
  }
  for (const int count : used) {
    EXPECT_NEAR(count, 1000, 120);
  }
}

// Two leaves, 16 spines, 16 switches above that join spine k of one half to spine k of the other by
// 16 ways each: 256 ways, of which 64 are taken. Each spine and each stretch of 4 gets its part.
TEST(Ways, WhereThereAreTooManyTheyAreSpreadOverAllSwitches) {
  topologies::Fabric fabric;
  const Bandwidth rate = Bandwidth::gigabits_per_second(400);
  const auto add = [&](const std::string& name) {
    return fabric.add_node({NodeKind::kSwitch, name, std::nullopt, 0});
  };
  const NodeId from = add("leaf0");
  const NodeId to = add("leaf1");
  constexpr int kSpines = 16;
  for (int i = 0; i < kSpines; ++i) {
    const NodeId up = add("spine" + std::to_string(i));
    const NodeId down = add("spine" + std::to_string(kSpines + i));
    fabric.add_duplex(LinkKind::kNetwork, from, up, rate, Duration());
    fabric.add_duplex(LinkKind::kNetwork, to, down, rate, Duration());
    for (int core = 0; core < kSpines; ++core) {
      const NodeId top = add("core" + std::to_string(i * kSpines + core));
      fabric.add_duplex(LinkKind::kNetwork, up, top, rate, Duration());
      fabric.add_duplex(LinkKind::kNetwork, down, top, rate, Duration());
    }
  }
  Ways ways(fabric);
  EXPECT_EQ(ways.all(from, to, 1000).size(), 256U);
  std::map<topologies::LinkId, int> first;
  std::set<Ways::FabricPath> different;
  for (const Ways::FabricPath& way : ways.all(from, to, 64)) {
    ASSERT_EQ(way.size(), 4U);
    ++first[way.front()];
    different.insert(way);
  }
  EXPECT_EQ(different.size(), 64U);
  ASSERT_EQ(first.size(), 16U);
  for (const auto& [link, count] : first) {
    EXPECT_EQ(count, 4) << fabric.link(link).name;
  }
}

}  // namespace
}  // namespace busbw::transport
