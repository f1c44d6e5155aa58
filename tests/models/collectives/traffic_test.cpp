// What the schedules send: per rank, per pair and out of each host, against the formulas; and that
// point to point goes in the rounds and over the channels of NCCL.
#include <gtest/gtest.h>

#include "models/collectives/depth.h"
#include "models/collectives/shapes.h"
#include "tests/models/collectives/collective_check.h"

namespace busbw::collectives {
namespace {

/// Hosts and ranks a host that the tests walk.
const std::vector<std::pair<std::int32_t, std::int32_t>>& host_shapes() {
  static const std::vector<std::pair<std::int32_t, std::int32_t>> shapes = {
      {1, 1}, {1, 2}, {1, 8}, {2, 1}, {7, 1}, {2, 4}, {3, 4}, {4, 2}, {8, 8}};
  return shapes;
}

Execution run(Collective collective, Algorithm algorithm, const Shape& shape,
              const Options& options) {
  const Schedule schedule = make_schedule({collective, algorithm, shape, options});
  ExecuteOptions execute_options;
  execute_options.slots = options.slots;
  return check_result(schedule, execute_options);
}

Bytes sent_by(const Execution& execution, std::size_t rank) {
  Bytes sum;
  for (const Bytes bytes : execution.sent[rank]) {
    sum += bytes;
  }
  return sum;
}

TEST(RingTraffic, AllGatherAndReduceScatterSendNMinusOneParts) {
  for (const auto& [hosts, locals] : host_shapes()) {
    const std::int32_t n = hosts * locals;
    const Bytes part(4 * 101);
    for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter}) {
      const Shape shape = shape_of(hosts, locals);
      const Execution execution = run(collective, Algorithm::kRing, shape, options_of(101 * n, 16));
      for (std::int32_t rank = 0; rank < n; ++rank) {
        EXPECT_EQ(sent_by(execution, static_cast<std::size_t>(rank)), (n - 1) * part);
      }
      for (const Bytes leaving : leaving_hosts(execution, shape.host_of)) {
        EXPECT_EQ(leaving, hosts > 1 ? (n - 1) * part : Bytes());
      }
    }
  }
}

TEST(HierarchicalTraffic, AllGatherAndReduceScatterCrossHostsAsLittleAsPossible) {
  for (const auto& [hosts, locals] : host_shapes()) {
    const std::int32_t n = hosts * locals;
    const Bytes part(4 * 101);
    const Shape shape = shape_of(hosts, locals);
    for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter}) {
      const Execution execution =
          run(collective, Algorithm::kHierarchical, shape, options_of(101 * n, 16));
      for (std::int32_t rank = 0; rank < n; ++rank) {
        EXPECT_EQ(sent_by(execution, static_cast<std::size_t>(rank)),
                  (hosts - 1) * part + (locals - 1) * hosts * part)
            << hosts << "x" << locals;
      }
      for (const Bytes leaving : leaving_hosts(execution, shape.host_of)) {
        EXPECT_EQ(leaving, (hosts - 1) * locals * part);
      }
    }
  }
}

TEST(ChainTraffic, EveryRankButTheEndSendsTheDataOnce) {
  for (const auto& [hosts, locals] : host_shapes()) {
    const std::int32_t n = hosts * locals;
    Options options = options_of(202, 16);
    options.root = RankId(n / 2);
    const Shape shape = shape_of(hosts, locals);
    for (const Collective collective : {Collective::kBroadcast, Collective::kReduce}) {
      const Execution execution = run(collective, Algorithm::kRing, shape, options);
      std::vector<Bytes> expected(static_cast<std::size_t>(n), n > 1 ? options.bytes : Bytes());
      for (std::size_t channel = 0; channel < 2; ++channel) {
        const RingOrder& ring = shape.rings[channel];
        std::size_t end = 0;  // who sends nothing on this channel
        while (ring[end] != options.root) {
          ++end;
        }
        if (collective == Collective::kBroadcast) {
          end = (end + ring.size() - 1) % ring.size();
        }
        const Bytes first(16 * ((options.bytes.count() + 15) / 16 / 2));  // in units of 16 bytes
        expected[ring[end].index()] -=
            n > 1 ? (channel == 0 ? first : options.bytes - first) : Bytes();
      }
      for (std::size_t rank = 0; rank < expected.size(); ++rank) {
        EXPECT_EQ(sent_by(execution, rank), expected[rank]) << to_string(collective) << rank;
      }
    }
  }
}

TEST(TreeTraffic, EachEdgeCarriesItsPartOnceTowardsOrFromTheRoot) {
  for (const auto& [hosts, locals] : host_shapes()) {
    const std::int32_t n = hosts * locals;
    for (std::int32_t root = 0; root < n; root += 3) {
      Options options = options_of(640, 16);
      options.root = RankId(root);
      Shape shape = shape_of(hosts, locals);
      const Execution down = run(Collective::kBroadcast, Algorithm::kTree, shape, options);
      const Execution up = run(Collective::kReduce, Algorithm::kTree, shape, options);
      std::vector<std::vector<Bytes>> expected(static_cast<std::size_t>(n),
                                               std::vector<Bytes>(static_cast<std::size_t>(n)));
      for (const TreeParents& tree : shape.trees) {
        const TreeParents turned = turned_to(tree, options.root);
        for (std::size_t rank = 0; rank < turned.size(); ++rank) {
          EXPECT_EQ(turned[rank].has_value(),
                    RankId(static_cast<std::int32_t>(rank)) != options.root);
          if (turned[rank]) {  // an edge of the tree that was given
            EXPECT_TRUE(tree[rank] == turned[rank] ||
                        tree[turned[rank]->index()] == RankId(static_cast<std::int32_t>(rank)));
            expected[rank][turned[rank]->index()] += options.bytes / 2;
          }
        }
      }
      EXPECT_EQ(up.sent, expected);
      for (std::size_t from = 0; from < expected.size(); ++from) {
        for (std::size_t to = 0; to < expected.size(); ++to) {
          EXPECT_EQ(down.sent[to][from], expected[from][to]);
        }
      }
    }
  }
}

TEST(TreeTraffic, NoHostSendsMoreThanTheDataFromTheTreesMadeForARoot) {
  for (const auto& [hosts, locals] : host_shapes()) {
    const std::int32_t n = hosts * locals;
    for (std::int32_t root = 0; root < n; ++root) {
      Options options = options_of(640, 16);
      options.root = RankId(root);
      Shape shape = shape_of(hosts, locals);
      std::vector<std::int32_t> order(static_cast<std::size_t>(locals));
      for (std::int32_t local = 0; local < locals; ++local) {
        order[static_cast<std::size_t>(local)] = local;
      }
      shape.trees = trees_over_hosts_from({order}, hosts, TreePattern::kBalanced, options.root);
      const std::vector<Bytes> leaving = leaving_hosts(
          run(Collective::kBroadcast, Algorithm::kTree, shape, options), shape.host_of);
      for (std::size_t host = 0; host < leaving.size(); ++host) {
        EXPECT_LE(leaving[host], options.bytes) << hosts << "x" << locals << " root " << root;
      }
      if (hosts > 1) {
        EXPECT_EQ(leaving[static_cast<std::size_t>(root / locals)], options.bytes);
      }
      // A tree is for latency: at most twice its height and the two chains.
      const Schedule schedule =
          make_schedule({Collective::kBroadcast, Algorithm::kTree, shape, options_of(2, 1)});
      std::int32_t height = 0;
      while ((std::int32_t{1} << height) < hosts) {
        ++height;
      }
      EXPECT_LE(message_depth(schedule), 2 * height + 2 * locals);
    }
  }
}

TEST(DirectTraffic, EachPairExchangesItsPart) {
  for (const auto& [hosts, locals] : host_shapes()) {
    const std::int32_t n = hosts * locals;
    const Bytes part(4 * 37);
    const Shape shape = shape_of(hosts, locals);
    Options options = options_of(37 * n, 8);
    options.root = RankId(n - 1);
    options.channels = 8;
    options.channels_per_peer = 2;
    const Execution all = run(Collective::kAllToAll, Algorithm::kDirect, shape, options);
    const Execution gather = run(Collective::kGather, Algorithm::kDirect, shape, options);
    const Execution scatter = run(Collective::kScatter, Algorithm::kDirect, shape, options);
    const Execution ring = run(Collective::kSendRecv, Algorithm::kDirect, shape, options);
    for (std::int32_t from = 0; from < n; ++from) {
      for (std::int32_t to = 0; to < n; ++to) {
        const auto f = static_cast<std::size_t>(from);
        const auto t = static_cast<std::size_t>(to);
        const bool other = from != to;
        EXPECT_EQ(all.sent[f][t], other ? part : Bytes());
        EXPECT_EQ(gather.sent[f][t], other && to == n - 1 ? part : Bytes());
        EXPECT_EQ(scatter.sent[f][t], other && from == n - 1 ? part : Bytes());
        EXPECT_EQ(ring.sent[f][t], other && to == (from + 1) % n ? options.bytes : Bytes());
      }
    }
  }
}

/// The peers to which a rank's first lane of `channel` sends, in order.
std::vector<std::int32_t> peers_on(const Schedule& schedule, std::int32_t rank,
                                   std::int32_t channel, std::size_t which) {
  std::vector<std::int32_t> peers;
  for (const Lane& lane : schedule.lanes) {
    if (lane.rank == RankId(rank) && lane.channel == ChannelId(channel) && lane.role == "send" &&
        which-- == 0) {
      for (const Step& step : lane.steps) {
        peers.push_back(step.op == Op::kCopy ? rank : step.peer.value());
      }
    }
  }
  return peers;
}

TEST(DirectRounds, FollowTriangularDistances) {
  // One host of 16, one channel: eight lanes take the rounds in turn. Distances are 0, 1, 3, 6, 10,
  // 15, 5, 12, 4, 13, 7, 2, 14, 11, 9, 8 (triangular numbers modulo 16).
  Options options = options_of(16, 1);
  options.channels = 1;
  const Schedule schedule = direct_all_to_all(shape_of(1, 16), options);
  const std::vector<std::int32_t> distances = {0, 1,  3, 6, 10, 15, 5, 12,
                                               4, 13, 7, 2, 14, 11, 9, 8};
  for (std::size_t lane = 0; lane < 8; ++lane) {
    EXPECT_EQ(peers_on(schedule, 0, 0, lane),
              (std::vector<std::int32_t>{distances[lane], distances[lane + 8]}));
    EXPECT_EQ(
        peers_on(schedule, 5, 0, lane),
        (std::vector<std::int32_t>{(5 + distances[lane]) % 16, (5 + distances[lane + 8]) % 16}));
  }
}

TEST(DirectRounds, WalkHostsOutsideAndRanksInside) {
  // 3 hosts of 2: distances between hosts 0, 1, 2 (of 4: 0, 1, 3, 2; 3 is none), inside 0, 1.
  // Rank 0 sends to 0, 1, then to host 1 (2, 3), then to host 2 (4, 5). Both rounds of a host
  // distance fit into one thread block and share a channel: 0, 2 and 1 (0, 1, 2 bit-reversed).
  Options options = options_of(6, 1);
  options.channels = 4;
  const Schedule schedule = direct_all_to_all(shape_of(3, 2), options);
  const std::vector<std::vector<std::int32_t>> expected = {{0, 1}, {4, 5}, {2, 3}, {}};
  for (std::int32_t channel = 0; channel < 4; ++channel) {
    for (std::size_t lane = 0; lane < 2; ++lane) {
      const std::vector<std::int32_t>& peers = expected[static_cast<std::size_t>(channel)];
      EXPECT_EQ(peers_on(schedule, 0, channel, lane),
                peers.empty() ? peers : std::vector<std::int32_t>{peers[lane]})
          << channel;
    }
  }
}

TEST(DirectRounds, APeersDataIsCutOverNeighbouringChannels) {
  // 8 channels, 2 a peer. One host: round r starts at channel r bit-reversed, so the peer at
  // distance 1 has channels 4 and 5.
  Options options = options_of(2 * 8, 8);
  options.channels = 8;
  options.channels_per_peer = 2;
  const Schedule schedule = direct_all_to_all(shape_of(1, 2), options);
  std::vector<std::int32_t> channels;
  for (const Lane& lane : schedule.lanes) {
    if (lane.rank == RankId(0) && lane.role == "receive") {
      channels.push_back(lane.channel.value());
    }
  }
  EXPECT_EQ(channels, (std::vector<std::int32_t>{4, 5}));
}

TEST(DirectRounds, PeersOfAHostShareNoChannelWhereThereAreEnough) {
  // 8 ranks, 32 channels, 4 a peer: 32 parts, each on a channel of its own.
  Options options = options_of(8 * 32, 8);
  options.channels = 32;
  options.channels_per_peer = 4;
  const Schedule schedule = direct_all_to_all(shape_of(1, 8), options);
  std::set<std::int32_t> channels;
  std::size_t receives = 0;
  for (const Lane& lane : schedule.lanes) {
    if (lane.rank == RankId(0) && lane.role == "receive") {
      receives += lane.steps.size();
      channels.insert(lane.channel.value());
    }
  }
  EXPECT_EQ(channels.size(), 28U);  // round 0 is the rank itself
  EXPECT_EQ(receives, 28U);
}

TEST(DirectRounds, HostsOfUnequalSizeCountAsOne) {
  Shape shape;
  shape.ranks = 5;
  shape.host_of = {0, 0, 0, 1, 1};
  Options options = options_of(5 * 7, 2);
  options.channels = 2;
  check_in_any_order(direct_all_to_all(shape, options));
}

}  // namespace
}  // namespace busbw::collectives
