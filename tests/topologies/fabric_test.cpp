// The fabric graph: hand-worked routes, edge cases, and routes of random graphs against brute
// force.
#include "topologies/fabric.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/core/check.h"
#include "sim/core/random.h"

namespace busbw::topologies {
namespace {

Bandwidth gbs(std::int64_t value) {
  return Bandwidth::gigabytes_per_second(value);
}
Duration ns(std::int64_t value) {
  return Duration::nanoseconds(value);
}

NodeId gpu(Fabric& fabric, const std::string& name) {
  return fabric.add_node({NodeKind::kGpu, name, HostId(0), 0});
}
NodeId pci_switch(Fabric& fabric, const std::string& name) {
  return fabric.add_node({NodeKind::kPciSwitch, name, HostId(0), 0});
}

using Path = std::vector<LinkId>;

TEST(Fabric, KeepsNodesAndNamesLinks) {
  Fabric fabric;
  const NodeId a = gpu(fabric, "node0/gpu0");
  const NodeId b = pci_switch(fabric, "node0/pcie0");
  const auto [there, back] = fabric.add_duplex(LinkKind::kPcie, a, b, gbs(32), ns(150));
  const LinkId second = fabric.add_link(LinkKind::kPcie, a, b, gbs(16), ns(150));
  EXPECT_EQ(fabric.node_count(), 2U);
  EXPECT_EQ(fabric.link_count(), 3U);
  EXPECT_EQ(fabric.node(a).name, "node0/gpu0");
  EXPECT_EQ(fabric.link(there).name, "node0/gpu0->node0/pcie0");
  EXPECT_EQ(fabric.link(back).name, "node0/pcie0->node0/gpu0");
  EXPECT_EQ(fabric.link(second).name, "node0/gpu0->node0/pcie0#2");
  EXPECT_EQ(fabric.link(second).capacity, gbs(16));
  EXPECT_EQ(fabric.link(back).latency, ns(150));
  EXPECT_EQ(fabric.find_node("node0/pcie0"), b);
  EXPECT_EQ(fabric.find_node("node0/pcie1"), std::nullopt);
  EXPECT_EQ(fabric.find_link(a, b), there);
  EXPECT_EQ(fabric.find_link(b, b), std::nullopt);
  EXPECT_EQ(fabric.links_from(a), (Path{there, second}));
  EXPECT_EQ(fabric.links_between(a, b), (Path{there, second}));
}

TEST(Fabric, RefusesBrokenInput) {
  Fabric fabric;
  const NodeId a = gpu(fabric, "a");
  EXPECT_THROW(gpu(fabric, "a"), CheckFailure);
  EXPECT_THROW(gpu(fabric, ""), CheckFailure);
  EXPECT_THROW(fabric.add_link(LinkKind::kPcie, a, NodeId(1), gbs(1), ns(0)), CheckFailure);
  EXPECT_THROW(fabric.add_link(LinkKind::kPcie, a, a, gbs(-1), ns(0)), CheckFailure);
  EXPECT_THROW(fabric.set_capacity(LinkId(0), gbs(1)), CheckFailure);
  EXPECT_THROW((void)fabric.route(a, NodeId(-1)), CheckFailure);
}

TEST(Fabric, CopiesAreDeep) {
  Fabric fabric;
  const NodeId a = gpu(fabric, "a");
  const NodeId b = gpu(fabric, "b");
  const LinkId link = fabric.add_link(LinkKind::kNvLink, a, b, gbs(25), ns(1));
  Fabric copy = fabric;
  copy.set_capacity(link, Bandwidth());
  gpu(copy, "c");
  EXPECT_EQ(fabric.link(link).capacity, gbs(25));
  EXPECT_EQ(fabric.node_count(), 2U);
  EXPECT_TRUE(fabric.route(a, b));
  EXPECT_FALSE(copy.route(a, b));
  fabric = std::move(copy);
  EXPECT_EQ(fabric.node_count(), 3U);
}

/// a -> b over one narrow link; over x by two wide ones.
TEST(FabricRoute, FewestLinksBeatWidth) {
  Fabric fabric;
  const NodeId a = gpu(fabric, "a");
  const NodeId b = gpu(fabric, "b");
  const NodeId x = pci_switch(fabric, "x");
  const LinkId ax = fabric.add_link(LinkKind::kPcie, a, x, gbs(100), ns(1));
  const LinkId xb = fabric.add_link(LinkKind::kPcie, x, b, gbs(100), ns(1));
  const LinkId ab = fabric.add_link(LinkKind::kPcie, a, b, gbs(1), ns(1));
  EXPECT_EQ(fabric.route(a, b), (Path{ab}));
  EXPECT_EQ(fabric.route(b, a), std::nullopt);  // links are one-way
  EXPECT_EQ(fabric.route(a, a), Path{});
  fabric.set_capacity(ab, Bandwidth());
  EXPECT_EQ(fabric.route(a, b), (Path{ax, xb}));
  fabric.set_capacity(xb, Bandwidth());
  EXPECT_EQ(fabric.route(a, b), std::nullopt);
}

/// Two links by x (10, then 40) or by y (20, then 20): y is wider. The link a->x#2 (20) makes both
/// equal, then ids decide: a->x#2 has id 4 and a->y id 2, so y again; with y at 15, x by its second
/// link.
TEST(FabricRoute, WidestThenLowestIds) {
  Fabric fabric;
  const NodeId a = gpu(fabric, "a");
  const NodeId b = gpu(fabric, "b");
  const NodeId x = pci_switch(fabric, "x");
  const NodeId y = pci_switch(fabric, "y");
  fabric.add_link(LinkKind::kPcie, a, x, gbs(10), ns(1));
  const LinkId xb = fabric.add_link(LinkKind::kPcie, x, b, gbs(40), ns(1));
  const LinkId ay = fabric.add_link(LinkKind::kPcie, a, y, gbs(20), ns(1));
  const LinkId yb = fabric.add_link(LinkKind::kPcie, y, b, gbs(20), ns(1));
  EXPECT_EQ(fabric.route(a, b), (Path{ay, yb}));
  const LinkId ax2 = fabric.add_link(LinkKind::kPcie, a, x, gbs(20), ns(1));
  EXPECT_EQ(fabric.route(a, b), (Path{ay, yb}));
  fabric.set_capacity(yb, gbs(15));
  EXPECT_EQ(fabric.route(a, b), (Path{ax2, xb}));
}

TEST(FabricRoute, FilterChoosesNodesBetweenAndLinks) {
  Fabric fabric;
  const NodeId a = gpu(fabric, "a");
  const NodeId b = gpu(fabric, "b");
  const NodeId c = gpu(fabric, "c");
  const LinkId ac = fabric.add_link(LinkKind::kNvLink, a, c, gbs(25), ns(1));
  const LinkId cb = fabric.add_link(LinkKind::kNvLink, c, b, gbs(25), ns(1));
  RouteFilter no_relay;
  no_relay.through = [](const Node& node) { return node.kind != NodeKind::kGpu; };
  EXPECT_EQ(fabric.route(a, b), (Path{ac, cb}));
  EXPECT_EQ(fabric.route(a, b, no_relay), std::nullopt);
  EXPECT_EQ(fabric.route(a, c, no_relay), (Path{ac}));  // the ends are GPUs themselves
  RouteFilter pcie;
  pcie.link = [](const Link& link) { return link.kind == LinkKind::kPcie; };
  EXPECT_EQ(fabric.route(a, c, pcie), std::nullopt);
}

/// All paths without a repeated node, by depth-first search; the best by (links, width, ids).
class BruteForce {
 public:
  BruteForce(const Fabric& fabric, NodeId to, const std::set<std::int32_t>& barred_nodes,
             const std::set<std::int32_t>& barred_links)
      : fabric_(fabric), to_(to), barred_nodes_(barred_nodes), barred_links_(barred_links) {}

  std::optional<Path> best(NodeId from) {
    visited_.insert(from.value());
    search(from);
    return best_;
  }

 private:
  [[nodiscard]] std::int64_t width(const Path& path) const {
    std::int64_t narrowest = INT64_MAX;
    for (const LinkId id : path) {
      narrowest = std::min(narrowest, fabric_.link(id).capacity.bps());
    }
    return narrowest;
  }
  [[nodiscard]] bool better(const Path& path) const {
    if (!best_ || path.size() != best_->size()) {
      return !best_ || path.size() < best_->size();
    }
    if (width(path) != width(*best_)) {
      return width(path) > width(*best_);
    }
    return path < *best_;
  }
  void search(NodeId at) {
    if (at == to_) {
      if (better(path_)) {
        best_ = path_;
      }
      return;
    }
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(fabric_.link_count()); i++) {
      const Link& link = fabric_.link(LinkId(i));
      const bool barred = barred_links_.count(i) > 0 ||
                          (link.to != to_ && barred_nodes_.count(link.to.value()) > 0);
      if (link.from != at || link.capacity == Bandwidth() || barred ||
          visited_.count(link.to.value()) > 0) {
        continue;
      }
      visited_.insert(link.to.value());
      path_.push_back(LinkId(i));
      search(link.to);
      path_.pop_back();
      visited_.erase(link.to.value());
    }
  }

  const Fabric& fabric_;
  NodeId to_;
  std::set<std::int32_t> barred_nodes_;
  std::set<std::int32_t> barred_links_;
  std::set<std::int32_t> visited_;
  Path path_;
  std::optional<Path> best_;
};

Fabric random_fabric(Random& random) {
  Fabric fabric;
  const std::int64_t nodes = random.between(1, 7);
  for (std::int64_t i = 0; i < nodes; i++) {
    pci_switch(fabric, "n" + std::to_string(i));
  }
  const auto any_node = [&] {
    return NodeId(static_cast<std::int32_t>(random.between(0, nodes - 1)));
  };
  const std::int64_t links = random.between(0, 3 * nodes);
  for (std::int64_t i = 0; i < links; i++) {
    // Few rates, so that ties in width happen; 0 is a link that is down.
    const NodeId from = any_node();
    const NodeId to = any_node();
    fabric.add_link(LinkKind::kPcie, from, to, gbs(random.between(0, 3)), ns(1));
  }
  return fabric;
}

TEST(FabricRoute, AgreesWithBruteForceOnRandomGraphs) {
  Random random(20261129);
  std::int64_t reached = 0;
  std::int64_t unreachable = 0;
  for (int round = 0; round < 400; round++) {
    const Fabric fabric = random_fabric(random);
    const std::int32_t nodes = static_cast<std::int32_t>(fabric.node_count());
    std::set<std::int32_t> barred_nodes;
    std::set<std::int32_t> barred_links;
    for (std::int32_t i = 0; i < nodes; i++) {
      if (random.chance(1, 8)) {
        barred_nodes.insert(i);
      }
    }
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(fabric.link_count()); i++) {
      if (random.chance(1, 8)) {
        barred_links.insert(i);
      }
    }
    RouteFilter filter;
    filter.through = [&](const Node& node) {
      return barred_nodes.count(fabric.find_node(node.name)->value()) == 0;
    };
    std::set<std::string> barred_names;
    for (const std::int32_t id : barred_links) {
      barred_names.insert(fabric.link(LinkId(id)).name);
    }
    filter.link = [&](const Link& link) { return barred_names.count(link.name) == 0; };
    for (std::int32_t a = 0; a < nodes; a++) {
      for (std::int32_t b = 0; b < nodes; b++) {
        const std::optional<Path> expected =
            BruteForce(fabric, NodeId(b), barred_nodes, barred_links).best(NodeId(a));
        ASSERT_EQ(fabric.route(NodeId(a), NodeId(b), filter), expected)
            << "round " << round << ", " << a << " to " << b;
        (expected ? reached : unreachable)++;
      }
    }
  }
  // Both outcomes were met often, so the comparison means something.
  EXPECT_GT(reached, 1000);
  EXPECT_GT(unreachable, 1000);
}

TEST(FabricRoute, IsPrintedHopByHop) {
  Fabric fabric;
  const NodeId a = gpu(fabric, "node0/gpu0");
  const NodeId hub = fabric.add_node({NodeKind::kNvSwitch, "node0/nvswitch", HostId(0), 0});
  const NodeId nic = fabric.add_node({NodeKind::kNic, "node0/mlx5_0", HostId(0), 0});
  fabric.add_duplex(LinkKind::kNvLink, a, hub, gbs(450), ns(300));
  fabric.add_duplex(LinkKind::kNetwork, hub, nic, Bandwidth::gigabits_per_second(10), ns(1500));
  const Path path = fabric.route(a, nic).value();
  EXPECT_EQ(describe_route(fabric, path),
            "node0/gpu0 -> node0/nvswitch    NVLink   450 GB/s  300 ns\n"
            "node0/nvswitch -> node0/mlx5_0  network   10 Gb/s  1.5 us\n"
            "2 links, at most 10 Gb/s, 1.8 us\n");
  EXPECT_EQ(describe_route(fabric, {}), "0 links\n");
  EXPECT_THROW(describe_route(fabric, {path[1], path[0]}), CheckFailure);
  EXPECT_EQ(summarize(fabric, path).latency, ns(1800));
  EXPECT_EQ(summarize(fabric, {}).capacity, std::nullopt);
}

}  // namespace
}  // namespace busbw::topologies
