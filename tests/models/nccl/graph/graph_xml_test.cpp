// Graphs written and read as NCCL does: NCCL_GRAPH_DUMP_FILE and NCCL_GRAPH_FILE.
#include "models/nccl/graph/graph_xml.h"

#include <gtest/gtest.h>

#include "models/nccl/graph/decide.h"
#include "sim/core/text.h"
#include "tests/models/nccl/graph/topologies.h"

namespace busbw::nccl::graph {
namespace {

Element parsed_graphs(const std::string& text) {
  Problems problems;
  Element graphs = parse_graphs(text, "graphs.xml", problems);
  problems.throw_if_any();
  return graphs;
}

Decision decided(const std::string& graphs, const Environment& environment = {},
                 Version version = kNewest) {
  DecideInput input = equal_hosts(parsed(two_gpus_one_nic()), 2);
  input.environment = environment;
  input.version = version;
  if (!graphs.empty())
    input.graphs = parsed_graphs(graphs);
  return decide(input);
}

/// A file with one ring of 12 GB/s from GPU 1 to GPU 0.
std::string one_ring(const std::string& attributes, const std::string& devices) {
  return "<graphs version=\"1\">\n<graph id=\"0\" pattern=\"4\" " + attributes + ">\n<channel>" +
         devices + "</channel>\n</graph>\n</graphs>\n";
}
const char* const kGood =
    "crossnic=\"0\" nchannels=\"1\" speedintra=\"12\" speedinter=\"12\" typeintra=\"NVL\" "
    "typeinter=\"PIX\" samechannels=\"1\"";
const char* const kBackwards = "<net dev=\"0\"/><gpu dev=\"0x1\"/><gpu dev=\"0\"/><net dev=\"0\"/>";

TEST(GraphXml, GraphOfAFileReplacesTheSearch) {
  // The search finds 24 GB/s in the order 0 1; the file says 12 GB/s, 1 before 0. The tree is
  // searched for the one channel of the ring.
  const Decision decision = decided(one_ring(kGood, kBackwards));
  EXPECT_FLOAT_EQ(decision.comm.ring.bw_inter, 12.0F);
  EXPECT_FLOAT_EQ(decision.comm.tree.bw_inter, 24.0F);
  ASSERT_EQ(decision.rings.orders.size(), 1U);
  EXPECT_EQ(decision.rings.orders[0], (std::vector<int>{0, 3, 2, 1}));
}

TEST(GraphXml, WrittenAsNcclWritesIt) {
  // 1 x 24 GB/s; the tree's speed inside is raised while it is below twice that: 28, 30, 48.
  const Decision decision = decided("");
  const std::string channel =
      "    <channel>\n      <net dev=\"0\"/>\n      <gpu dev=\"0\"/>\n      <gpu dev=\"0x1\"/>\n"
      "      <net dev=\"0\"/>\n    </channel>\n  </graph>\n";
  const std::string none =
      "crossnic=\"0\" nchannels=\"0\" speedintra=\"0\" speedinter=\"0\" latencyinter=\"0\" "
      "typeintra=\"LOC\" typeinter=\"LOC\" samechannels=\"0\"/>\n";
  EXPECT_EQ(print_topology(graphs_element(decision.groups.front())),
            "<graphs version=\"1\">\n"
            "  <graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"1\" speedintra=\"24\" "
            "speedinter=\"24\" latencyinter=\"0\" typeintra=\"NVL\" typeinter=\"PIX\" "
            "samechannels=\"1\">\n" +
                channel +
                "  <graph id=\"1\" pattern=\"1\" crossnic=\"0\" nchannels=\"1\" speedintra=\"48\" "
                "speedinter=\"24\" latencyinter=\"0\" typeintra=\"NVL\" typeinter=\"PIX\" "
                "samechannels=\"1\">\n" +
                channel + "  <graph id=\"4\" pattern=\"6\" " + none +
                "  <graph id=\"2\" pattern=\"3\" " + none + "  <graph id=\"3\" pattern=\"5\" " +
                none + "</graphs>\n");
}

TEST(GraphXml, EqualToTheDumpOfNccl) {
  // NCCL 2.28.9 on four H200 without NVLS, measured 2026-11-29: tests/data/measured.
  const std::string folder = std::string(BUSBW_SOURCE_DIR) + "/tests/data/measured/";
  DecideInput input = equal_hosts(parsed(read_file(folder + "h200x4-nccl-topology.xml")), 1);
  input.version = {2, 28, 9};
  input.environment = {{"NCCL_NVLS_ENABLE", "0"}};
  EXPECT_EQ(print_topology(graphs_element(decide(input).groups.front())),
            read_file(folder + "h200x4-nccl-graph.xml"));
}

TEST(GraphXml, RoundTripLeavesTheDecision) {
  for (const Version version : {Version{2, 18, 6}, Version{2, 21, 5}, kNewest}) {
    const Decision searched = decided("", {}, version);
    const std::string text = print_topology(graphs_element(searched.groups.front()));
    const Decision given = decided(text, {}, version);
    EXPECT_EQ(print_topology(graphs_element(given.groups.front())), text);
    EXPECT_EQ(given.rings.orders, searched.rings.orders);
    EXPECT_EQ(given.trees.parents, searched.trees.parents);
    EXPECT_EQ(given.comm.channels, searched.comm.channels);
  }
}

TEST(GraphXml, NumbersByReleaseAndCrossingGraphs) {
  // Up to 2.20 "010" is octal 8, from 2.21 hexadecimal 16: neither device exists.
  EXPECT_THROW(decided(one_ring(kGood, "<net dev=\"0\"/><gpu dev=\"010\"/>"), {}, {2, 20, 3}),
               InputError);
  std::string crossing = one_ring(kGood, kBackwards);
  crossing.replace(crossing.find("crossnic=\"0\""), 12, "crossnic=\"1\"");
  EXPECT_FLOAT_EQ(decided(crossing).comm.ring.bw_inter, 12.0F);
  EXPECT_FLOAT_EQ(decided(crossing, {{"NCCL_CROSS_NIC", "0"}}).comm.ring.bw_inter, 24.0F);
}

void expect_error(const std::string& text, const std::string& message) {
  try {
    decided(text);
    FAIL() << "accepted: " << text;
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), message);
  }
}

TEST(GraphXml, BadFilesAreSaidWithTheirPlace) {
  expect_error("<system version=\"1\"/>",
               "graphs.xml:1:2: error: the root is 'system', expected 'graphs'");
  expect_error(one_ring(kGood, "<net dev=\"0\"/><gpu dev=\"7\"/>"),
               "graphs.xml:3:25: error: the node has no gpu of number '7'");
  expect_error(one_ring(kGood, "<net dev=\"0\"/><gpu dev=\"0\"/><gpu dev=\"0\"/>"),
               "graphs.xml:3:2: error: a channel of this graph names each GPU of the node once, "
               "found 2\n"
               "graphs.xml:3:2: error: a channel of this node has 2 'net', found 1");
  expect_error(
      one_ring("crossnic=\"3\" nchannels=\"2\" speedintra=\"-1\" speedinter=\"fast\" "
               "typeintra=\"NLV\" samechannels=\"1\"",
               kBackwards),
      "graphs.xml:2:2: error: crossnic is 3, allowed are 0 to 2\n"
      "graphs.xml:2:2: error: speedintra is '-1', expected a number of at least 0\n"
      "graphs.xml:2:2: error: speedinter is 'fast', expected a number of at least 0\n"
      "graphs.xml:2:2: error: typeintra is 'NLV', expected 'LOC', 'NVL', 'NVB', 'C2C', 'PIX', "
      "'PXB', 'P2C', 'PXN', 'PHB' or 'SYS'; did you mean 'NVL'?\n"
      "graphs.xml:2:2: error: 'graph' has no attribute 'typeinter'\n"
      "graphs.xml:2:2: error: nchannels is 2, the graph has 1 channels");
}

}  // namespace
}  // namespace busbw::nccl::graph
