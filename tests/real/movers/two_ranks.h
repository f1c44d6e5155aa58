// An all-reduce of two ranks over the fake, broken in one place: what the tests of faults share.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "real/movers/waiter.h"
#include "real/verbs/faults.h"
#include "tests/real/ranks.h"

namespace busbw::real {

struct TwoRanks {
  std::shared_ptr<verbs::FakeNetwork> network = fake_network(2);
  VerbsMoverOptions options = fake_options(VerbsMethod::kWrite);
  std::optional<verbs::Fault> fault;  // of rank 0
  Completion completion = Completion::kEvent;
  Milliseconds patience{10000};          // of the runs
  Milliseconds session_patience{20000};  // of all before
  std::int32_t runs = 1;
  /// Called by rank 0 after the links are connected, before the runs.
  std::function<void()> connected = [] {};
};

/// Rank 0 on fake0, rank 1 on fake1: 40000 bytes in chunks of 4 KiB over one ring. Their failures.
std::vector<std::string> run_two(const TwoRanks& setting);

/// The failures without process ids and QP numbers, rank 0's first, a line each.
std::string plain_lines(const std::vector<std::string>& failures);

/// Expects of every rank one of `causes` (plain), whole; it may be followed by what the rank saw
/// itself ("; rank 0 (host:pid) saw: ..."), with device, port, QP, link and peer.
void expect_causes(const std::vector<std::string>& failures,
                   const std::vector<std::string>& causes);

/// File descriptors that this process has open.
std::size_t open_descriptors();

}  // namespace busbw::real
