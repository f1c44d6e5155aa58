// See fault_report.h.
#include "tools/fault_report.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "sim/core/errors.h"
#include "sim/core/quantity.h"
#include "sim/core/text.h"

namespace busbw::tools {
namespace {

using scenarios::FaultOutcome;
using scenarios::HotLink;
using scenarios::SizeResult;

constexpr std::size_t kWidth = 118;
constexpr std::size_t kMostConnections = 8;  // of a link, then their number

std::string time_text(Duration time) {
  return time < Duration::seconds(1) ? fmt::format("{:.3f} ms", time.as_ms())
                                     : fmt::format("{:.3f} s", time.as_seconds());
}

struct Entry {
  Duration at;
  std::string text;
};

/// Happenings before lines of the same instant.
std::vector<Entry> entries_of(const FaultOutcome& faults) {
  std::vector<Entry> entries;
  for (const scenarios::Happening& happening : faults.happenings) {
    entries.push_back({happening.at, happening.text});
  }
  for (const scenarios::TimedLine& line : faults.lines) {
    entries.push_back({line.at, fmt::format("rank {}: {}", line.rank, line.text)});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.at < b.at; });
  return entries;
}

std::string end_text(const FaultOutcome& faults) {
  if (faults.completed) {
    return "completes after " + time_text(faults.end);
  }
  return (faults.hangs ? "hangs; first failure after " : "given up after ") + time_text(faults.end);
}

}  // namespace

std::string wrap(const std::string& lead, const std::string& text, std::size_t indent) {
  std::string result;
  std::string line = lead;
  for (const std::string_view word : split_blanks(text)) {
    if (line.size() + 1 + word.size() > kWidth && line.size() > indent) {
      result += line + "\n";
      line = std::string(indent, ' ');
    }
    if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
    line += word;
  }
  return result + line + "\n";
}

std::string faults_text(const SizeResult& size) {
  if (!size.chosen.faults) {
    return "";
  }
  const FaultOutcome& faults = *size.chosen.faults;
  std::string text =
      wrap("  events ",
           fmt::format("{} by {}/{} {}: {} bytes asked, {} arrived, {} lost", to_string(size.bytes),
                       collectives::to_string(size.chosen.algorithm),
                       params::to_string(size.chosen.protocol), end_text(faults),
                       faults.asked.count(), faults.arrived.count(), faults.lost.count()),
           9);
  for (const Entry& entry : entries_of(faults)) {
    text += wrap(fmt::format("    {:>12}  ", time_text(entry.at)), entry.text, 18);
  }
  return text;
}

std::string hottest_text(const SizeResult& size, const std::string& lead) {
  if (size.chosen.hottest.empty()) {
    return "";
  }
  std::string text = fmt::format("{}hottest links of {}\n", lead, to_string(size.bytes));
  for (const HotLink& link : size.chosen.hottest) {
    std::vector<std::string> users;
    for (const auto& [from, to] : link.users) {
      if (users.size() == kMostConnections) {
        users.push_back(fmt::format("{} more", link.users.size() - kMostConnections));
        break;
      }
      users.push_back(fmt::format("{} -> {}", from.value(), to.value()));
    }
    const std::string line =
        fmt::format("{} {:.1f} % of {:.2f} GB/s: ranks {}", link.link, link.utilization * 100,
                    link.capacity.as_gigabytes_per_second(), join(users, ", "));
    text += wrap(lead + "  ", line, lead.size() + 4);
  }
  return text;
}

std::optional<std::int32_t> checked_hottest(const std::optional<std::int64_t>& asked) {
  constexpr std::int64_t kMost = 10000;
  if (asked && (*asked < 0 || *asked > kMost)) {
    throw InputError(fmt::format("--hottest must be from 0 to {}, found {}", kMost, *asked));
  }
  return asked ? std::optional(static_cast<std::int32_t>(*asked)) : std::nullopt;
}

}  // namespace busbw::tools
