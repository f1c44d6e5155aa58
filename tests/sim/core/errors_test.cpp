// Problems, InputError, SystemError and CHECK: the text that users see, and the order.
#include "sim/core/errors.h"

#include <string>

#include <gtest/gtest.h>

#include "sim/core/check.h"

namespace busbw {
namespace {

TEST(Errors, UnknownPartsOfAPlaceAreLeftOut) {
  EXPECT_EQ(to_string(InputProblem{{"f.yaml", 3, 7}, "bad"}), "f.yaml:3:7: error: bad");
  EXPECT_EQ(to_string(InputProblem{{"f.yaml", 3, 0}, "bad"}), "f.yaml:3: error: bad");
  EXPECT_EQ(to_string(InputProblem{{"f.yaml", 0, 0}, "bad"}), "f.yaml: error: bad");
  EXPECT_EQ(to_string(InputProblem{{}, "bad"}), "error: bad");
}

TEST(Errors, AProblemIsOneLineWhateverTheTextHolds) {
  EXPECT_EQ(to_string(InputProblem{{}, "found 'a\nb\r\x1b[0m\x7f\u00e9'"}),
            "error: found 'a\\nb\\x0d\\x1b[0m\\x7f\u00e9'");
}

TEST(Errors, AllProblemsAtOnceByFileThenPlace) {
  Problems problems;
  EXPECT_TRUE(problems.empty());
  EXPECT_NO_THROW(problems.throw_if_any());
  problems.add({"b.yaml", 9, 1}, "first file seen");
  problems.add({"a.yaml", 2, 1}, "line 2");
  problems.add({"b.yaml", 1, 5}, "column 5");
  problems.add({"b.yaml", 1, 2}, "column 2");
  problems.add({"a.yaml", 0, 0}, "the whole file");
  problems.add({"b.yaml", 1, 2}, "same place, added later");
  EXPECT_EQ(problems.all().size(), 6U);
  try {
    problems.throw_if_any();
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "b.yaml:1:2: error: column 2\n"
                 "b.yaml:1:2: error: same place, added later\n"
                 "b.yaml:1:5: error: column 5\n"
                 "b.yaml:9:1: error: first file seen\n"
                 "a.yaml: error: the whole file\n"
                 "a.yaml:2:1: error: line 2");
    EXPECT_EQ(error.problems().size(), 6U);
    EXPECT_EQ(error.problems().front().where, (Location{"b.yaml", 1, 2}));
  }
}

TEST(Errors, InputErrorOfAFlag) {
  const InputError error("unknown engine 'x'");
  EXPECT_STREQ(error.what(), "error: unknown engine 'x'");
  EXPECT_EQ(error.problems().size(), 1U);
}

TEST(Errors, SystemErrorNamesCallReasonObjectAndPeer) {
  const SystemError bare({"open", "No such file or directory", "", ""});
  EXPECT_STREQ(bare.what(), "open failed: No such file or directory");
  const SystemError full({"ibv_modify_qp", "Connection timed out", "mlx5_0:1", "host1"});
  EXPECT_STREQ(full.what(),
               "ibv_modify_qp failed: Connection timed out (on mlx5_0:1) (peer host1)");
  EXPECT_EQ(full.details().call, "ibv_modify_qp");
}

TEST(Check, NamesFileBelowTheTreeLineConditionAndValues) {
  const int ranks = 3;
  EXPECT_NO_THROW(CHECK(ranks == 3));
  int line = 0;
  try {
    line = __LINE__ + 1;
    CHECK(ranks == 4, "ranks {}", ranks);
    FAIL();
  } catch (const CheckFailure& failure) {
    EXPECT_EQ(failure.what(), "tests/sim/core/errors_test.cpp:" + std::to_string(line) +
                                  ": check failed: ranks == 4 (ranks 3)");
  }
  try {
    fail_check("/elsewhere/x.h", 7, "false", "");
  } catch (const CheckFailure& failure) {
    EXPECT_STREQ(failure.what(), "/elsewhere/x.h:7: check failed: false");
  }
}

}  // namespace
}  // namespace busbw
