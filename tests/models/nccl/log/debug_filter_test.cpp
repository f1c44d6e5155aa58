// NCCL_DEBUG and NCCL_DEBUG_SUBSYS.
#include "models/nccl/log/debug_filter.h"

#include <gtest/gtest.h>

namespace busbw::nccl::log {
namespace {

RankLine line(const std::string& subsystem, bool warning = false) {
  return {0, 0, {subsystem, warning, "text"}, false};
}

TEST(DebugFilter, DefaultSubsystems) {
  const DebugFilter filter({}, kNewest);
  EXPECT_TRUE(filter.shows(line("INIT")));
  EXPECT_TRUE(filter.shows(line("ENV")));
  EXPECT_TRUE(filter.shows(line("BOOTSTRAP")));
  EXPECT_TRUE(filter.shows(line("INIT|NET")));
  EXPECT_TRUE(filter.shows(line("ALL")));
  EXPECT_FALSE(filter.shows(line("NET")));
  EXPECT_FALSE(filter.shows(line("GRAPH")));
  EXPECT_FALSE(filter.shows(line("TUNING")));
}

TEST(DebugFilter, ListInAnyLetterCaseWithUnknownNames) {
  const DebugFilter filter({{"NCCL_DEBUG_SUBSYS", "graph,Tuning,NONSENSE"}}, kNewest);
  EXPECT_TRUE(filter.shows(line("GRAPH")));
  EXPECT_TRUE(filter.shows(line("TUNING")));
  EXPECT_FALSE(filter.shows(line("INIT")));
  EXPECT_TRUE(filter.shows(line("INIT", true)));  // a warning passes
}

TEST(DebugFilter, InvertedListAndAll) {
  const DebugFilter all({{"NCCL_DEBUG_SUBSYS", "ALL"}}, kNewest);
  EXPECT_TRUE(all.shows(line("NVLS")));
  const DebugFilter inverted({{"NCCL_DEBUG_SUBSYS", "^GRAPH,INIT"}}, kNewest);
  EXPECT_FALSE(inverted.shows(line("GRAPH")));
  EXPECT_FALSE(inverted.shows(line("INIT")));
  EXPECT_TRUE(inverted.shows(line("INIT|NET")));
  EXPECT_TRUE(inverted.shows(line("TUNING")));
  const DebugFilter none({{"NCCL_DEBUG_SUBSYS", "NONSENSE"}}, kNewest);
  EXPECT_FALSE(none.shows(line("ALL")));
}

TEST(DebugFilter, BootstrapWasInit) {
  const Environment init{{"NCCL_DEBUG_SUBSYS", "INIT"}};
  EXPECT_TRUE(DebugFilter(init, {2, 18, 1}).shows(line("BOOTSTRAP")));
  EXPECT_FALSE(DebugFilter(init, {2, 24, 3}).shows(line("BOOTSTRAP")));
  const Environment bootstrap{{"NCCL_DEBUG_SUBSYS", "BOOTSTRAP"}};
  EXPECT_FALSE(DebugFilter(bootstrap, {2, 18, 1}).shows(line("BOOTSTRAP")));
}

TEST(DebugFilter, Levels) {
  const RankLine version{0, 0, {"ALL", false, "NCCL version"}, true};
  struct Case {
    const char* level;
    bool version;
    bool warning;
    bool info;
  };
  for (const Case& want : {Case{"VERSION", true, false, false}, Case{"WARN", true, true, false},
                           Case{"info", true, true, true}, Case{"TRACE", true, true, true},
                           Case{"loud", false, false, false}}) {
    const DebugFilter filter({{"NCCL_DEBUG", want.level}}, kNewest);
    EXPECT_EQ(filter.shows(version), want.version) << want.level;
    EXPECT_EQ(filter.shows(line("NET", true)), want.warning) << want.level;
    EXPECT_EQ(filter.shows(line("INIT")), want.info) << want.level;
  }
}

}  // namespace
}  // namespace busbw::nccl::log
