// Runs the rank program of the tests (rank_program.cpp) as processes, and catches what they say.
#pragma once
#include <string>
#include <vector>

#include "real/launch/local_processes.h"

namespace busbw::real {

struct RankOutcome {
  std::vector<RankExit> exits;
  std::string errors;  // what the ranks wrote to standard error
};

/// `arguments` as in rank_program.cpp.
RankOutcome run_rank_program(std::size_t ranks, const std::vector<std::string>& arguments,
                             Milliseconds grace = Milliseconds(15000));

/// Every rank that did not end well, a line each, and what the ranks said.
std::string bad_ends(const RankOutcome& outcome);

/// Shared-memory segments that these processes left behind.
std::vector<std::string> segments_left(const RankOutcome& outcome);

}  // namespace busbw::real
