// Checks of executions. See collective_check.h.
#include "tests/models/collectives/collective_check.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace busbw::collectives {

Execution check_result(const Schedule& schedule, const ExecuteOptions& options) {
  const std::vector<Numbers> inputs = random_inputs(schedule);
  Execution execution = execute(schedule, inputs, options);
  for (std::int32_t rank = 0; rank < schedule.ranks; ++rank) {
    EXPECT_EQ(execution.output[static_cast<std::size_t>(rank)],
              expected_output(schedule, inputs, rank, options.reduction))
        << name_of(schedule) << " rank " << rank << (options.in_place ? " in place " : " ")
        << to_string(options.reduction);
  }
  return execution;
}

void check_in_any_order(const Schedule& schedule, std::int32_t fewest) {
  const std::int32_t most = std::min(schedule.max_slots, 8);
  for (std::uint64_t seed = 0; seed <= 5; ++seed) {
    ExecuteOptions options;
    options.slots = seed % 2 == 0 ? most : fewest;
    options.in_place = seed % 3 == 1 && allows_in_place(schedule.collective);
    options.order_seed = seed;
    check_result(schedule, options);
  }
}

std::vector<Bytes> leaving_hosts(const Execution& execution,
                                 const std::vector<std::int32_t>& host_of) {
  std::vector<Bytes> leaving(
      static_cast<std::size_t>(*std::max_element(host_of.begin(), host_of.end()) + 1));
  for (std::size_t from = 0; from < host_of.size(); ++from) {
    for (std::size_t to = 0; to < host_of.size(); ++to) {
      if (host_of[from] != host_of[to]) {
        leaving[static_cast<std::size_t>(host_of[from])] += execution.sent[from][to];
      }
    }
  }
  return leaving;
}

}  // namespace busbw::collectives
