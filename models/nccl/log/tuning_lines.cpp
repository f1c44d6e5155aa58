// What the tuning model prints: the table, thread thresholds, and the counts of channels.
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "models/nccl/log/lines.h"

namespace busbw::nccl::log {
namespace {

using graph::Algorithm;
using graph::Collective;
using graph::kAlgorithms;
using graph::kCollectives;
using graph::kProtocols;
using graph::Protocol;

constexpr std::size_t kAlgorithmsALine = 3;

std::size_t known_algorithms(const View& view) {
  return view.decision.switches.pat ? kAlgorithms : kAlgorithms - 1;
}

Lines table(const View& view) {
  const graph::Tuning& tuning = view.decision.tuning;
  Lines lines;
  for (std::size_t first = 0; first < known_algorithms(view); first += kAlgorithmsALine) {
    const std::size_t end = std::min(first + kAlgorithmsALine, known_algorithms(view));
    std::string names = "  Algorithm   |";
    std::string protocols = "  Protocol    |";
    std::string threads = " Max NThreads |";
    for (std::size_t i = 0; i < kAlgorithmsALine * kProtocols; i++)
      protocols += fmt::format(" {:>14} |", to_string(static_cast<Protocol>(i % kProtocols)));
    for (std::size_t a = first; a < end; a++) {
      names +=
          fmt::format(" {:>14}   {:>14}   {:>14} |", "", to_string(static_cast<Algorithm>(a)), "");
      for (std::size_t p = 0; p < kProtocols; p++)
        threads += fmt::format(" {:14d} |", tuning.most_threads[a][p]);
    }
    for (std::string* line : {&names, &protocols, &threads})
      lines.push_back(info("TUNING", *line));
    for (std::size_t c = 0; c < kCollectives; c++) {
      const auto collective = static_cast<Collective>(c);
      std::string line = fmt::format("{:>13} |", to_string(collective));
      for (std::size_t a = first; a < end; a++) {
        for (std::size_t p = 0; p < kProtocols; p++) {
          const graph::Cost& cost =
              tuning.cost(collective, static_cast<Algorithm>(a), static_cast<Protocol>(p));
          line += fmt::format("{:8.1f}/{:6.1f} |", cost.latency_us, cost.bandwidth);
        }
      }
      lines.push_back(info("TUNING", line));
    }
  }
  return lines;
}

LogLine thresholds(const View& view) {
  // Tree LL, LL128, Simple, Ring LL, LL128, Simple: bytes a thread must have
  long values[6] = {8, 8, 64, 8L * view.decision.comm.ranks, 8, 64};
  if (const auto wanted = text(view.decision.environment, "NCCL_THREAD_THRESHOLDS")) {
    std::size_t value = 0;
    const char* rest = wanted->c_str();
    for (char* end = nullptr; value < 6; value++, rest = end) {
      const long number = std::strtol(rest, &end, 10);
      if (end == rest)
        break;
      if (number >= 0)
        values[value] = number;
    }
  }
  return info("INIT", fmt::format("threadThresholds {}/{}/{} | {}/{}/{} | 512 | 512", values[0],
                                  values[1], values[2], values[3], values[4], values[5]));
}

}  // namespace

Lines tuning_lines(const View& view) {
  const graph::Communicator& comm = view.decision.comm;
  Lines lines;
  if (comm.ranks > 1) {
    if (view.rank == 0)
      append(lines, table(view));
    lines.push_back(thresholds(view));
  }
  const std::string collnet =
      view.from(2, 20, 3) ? fmt::format("{} collnet channels, ", comm.channels) : "";
  lines.push_back(info(
      "INIT", fmt::format("{} coll channels, {}{} nvls channels, {} p2p channels, {} p2p channels "
                          "per peer",
                          comm.channels, collnet, comm.nvls_channels, comm.p2p_channels,
                          comm.p2p_channels_per_peer)));
  return lines;
}

}  // namespace busbw::nccl::log
