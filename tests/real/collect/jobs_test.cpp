// Tools and functions in processes: output, failure, signals, what hangs.
#include "real/collect/jobs.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <unistd.h>

#include <gtest/gtest.h>

namespace busbw::real::collect {
namespace {

Job shell(const std::string& script) {
  return {script, {"/bin/sh", "-c", script}, {}};
}

std::vector<JobResult> run(const std::vector<Job>& jobs, Milliseconds timeout) {
  return run_jobs(jobs, timeout, [](const Job&, const JobResult&) {});
}

TEST(Jobs, OutputAndErrorsAreOneText) {
  const std::vector<JobResult> results = run({shell("echo out; echo error >&2"),
                                              {"work", {}, [] { return std::string("text"); }},
                                              shell("exit 3"),
                                              {"none", {"/no/such/program"}, {}}},
                                             Milliseconds(20000));
  EXPECT_EQ(results[0].end, JobEnd::kDone);
  EXPECT_EQ(results[0].text, "out\nerror\n");
  EXPECT_EQ(results[1].end, JobEnd::kDone);
  EXPECT_EQ(results[1].text, "text");
  EXPECT_EQ(results[2].end, JobEnd::kFailed);
  EXPECT_EQ(results[2].reason, "status 3");
  EXPECT_EQ(results[3].end, JobEnd::kFailed);
}

TEST(Jobs, ACrashIsToldAndStopsNothing) {
  const std::vector<JobResult> results = run({{"crash",
                                               {},
                                               [] {
                                                 ::raise(SIGKILL);
                                                 return std::string();
                                               }},
                                              {"speaks",
                                               {},
                                               [] {
                                                 std::cout << "what a library says" << std::flush;
                                                 return std::string("fine");
                                               }}},
                                             Milliseconds(20000));
  EXPECT_EQ(results[0].end, JobEnd::kFailed);
  EXPECT_EQ(results[0].reason, "killed by signal 9 (Killed)");
  EXPECT_EQ(results[1].text, "fine");
}

// All run together: three that hang take one time limit, and a fourth is not kept from ending. The
// one with a child of its own, which holds the pipe, is ended with it.
TEST(Jobs, WhatHangsIsKilledInTime) {
  const Clock::time_point start = Clock::now();
  const std::vector<JobResult> results = run({shell("sleep 1000"),
                                              shell("sleep 1001 & wait"),
                                              {"work",
                                               {},
                                               [] {
                                                 ::pause();
                                                 return std::string();
                                               }},
                                              shell("echo done")},
                                             Milliseconds(1500));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(15));
  for (const std::size_t hung : {0U, 1U, 2U}) {
    EXPECT_EQ(results[hung].end, JobEnd::kTimedOut) << hung;
    EXPECT_EQ(results[hung].reason, "nothing within 1500 ms");
  }
  EXPECT_EQ(results[3].text, "done\n");
}

TEST(Jobs, AToolThatClosesItsOutputIsWaitedFor) {
  const std::vector<JobResult> results =
      run({shell("echo early; exec >&- 2>&-; sleep 0.2; exit 4")}, Milliseconds(20000));
  EXPECT_EQ(results[0].text, "early\n");
  EXPECT_EQ(results[0].reason, "status 4");
}

TEST(Jobs, EndlessOutputIsCut) {
  const std::vector<JobResult> results =
      run({shell("head -c 6000000 /dev/zero")}, Milliseconds(20000));
  EXPECT_EQ(results[0].end, JobEnd::kDone);
  EXPECT_EQ(results[0].text.size(), kMostOutput);
}

TEST(Jobs, ToolsReadNothingAndSpeakC) {
  ::setenv("LC_ALL", "de_DE.UTF-8", 1);
  const std::vector<JobResult> results = run({shell("cat; echo $LC_ALL")}, Milliseconds(20000));
  ::unsetenv("LC_ALL");
  EXPECT_EQ(results[0].text, "C\n");
}

TEST(Jobs, ProgressHearsOfEach) {
  std::vector<std::string> ended;
  run_jobs({shell("sleep 0.3"), shell("true")}, Milliseconds(20000),
           [&](const Job& job, const JobResult&) { ended.push_back(job.name); });
  EXPECT_EQ(ended, (std::vector<std::string>{"true", "sleep 0.3"}));
}

TEST(FindProgram, InTheSearchPath) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "find-program";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "ibstat") << "#!/bin/sh\n";
  EXPECT_EQ(find_program("ibstat", ":/none:" + folder.string()), "");  // it may not be run
  std::filesystem::permissions(folder / "ibstat", std::filesystem::perms::owner_all);
  EXPECT_EQ(find_program("ibstat", ":/none:" + folder.string()), (folder / "ibstat").string());
  EXPECT_EQ(find_program("ibstat", ""), "");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace busbw::real::collect
