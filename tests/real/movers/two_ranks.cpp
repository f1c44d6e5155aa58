// See two_ranks.h.
#include "tests/real/movers/two_ranks.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <stdexcept>

#include <gtest/gtest.h>

#include "real/executor/executor.h"
#include "real/executor/verify.h"

namespace busbw::real {

std::vector<std::string> run_two(const TwoRanks& setting) {
  collectives::Options options;
  options.bytes = Bytes(40000);
  options.chunk = Bytes::kib(4);
  const collectives::Schedule schedule = ring_all_reduce(shape_of(2, 1, 1), options);
  const auto body = [&](Session& session) {
    const std::int32_t rank = session.rank().value();
    std::shared_ptr<verbs::Api> api = verbs::make_fake_verbs(setting.network);
    if (setting.fault && rank == 0)
      api = verbs::with_fault(std::move(api), *setting.fault);
    HostBuffers buffers(schedule, session.rank(), false);  // outlives the mover
    const std::unique_ptr<Mover> mover =
        make_verbs_mover(verbs::Device::open(api, "fake" + std::to_string(rank)), setting.options);
    buffers.add_to(*mover);
    session.connect(*mover, links_of({&schedule}, 4));
    if (rank == 0)
      setting.connected();
    session.barrier();
    Waiter waiter(*mover, session, setting.completion, setting.patience);
    CheckedCollective checked;
    checked.ranks = 2;
    Executor executor(schedule, session.rank(), *mover, buffers);
    for (std::int32_t run = 0; run < setting.runs; ++run) {
      checked.salt = static_cast<std::uint64_t>(run);
      fill_input(checked, session.rank(), buffers.input());
      static_cast<void>(executor.run({}, waiter));
      if (const auto difference = find_difference(checked, session.rank(), buffers.output()))
        throw std::logic_error(*difference);
    }
    session.barrier();
  };
  return run_ranks(2, body, setting.session_patience);
}

std::string plain_lines(const std::vector<std::string>& failures) {
  std::string lines;
  for (const std::string& failure : failures)
    lines += plain(failure) + "\n";
  return lines;
}

void expect_causes(const std::vector<std::string>& failures,
                   const std::vector<std::string>& causes) {
  const std::regex saw(
      R"(; (rank \d \(host:pid\)) saw: .+ failed: IBV_WC_\w+ \(\d+\): .+ )"
      R"(\(on fake\d port 1 QP 0x#, )"
      R"(link \d -> \d channel 0\) \(peer rank \d \(host:pid\) QP 0x# GID [0-9a-f:.]+\))");
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    const std::string text = plain(failures[rank]);
    const std::size_t end = text.find("; rank ");
    const std::string cause = text.substr(0, end);
    EXPECT_NE(std::find(causes.begin(), causes.end(), cause), causes.end()) << text;
    std::smatch match;
    const std::string rest = end == std::string::npos ? "" : text.substr(end);
    if (!rest.empty()) {
      EXPECT_TRUE(std::regex_match(rest, match, saw)) << text;
      EXPECT_EQ(match.str(1), "rank " + std::to_string(rank) + " (host:pid)") << text;
    }
  }
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

}  // namespace busbw::real
