// What real NCCL 2.28.9 logged on four H200, measured for this project 2026-11-29: graphs,
// channels, rings, trees, tuning table to the printed digit, choice and channels of each call, with
// variables set, and two hosts over sockets (the same machine cut in two halves).
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/nccl/chunking.h"
#include "models/nccl/graph/decide.h"
#include "sim/core/text.h"
#include "tests/models/nccl/graph/oracle.h"

namespace busbw::nccl::graph {
namespace {

const std::string kData = std::string(BUSBW_SOURCE_DIR) + "/tests/data/measured/";

/// The measured machine with its first `gpus` GPUs.
Element machine(int gpus) {
  Element system = load_topology(kData + "h200x4-nccl-topology.xml");
  std::vector<Element>& children = system.children.front().children;
  children.erase(std::remove_if(children.begin(), children.end(),
                                [&](const Element& child) {
                                  const Element* gpu = child.child("gpu");
                                  return gpu != nullptr && gpu->number("rank", 0) >= gpus;
                                }),
                 children.end());
  return system;
}

int integer(const Value& value, const char* key) {
  return static_cast<int>(value.find(key)->as_integer());
}

Decision decide_as_logged(const Value& run) {
  const int gpus = integer(run, "gpus_per_node");
  DecideInput input = equal_hosts(machine(gpus), integer(run, "ranks") / gpus);
  input.version = parse_version(run.find("nccl_version")->as_string()).value();
  for (const auto& [name, value] : run.find("env")->as_object())
    input.environment[name] = value.as_string();
  return decide(input);
}

void expect_graph(const Value& logged, const Graph& graph, const std::string& id) {
  EXPECT_EQ(integer(logged, "pattern"), static_cast<int>(graph.pattern)) << id;
  EXPECT_EQ(integer(logged, "crossNic"), graph.cross_nic) << id;
  EXPECT_EQ(integer(logged, "nChannels"), graph.channels) << id;
  EXPECT_NEAR(logged.find("bwIntra")->as_number(), graph.bw_intra, 0.05) << id;
  EXPECT_NEAR(logged.find("bwInter")->as_number(), graph.bw_inter, 0.05) << id;
  EXPECT_EQ(logged.find("typeIntra")->as_string(), to_string(graph.type_intra)) << id;
  EXPECT_EQ(logged.find("typeInter")->as_string(), to_string(graph.type_inter)) << id;
  EXPECT_EQ(integer(logged, "sameChannels"), graph.same_channels ? 1 : 0) << id;
}

std::vector<int> integers(const Value& array) {
  std::vector<int> numbers;
  for (const Value& value : array.as_array())
    numbers.push_back(static_cast<int>(value.as_integer()));
  return numbers;
}

void expect_channels(const Value& run, const Decision& decision, const std::string& id) {
  const Value& channels = *run.find("channels");
  EXPECT_EQ(integer(channels, "coll"), decision.comm.channels) << id;
  EXPECT_EQ(integer(channels, "nvls"), decision.comm.nvls_channels) << id;
  EXPECT_EQ(integer(channels, "p2p"), decision.comm.p2p_channels) << id;
  EXPECT_EQ(integer(channels, "p2p_per_peer"), decision.comm.p2p_channels_per_peer) << id;
  EXPECT_EQ(integer(run, "chunk_p2p"), decision.comm.p2p_chunk_bytes) << id;
  EXPECT_EQ(integer(run, "nodes"), decision.comm.nodes) << id;
  const Value::Array& rings = run.find("rings")->as_array();
  ASSERT_EQ(rings.size(), decision.rings.channel_to_order.size()) << id;
  for (std::size_t c = 0; c < rings.size(); c++) {
    const auto order = static_cast<std::size_t>(decision.rings.channel_to_order[c]);
    EXPECT_EQ(integers(rings[c]), decision.rings.orders[order]) << id << " channel " << c;
  }
  const Value::Array& trees = run.find("tree_parents")->as_array();
  ASSERT_EQ(trees.size(), decision.trees.channel_to_tree.size()) << id;
  for (std::size_t c = 0; c < trees.size(); c++) {
    const auto tree = static_cast<std::size_t>(decision.trees.channel_to_tree[c]);
    EXPECT_EQ(integers(trees[c]), decision.trees.parents[tree]) << id << " channel " << c;
  }
}

/// The table as the log prints it: one decimal.
int expect_tuning(const Value& logged, const Tuning& tuning, const std::string& id) {
  int compared = 0;
  for (std::size_t c = 0; c < kCollectives; c++) {
    const Value* algorithms = logged.find(to_string(static_cast<Collective>(c)));
    for (std::size_t a = 0; algorithms != nullptr && a < kAlgorithms; a++) {
      const Value* protocols = algorithms->find(to_string(static_cast<Algorithm>(a)));
      for (std::size_t p = 0; protocols != nullptr && p < kProtocols; p++) {
        const Value* cell = protocols->find(to_string(static_cast<Protocol>(p)));
        if (cell == nullptr)
          continue;
        const Cost& cost = tuning.cost(static_cast<Collective>(c), static_cast<Algorithm>(a),
                                       static_cast<Protocol>(p));
        const std::string where =
            fmt::format("{} {} {} {}", id, to_string(static_cast<Collective>(c)),
                        to_string(static_cast<Algorithm>(a)), to_string(static_cast<Protocol>(p)));
        EXPECT_EQ(fmt::format("{:.1f}", cell->as_array()[0].as_number()),
                  fmt::format("{:.1f}", cost.latency_us))
            << where;
        EXPECT_EQ(fmt::format("{:.1f}", cell->as_array()[1].as_number()),
                  fmt::format("{:.1f}", cost.bandwidth))
            << where;
        compared += 2;
      }
    }
  }
  return compared;
}

/// Channels that a call with this choice really starts.
std::int64_t started(const Choice& choice, Collective collective, const Decision& decision) {
  Call call;
  call.version = decision.version;
  call.function = static_cast<Function>(collective);
  call.algorithm =
      choice.algorithm == Algorithm::kTree ? nccl::Algorithm::kTree : nccl::Algorithm::kRing;
  call.protocol = static_cast<nccl::Protocol>(choice.protocol);
  call.bytes = Bytes(choice.bytes);
  call.channels = decision.comm.channels;
  call.ranks = decision.comm.ranks;
  call.nodes = decision.comm.nodes;
  call.ring_bandwidth = Bandwidth::bits_per_second(std::llround(
      8e9 * decision.comm.ring.bw_intra * static_cast<double>(decision.comm.ring.channels)));
  return static_cast<std::int64_t>(channel_works(call).size());
}

void expect_choices(const Value& run, const Decision& decision, const std::string& id) {
  for (const Value& row : run.find("choices")->as_array()) {
    const Value::Array& cells = row.as_array();
    std::size_t c = 0;
    while (c < kCollectives && cells[0].as_string() != to_string(static_cast<Collective>(c)))
      c++;
    ASSERT_LT(c, kCollectives) << id << " " << cells[0].as_string();
    const auto collective = static_cast<Collective>(c);
    // The log names the bytes of one rank; the model counts what all of them gather.
    const bool gather =
        collective == Collective::kAllGather || collective == Collective::kReduceScatter;
    const std::int64_t bytes = cells[1].as_integer() * (gather ? decision.comm.ranks : 1);
    const std::vector<Choice> found =
        choices(decision.tuning, decision.comm, decision.switches, collective, bytes);
    ASSERT_FALSE(found.empty()) << id;
    const Choice& best = found.front();
    EXPECT_EQ(fmt::format("{} {} {}", lower(cells[2].as_string()), lower(cells[3].as_string()),
                          cells[4].as_integer()),
              fmt::format("{} {} {}", lower(to_string(best.algorithm)),
                          lower(to_string(best.protocol)), started(best, collective, decision)))
        << id << " " << cells[0].as_string() << " " << bytes;
  }
}

TEST(Measured, H200DecisionsAreReproduced) {
  const Value runs = load_json(kData + "h200x4-decisions.json");
  int compared = 0;
  for (const Value& run : runs.as_array()) {
    const std::string& id = run.find("id")->as_string();
    const Decision decision = decide_as_logged(run);
    const Group& group = decision.groups.front();
    expect_graph(run.find("graphs")->as_array()[0], group.ring, id + " ring");
    expect_graph(run.find("graphs")->as_array()[1], group.tree, id + " tree");
    expect_channels(run, decision, id);
    compared += expect_tuning(*run.find("tuning_us_GBps"), decision.tuning, id);
    expect_choices(run, decision, id);
  }
  EXPECT_GE(runs.as_array().size(), 20U);
  EXPECT_GE(compared, 1000);
}

}  // namespace
}  // namespace busbw::nccl::graph
