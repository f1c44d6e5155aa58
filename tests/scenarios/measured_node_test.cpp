// Real NCCL 2.28.9 on the four GPUs of one H200 node (tests/data/measured, measured for this
// project on 2026-11-29) beside the prediction, point by point, with the algorithm that NCCL took.
//
// The node cut into two hosts is held to its bound. What the model does not reach is listed as
// expected to fail with its figure: the test fails when such a class comes within its bound, so
// that the list is shortened then, and when the figure gets worse.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/nccl/selection.h"
#include "scenarios/plan.h"
#include "scenarios/simulate.h"
#include "scenarios/spec/load.h"
#include "sim/core/text.h"
#include "tools/json/json.h"

namespace busbw::scenarios {
namespace {

const std::string kCatalog = std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog";
const std::string kMeasured = std::string(BUSBW_SOURCE_DIR) + "/tests/data/measured/";

Value read_json(const std::string& name) {
  Problems problems;
  Value value = json::parse(read_file(kMeasured + name), name, problems);
  problems.throw_if_any();
  return value;
}

struct Choice {
  std::string algorithm;
  std::string protocol;
};

/// What NCCL logged for each run and size of an all-reduce: id -> bytes -> choice.
std::map<std::string, std::map<std::int64_t, Choice>> logged_choices() {
  std::map<std::string, std::map<std::int64_t, Choice>> choices;
  const Value decisions = read_json("h200x4-decisions.json");
  for (const Value& run : decisions.as_array()) {
    for (const Value& row : run.find("choices")->as_array()) {
      const Value::Array& cells = row.as_array();
      if (cells[0].as_string() == "AllReduce") {
        choices[run.find("id")->as_string()][cells[1].as_integer()] = {cells[2].as_string(),
                                                                       cells[3].as_string()};
      }
    }
  }
  return choices;
}

/// Hosts of the record: H200 virtual machines with one virtual NIC each, shaped on its sending
/// side.
Variant variant_of(const Value& record, const Library& library) {
  const Value& system = *record.find("system");
  const std::int64_t gpus = system.find("gpus_per_node")->as_integer();
  const Value* interfaces = system.find("nic")->find("interfaces");
  Variant variant;
  variant.version = *nccl::parse_version(record.find("nccl_version")->as_string());
  for (const auto& [name, value] : record.find("env")->as_object()) {
    variant.environment[name] = value.as_string();
  }
  topologies::MachineNic nic;
  nic.name = "eth0";
  nic.rate = Bandwidth::gigabits_per_second(1000);  // a veth pair has no wire of its own
  nic.reported_speed = Bandwidth::gigabits_per_second(10);
  if (interfaces != nullptr && !interfaces->as_array().front().find("shaped_gbit")->is_null()) {
    nic.send_rate = Bandwidth::gigabits_per_second(
        interfaces->as_array().front().find("shaped_gbit")->as_integer());
  }
  const auto machine = std::find_if(
      library.machines.begin(), library.machines.end(),
      [&](const topologies::Machine& m) { return m.name == fmt::format("h200-vm-x{}", gpus); });
  if (machine == library.machines.end()) {
    throw InputError(fmt::format("no machine h200-vm-x{}", gpus));
  }
  for (std::int64_t host = 1; host <= system.find("nodes")->as_integer(); ++host) {
    variant.cluster.hosts.push_back(*machine);
    variant.cluster.hosts.back().nics = {nic};
    nccl::Inventory inventory;
    inventory.host = fmt::format("host{}", host);
    nccl::Interface eth0;
    eth0.name = "eth0";
    eth0.addresses.push_back(*nccl::parse_address(fmt::format("10.0.0.{}/24", host)));
    eth0.speed_mbit = 10000;
    eth0.wire_rate = nic.send_rate;
    inventory.interfaces.push_back(std::move(eth0));
    variant.inventories.push_back(std::move(inventory));
  }
  topologies::Network network;
  network.name = "eth0";
  network.nics = {"eth0"};
  variant.cluster.networks.push_back(std::move(network));
  return variant;
}

struct Point {
  std::string id;
  std::int64_t bytes = 0;
  double measured = 0;
  double predicted = 0;
  [[nodiscard]] double error() const { return std::abs(predicted / measured - 1); }
};

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

/// Every quiet point of the records of this collective whose run name starts with `prefix`;
/// all_reduce with the algorithm and the protocol that NCCL logged.
std::vector<Point> predict(const std::string& prefix,
                           const std::string& collective = "all_reduce") {
  Problems problems;
  const Library library = load_library(kCatalog, problems);
  const params::Transports transports = params::load_transports(kCatalog, problems);
  problems.throw_if_any();
  const auto choices = logged_choices();
  const Value records = read_json("h200x4-collectives.json");
  std::vector<Point> points;
  for (const Value& record : records.as_array()) {
    const std::string& id = record.find("id")->as_string();  // "h200x4-RUN-COLLECTIVE"
    const std::string run = id.substr(7, id.rfind('-') - 7);
    if (run.rfind(prefix, 0) != 0 || record.find("collective")->as_string() != collective) {
      continue;
    }
    Variant variant = variant_of(record, library);
    variant.workload.collective = collectives::parse_collective(collective).value();
    for (const Value& point : record.find("points")->as_array()) {
      if (point.find("noisy") != nullptr) {
        continue;
      }
      const std::int64_t bytes = point.find("bytes")->as_integer();
      variant.workload.sizes = {Bytes(bytes)};
      const Plan plan = make_plan(variant, decide(variant, library.catalog));
      Fingerprint unused;
      const std::vector<SizeResult> results =
          simulate_sizes(variant, plan, {library.catalog, transports}, {}, unused);
      const Run& chosen = results.front().chosen;
      if (collective == "all_reduce") {
        const Choice& choice = choices.at(run).at(bytes);
        EXPECT_EQ(upper(collectives::to_string(chosen.algorithm)), choice.algorithm) << id << bytes;
        EXPECT_EQ(upper(params::to_string(chosen.protocol)), choice.protocol) << id << bytes;
      }
      points.push_back(
          {run, bytes, point.find("busbw_GBps")->as_number(), results.front().busbw_GBps});
    }
  }
  return points;
}

/// Median of |error| of the points that `large` says: from 4 MiB on, or below.
std::optional<double> median_error(const std::vector<Point>& points, bool large) {
  std::vector<double> errors;
  for (const Point& point : points) {
    if ((point.bytes >= (4 << 20)) == large) {
      errors.push_back(point.error());
    }
  }
  if (errors.empty()) {
    return std::nullopt;
  }
  std::sort(errors.begin(), errors.end());
  const std::size_t middle = errors.size() / 2;
  return errors.size() % 2 == 1 ? errors[middle] : (errors[middle - 1] + errors[middle]) / 2;
}

void print(const std::vector<Point>& points) {
  for (const Point& point : points) {
    fmt::print("  {:<20} {:>10} B  measured {:9.4f}  predicted {:9.4f}  {:+7.1f} %\n", point.id,
               point.bytes, point.measured, point.predicted,
               (point.predicted / point.measured - 1) * 100);
  }
}

class HalfNodes : public ::testing::TestWithParam<std::string> {};

TEST_P(HalfNodes, BusbwWithinTenPercentFrom4MiB) {
  const std::vector<Point> points = predict(GetParam());
  print(points);
  int judged = 0;
  for (const Point& point : points) {
    if (point.bytes >= (4 << 20)) {
      EXPECT_LE(point.error(), 0.10) << point.id << " " << point.bytes;
      ++judged;
    }
  }
  EXPECT_GE(judged, 8);
}

INSTANTIATE_TEST_SUITE_P(Shaped, HalfNodes, ::testing::Values("hosts_slow", "hosts_fast"),
                         [](const auto& info) { return info.param; });

/// A class of runs that the model misses today. Bound and figures are medians of |error|.
struct Miss {
  std::string name;    // for the test's name
  std::string prefix;  // of the runs
  bool large = true;   // from 4 MiB on, or below
  double bound = 0;    // what is asked for
  double figure = 0;   // what it is today; a tenth more is a regression
  std::string reason;
};

class ExpectedToFail : public ::testing::TestWithParam<Miss> {};

TEST_P(ExpectedToFail, IsStillOutsideItsBound) {
  const Miss& miss = GetParam();
  const std::vector<Point> points = predict(miss.prefix);
  print(points);
  const std::optional<double> error = median_error(points, miss.large);
  ASSERT_TRUE(error.has_value());
  fmt::print("{}: median |error| {:.3f}, asked for {:.2f}: {}\n", miss.name, *error, miss.bound,
             miss.reason);
  EXPECT_GT(*error, miss.bound) << "it holds now: move the class to the tests that must pass";
  EXPECT_LE(*error, miss.figure * 1.1) << "worse than when it was recorded";
}

// Why. Real channels start in step and drift apart in the course of a GiB, ours sooner.
// The small ones: single runs differ by so much (4 KiB by Ring/LL on four GPUs took 9.8 us by
// default and 12.2 us when forced).
const char* const kDrift = "channels drift apart too soon";
const char* const kRepeat = "one launch time for all runs";
const char* const kNoise = "64 MiB was measured 15 % below 16 MiB, the mechanism is not known";
const char* const kProxy = "the cost of a proxy thread is one number yet";

INSTANTIATE_TEST_SUITE_P(
    Node, ExpectedToFail,
    ::testing::Values(Miss{"TreeLl128Large", "Tree_LL128", true, 0.06, 0.085, kDrift},
                      Miss{"DefaultOn4Small", "default_4", false, 0.15, 0.157, kRepeat},
                      Miss{"SharedMemoryLarge", "nop2p", true, 0.06, 0.079, kNoise},
                      Miss{"SharedMemorySmall", "nop2p", false, 0.15, 0.160, kRepeat},
                      Miss{"HalvesNotShaped", "hosts_raw", true, 0.10, 0.179, kProxy},
                      Miss{"SocketsInsideLarge", "sockets", true, 0.15, 0.294, kProxy},
                      Miss{"SocketsInsideSmall", "sockets", false, 0.15, 1.016, kProxy}),
    [](const auto& info) { return info.param.name; });

struct Held {
  std::string name;
  std::string prefix;
  bool large = true;
  double bound = 0;
};

class HoldsNow : public ::testing::TestWithParam<Held> {};

TEST_P(HoldsNow, MedianWithinItsBound) {
  const Held& held = GetParam();
  const std::vector<Point> points = predict(held.prefix);
  print(points);
  const std::optional<double> error = median_error(points, held.large);
  ASSERT_TRUE(error.has_value());
  EXPECT_LE(*error, held.bound);
}

INSTANTIATE_TEST_SUITE_P(Node, HoldsNow,
                         ::testing::Values(Held{"DefaultOn4Large", "default_4", true, 0.06},
                                           Held{"DefaultOn2Small", "default_2", false, 0.15},
                                           Held{"RingSimpleLarge", "Ring_Simple", true, 0.06},
                                           Held{"RingSimpleSmall", "Ring_Simple", false, 0.15},
                                           Held{"RingLlLarge", "Ring_LL_4", true, 0.06},
                                           Held{"RingLlSmall", "Ring_LL_4", false, 0.15},
                                           Held{"RingLl128Small", "Ring_LL128", false, 0.15},
                                           Held{"TreeSimpleLarge", "Tree_Simple", true, 0.06},
                                           Held{"TreeSimpleSmall", "Tree_Simple", false, 0.15},
                                           Held{"RingLl128Large", "Ring_LL128", true, 0.06},
                                           Held{"TreeLlLarge", "Tree_LL_4", true, 0.06},
                                           Held{"TreeLlSmall", "Tree_LL_4", false, 0.15},
                                           Held{"TreeLl128Small", "Tree_LL128", false, 0.15},
                                           Held{"DefaultOn2Large", "default_2", true, 0.06},
                                           Held{"FewerChannelsLarge", "ch", true, 0.06},
                                           Held{"FewerChannelsSmall", "ch", false, 0.15}),
                         [](const auto& info) { return info.param.name; });

// How many channels take a peer's data decides: sendrecv of 64 MiB is half as fast on four GPUs (8
// channels of 20.5 GB/s) as on two (16), of 1 GiB as fast (32, the link's limit).
TEST(MeasuredNode, PointToPoint) {
  for (const char* collective : {"sendrecv", "alltoall"}) {
    const std::vector<Point> points = predict("default", collective);
    print(points);
    EXPECT_GE(points.size(), 20U) << collective;
    EXPECT_LE(median_error(points, true).value_or(1), 0.12) << collective;
    for (const Point& point : points) {
      if (point.bytes >= (16 << 20)) {
        EXPECT_LE(point.error(), 0.22) << collective << " " << point.id << " " << point.bytes;
      }
    }
  }
}

// Channels, rings and trees per channel as NCCL logged them.
TEST(Decisions, ChannelsRingsAndTrees) {
  Problems problems;
  const Library library = load_library(kCatalog, problems);
  problems.throw_if_any();
  const Value records = read_json("h200x4-collectives.json");
  std::map<std::string, const Value*> first_record;
  for (const Value& record : records.as_array()) {
    const std::string& id = record.find("id")->as_string();
    first_record.emplace(id.substr(7, id.rfind('-') - 7), &record);
  }
  int compared = 0;
  const Value runs = read_json("h200x4-decisions.json");
  for (const Value& run : runs.as_array()) {
    const std::string& id = run.find("id")->as_string();
    const Variant variant = variant_of(*first_record.at(id), library);
    const Plan plan = make_plan(variant, decide(variant, library.catalog));
    const Value::Array& rings = run.find("rings")->as_array();
    const Value::Array& trees = run.find("tree_parents")->as_array();
    bool equal = plan.shape.rings.size() == rings.size();
    for (std::size_t c = 0; equal && c < rings.size(); ++c) {
      for (std::size_t r = 0; equal && r < plan.shape.rings[c].size(); ++r) {
        const std::optional<RankId> parent = plan.shape.trees[c][r];
        equal = plan.shape.rings[c][r].value() == rings[c].as_array()[r].as_integer() &&
                (parent ? parent->value() : -1) == trees[c].as_array()[r].as_integer();
      }
    }
    EXPECT_TRUE(equal) << id;
    ++compared;
  }
  EXPECT_EQ(compared, 25);
}

}  // namespace
}  // namespace busbw::scenarios
