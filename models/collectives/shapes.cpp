// Double binary trees, and rings and trees over hosts. See shapes.h.
#include "models/collectives/shapes.h"

#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

/// Parent of `node` in the plain binary tree over `nodes`, -1 for node 0. With b the lowest set bit
/// of the node: clear b and set 2b; where that leaves the tree, clear b only.
std::int32_t binary_parent(std::int32_t node, std::int32_t nodes) {
  if (node == 0) {
    return -1;
  }
  const std::int32_t bit = node & -node;
  const std::int32_t up = (node ^ bit) | (2 * bit);
  return up < nodes ? up : node ^ bit;
}

/// Tree 1 is tree 0 with the nodes renamed: shifted by one when their number is odd, mirrored when
/// even. Either way a node that has children in one tree is a leaf of the other.
std::int32_t to_tree1(std::int32_t node, std::int32_t nodes) {
  return nodes % 2 == 1 ? (node + nodes - 1) % nodes : nodes - 1 - node;
}
std::int32_t from_tree1(std::int32_t node, std::int32_t nodes) {
  return nodes % 2 == 1 ? (node + 1) % nodes : nodes - 1 - node;
}

void check_order(const std::vector<std::int32_t>& order, std::size_t size) {
  CHECK(!order.empty() && order.size() == size, "local order of {}, expected {}", order.size(),
        size);
  std::vector<bool> seen(size, false);
  for (const std::int32_t local : order) {
    const bool fresh = local >= 0 && static_cast<std::size_t>(local) < size &&
                       !seen[static_cast<std::size_t>(local)];
    CHECK(fresh, "local index {} in an order of {}", local, size);
    seen[static_cast<std::size_t>(local)] = true;
  }
}

/// Position in the host's chain to which the link down to child `side` (0 first, 1 second)
/// attaches.
std::size_t attach_position(TreePattern pattern, std::size_t locals, int side) {
  if (locals == 1) {
    return 0;
  }
  switch (pattern) {
    case TreePattern::kBalanced:
      return side == 0 ? 1 : 0;
    case TreePattern::kSplit:
      return 1;
    case TreePattern::kSimple:
      return 0;
  }
  CHECK(false, "pattern {}", static_cast<int>(pattern));
}

TreeParents tree_over_hosts(const std::vector<std::int32_t>& order, std::int32_t hosts, bool second,
                            TreePattern pattern) {
  const auto locals = static_cast<std::int32_t>(order.size());
  const auto rank = [&](std::int32_t host, std::size_t position) {
    return RankId(host * locals + order[position]);
  };
  TreeParents parents(order.size() * static_cast<std::size_t>(hosts));
  for (std::int32_t host = 0; host < hosts; ++host) {
    for (std::size_t position = 1; position < order.size(); ++position) {
      parents[rank(host, position).index()] = rank(host, position - 1);
    }
    const std::int32_t node = second ? to_tree1(host, hosts) : host;
    const std::int32_t parent = binary_parent(node, hosts);
    if (parent >= 0) {
      // The first child is the one with the smaller number in the tree's own numbering.
      const int side = node < parent ? 0 : 1;
      const std::int32_t parent_host = second ? from_tree1(parent, hosts) : parent;
      parents[rank(host, 0).index()] =
          rank(parent_host, attach_position(pattern, order.size(), side));
    }
  }
  return parents;
}

}  // namespace

DoubleBinaryTree double_binary_tree(std::int32_t nodes) {
  CHECK(nodes > 0, "nodes {}", nodes);
  DoubleBinaryTree trees;
  for (std::int32_t node = 0; node < nodes; ++node) {
    trees.parent0.push_back(binary_parent(node, nodes));
    const std::int32_t parent = binary_parent(to_tree1(node, nodes), nodes);
    trees.parent1.push_back(parent < 0 ? -1 : from_tree1(parent, nodes));
  }
  return trees;
}

std::vector<RingOrder> rings_over_hosts(const LocalOrders& local_orders, std::int32_t hosts) {
  CHECK(hosts > 0, "hosts {}", hosts);
  std::vector<RingOrder> rings;
  for (const std::vector<std::int32_t>& order : local_orders) {
    check_order(order, local_orders[0].size());
    RingOrder ring;
    for (std::int32_t host = 0; host < hosts; ++host) {
      for (const std::int32_t local : order) {
        ring.push_back(RankId(host * static_cast<std::int32_t>(order.size()) + local));
      }
    }
    rings.push_back(std::move(ring));
  }
  return rings;
}

std::vector<TreeParents> trees_over_hosts(const LocalOrders& local_orders, std::int32_t hosts,
                                          TreePattern pattern) {
  CHECK(hosts > 0, "hosts {}", hosts);
  std::vector<TreeParents> trees;
  for (const bool second : {false, true}) {
    for (const std::vector<std::int32_t>& order : local_orders) {
      check_order(order, local_orders[0].size());
      trees.push_back(tree_over_hosts(order, hosts, second, pattern));
    }
  }
  return trees;
}

std::vector<TreeParents> trees_over_hosts_from(const LocalOrders& local_orders, std::int32_t hosts,
                                               TreePattern pattern, RankId root) {
  CHECK(!local_orders.empty(), "no local order");
  const auto locals = static_cast<std::int32_t>(local_orders[0].size());
  const std::int32_t ranks = hosts * locals;
  CHECK(root.value() >= 0 && root.value() < ranks, "root {} of {}", root.value(), ranks);
  // With an even number of hosts, host 0 has one link in tree 0 and, mirrored, in tree 1; with an
  // odd number host 1 has: a leaf of tree 0 and, shifted, the root of tree 1.
  const std::int32_t ends = hosts % 2 == 0 || hosts == 1 ? 0 : 1;
  const std::int32_t shift = (root.value() / locals - ends + hosts) % hosts * locals;
  std::vector<TreeParents> trees;
  for (const TreeParents& tree : trees_over_hosts(local_orders, hosts, pattern)) {
    TreeParents renamed(tree.size());
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      if (const std::optional<RankId> parent = tree[static_cast<std::size_t>(rank)]) {
        renamed[static_cast<std::size_t>((rank + shift) % ranks)] =
            RankId((parent->value() + shift) % ranks);
      }
    }
    trees.push_back(turned_to(std::move(renamed), root));
  }
  return trees;
}

}  // namespace busbw::collectives
