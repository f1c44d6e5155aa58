// What the tests of schedules share: shapes, inputs, the result that a collective must have by its
// definition, and the check that a schedule's execution has it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "models/collectives/execute.h"
#include "models/collectives/make_schedule.h"

namespace busbw::collectives {

/// 1 to 17, 24 and 64.
std::vector<std::int32_t> rank_counts();

/// `hosts` hosts of `locals` ranks: two channels' rings, one order up and one down; trees of the
/// first, both of the double binary tree.
Shape shape_of(std::int32_t hosts, std::int32_t locals);

/// Elements of four bytes, chunks of so many elements, three slots.
Options options_of(std::int64_t elements, std::int64_t chunk_elements);

/// Random numbers of every sign for the extent of each rank's input.
std::vector<Numbers> random_inputs(const Schedule& schedule);

/// The output that the collective's definition gives `rank`.
Numbers expected_output(const Schedule& schedule, const std::vector<Numbers>& inputs,
                        std::int32_t rank, Reduction reduction);

/// Executes on random_inputs() and expects every rank's exact result; returns what was sent.
Execution check_result(const Schedule& schedule, const ExecuteOptions& options = {});

/// As fast as it goes and in five random orders of lanes, in place too where that is allowed, with
/// as many slots as the schedule allows (three at least) and with `fewest` slots.
void check_in_any_order(const Schedule& schedule, std::int32_t fewest = 1);

/// Payload from the ranks of each host to other hosts' ranks.
std::vector<Bytes> leaving_hosts(const Execution& execution,
                                 const std::vector<std::int32_t>& host_of);

/// "all_gather by Ring, 3 ranks, 5 channels, 12 bytes": names a schedule in failures.
std::string name_of(const Schedule& schedule);

}  // namespace busbw::collectives
