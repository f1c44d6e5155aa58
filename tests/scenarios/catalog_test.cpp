// Every scenario of the catalogue: loads, meets its own bounds, gives the same with both engines
// and twice.
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "scenarios/result_value.h"
#include "scenarios/simulate.h"
#include "scenarios/spec/load.h"
#include "tools/json/json.h"

namespace busbw::scenarios {
namespace {

const std::string kSource = BUSBW_SOURCE_DIR;

struct Data {
  Library library;
  params::Transports transports;
};

const Data& data() {
  static const Data loaded = [] {
    Problems problems;
    Data read{load_library(kSource + "/topologies/catalog", problems),
              params::load_transports(kSource + "/topologies/catalog", problems)};
    problems.throw_if_any();
    return read;
  }();
  return loaded;
}

Scenario load(const std::string& name) {
  Problems problems;
  Scenario scenario =
      load_scenario(kSource + "/scenarios/catalog/" + name + ".yaml", data().library, problems);
  problems.throw_if_any();
  return scenario;
}

Result run(const std::string& name, EngineChoice engine = {}) {
  SimulateOptions options;
  options.engine = engine;
  return simulate(load(name), {data().library.catalog, data().transports}, options);
}

const VariantResult& find(const Result& result, const std::string& name) {
  for (const VariantResult& variant : result.variants) {
    if (variant.name == name) {
      return variant;
    }
  }
  throw std::out_of_range(name);
}

class EveryScenario : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryScenario, MeetsTheBoundsOfItsFile) {
  const Result result = run(GetParam());
  for (const VariantResult& variant : result.variants) {
    for (const Check& check : variant.checks) {
      EXPECT_TRUE(check.met) << variant.name << ": " << check.what << ": " << check.text;
    }
  }
}

TEST_P(EveryScenario, BothEnginesAgree) {
  // To 1e-6, and 1 ps a message for the rounding of each.
  const Result fluid = run(GetParam());
  const Result reference = run(GetParam(), {engine::Kind::kReference, Level::kPlayed});
  for (std::size_t v = 0; v < fluid.variants.size(); ++v) {
    ASSERT_EQ(fluid.variants[v].results.size(), reference.variants[v].results.size());
    for (std::size_t s = 0; s < fluid.variants[v].results.size(); ++s) {
      const std::vector<scenarios::Run>& a = fluid.variants[v].results[s].runs;
      const std::vector<scenarios::Run>& b = reference.variants[v].results[s].runs;
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t r = 0; r < a.size(); ++r) {
        const double allowed =
            static_cast<double>(a[r].time.ps()) * 1e-6 + static_cast<double>(a[r].messages);
        EXPECT_NEAR(static_cast<double>(a[r].time.ps()), static_cast<double>(b[r].time.ps()),
                    allowed)
            << fluid.variants[v].name << " " << fluid.variants[v].results[s].bytes.count();
      }
    }
  }
}

TEST_P(EveryScenario, TwiceTheSameBytes) {
  EXPECT_EQ(json::print(to_value(run(GetParam()))), json::print(to_value(run(GetParam()))));
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(kSource + "/scenarios/catalog")) {
    if (entry.path().extension() == ".yaml") {
      found.push_back(entry.path().stem().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryScenario, ::testing::ValuesIn(names()),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(NicMisselection, HoldsTheFiguresOfTheCase) {
  const Result result = run("nic-misselection");
  const SizeResult& before = find(result, "before").results.back();
  const SizeResult& fixed = find(result, "fixed").results.back();
  ASSERT_EQ(before.bytes, Bytes::gib(1));
  EXPECT_NEAR(before.chosen.time.as_ms(), 980.5, 980.5 * 0.12);
  EXPECT_NEAR(fixed.chosen.time.as_ms(), 99.4, 99.4 * 0.15);
  EXPECT_NEAR(before.chosen.time.as_ms() / fixed.chosen.time.as_ms(), 9.86, 9.86 * 0.08);
  for (const SizeResult& size : {before, fixed}) {
    EXPECT_EQ(size.chosen.algorithm, collectives::Algorithm::kTree);
    EXPECT_NEAR(size.busbw_GBps, 1.75 * size.algbw_GBps, 1e-9);
  }
  EXPECT_NEAR(find(result, "before").training->samples_per_second, 320, 0.1);
  EXPECT_NEAR(find(result, "fixed").training->samples_per_second, 2790, 2790 * 0.03);
  EXPECT_EQ(find(result, "fixed").alternatives.size(), 2U);
}

TEST(NicMisselection, ATreeOnTwoNodesMovesEachByteOncePerNic) {
  // 1 GiB at 1.25 GB/s x 1448/1538: 912.4 ms, and less than 1 ms of latencies and pipeline fill.
  const Result result = run("nic-misselection");
  const SizeResult& before = find(result, "before").results.back();
  const double ideal = 1073741824.0 / (1.25e9 * 1448 / 1538) * 1e3;
  EXPECT_GT(before.chosen.time.as_ms(), ideal);
  EXPECT_LT(before.chosen.time.as_ms(), ideal + 1);
  // The port at 200 Gb/s: a ring moves 1.75 bytes a byte, so about 78 ms.
  const SizeResult& fast = find(result, "port at 200 Gb/s").results.back();
  EXPECT_EQ(fast.chosen.algorithm, collectives::Algorithm::kRing);
  EXPECT_NEAR(fast.chosen.time.as_ms(), 78, 78 * 0.03);
}

TEST(NicMisselection, NotesSayWhereTheStoryDiffers) {
  // Rows A7, A8, A10, A11 and the gradient that cannot be: each claim has a note with rule and
  // source.
  const Scenario scenario = load("nic-misselection");
  for (const std::string word :
       {"NCCL_TIMEOUT", "NCCL_IB_GID_INDEX", "NCCL_NET_GDR_LEVEL", "Polling", "utilisation",
        "27.2 hours", "13.5 GB", "1.75 times", "loopback", "whatever the subnet"}) {
    const bool told =
        std::any_of(scenario.notes.begin(), scenario.notes.end(), [&](const Note& note) {
          return !note.source.empty() && (note.story + note.rule).find(word) != std::string::npos;
        });
    EXPECT_TRUE(told) << word;
  }
}

TEST(NicMisselection, EveryVariantEndsAsNcclDoes) {
  const Result result = run("nic-misselection");
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"before", "runs"},
      {"fixed", "runs"},
      {"fixed, further settings", "runs"},
      {"unset, healthy HCA", "runs"},
      {"unset, no device in the container", "runs"},
      {"unset, port down, 2.18", "error"},
      {"unset, port down, 2.28", "runs"},
      {"exclude eth0", "hang"},
      {"demand IB", "error"},
      {"port at 200 Gb/s", "runs"}};
  ASSERT_EQ(result.variants.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(result.variants[i].name, expected[i].first);
    EXPECT_EQ(result.variants[i].outcome, expected[i].second) << expected[i].first;
  }
  for (const nccl::ChannelDevice& channel :
       find(result, "unset, no device in the container").decision.channels) {
    EXPECT_EQ(channel.net_device, 1);  // rdma0, the faster
  }
}

}  // namespace
}  // namespace busbw::scenarios
