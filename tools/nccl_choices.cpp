// Two tables for people.
#include "tools/nccl_choices.h"

#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "models/nccl/graph/choice_ranges.h"
#include "sim/core/text.h"
#include "tools/console.h"
#include "tools/table.h"

namespace busbw::tools {
namespace {

using nccl::graph::Algorithm;
using nccl::graph::Choice;
using nccl::graph::ChoiceRange;
using nccl::graph::Collective;
using nccl::graph::Cost;
using nccl::graph::Decision;
using nccl::graph::kAlgorithms;
using nccl::graph::kCollectives;
using nccl::graph::kProtocols;
using nccl::graph::Protocol;

// In the order in which people ask for them.
constexpr std::array<Collective, kCollectives> kOrder{
    Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
    Collective::kBroadcast, Collective::kReduce};

using Rows = std::vector<std::vector<std::string>>;

/// 1048576 as "1 MiB", 1048580 as "1048580": a size that is no round number keeps its bytes.
std::string size_text(std::int64_t bytes) {
  static constexpr std::array<const char*, 4> kUnits{"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes % 1024 == 0 && bytes != 0) {
    bytes /= 1024;
    unit++;
  }
  return fmt::format("{} {}", bytes, kUnits.at(unit));
}

std::string name(const Choice& choice) {
  return fmt::format("{} {}", to_string(choice.algorithm), to_string(choice.protocol));
}

/// Microseconds with three digits that mean something.
std::string time_text(float us) {
  return us < 100 ? fmt::format("{:.1f}", us) : fmt::format("{:.0f}", us);
}

std::vector<std::string> row_of(const ChoiceRange& range) {
  std::vector<std::string> row{size_text(range.from), size_text(range.to)};
  if (range.middle.empty()) {
    for (const char* cell : {"none", "-", "-", "-", "-", "-"})
      row.emplace_back(cell);
    return row;
  }
  const Choice& best = range.middle.front();
  const int least = range.first.front().channels;
  const int most = range.last.front().channels;
  row.push_back(name(best));
  row.push_back(least == most ? std::to_string(most) : fmt::format("{}-{}", least, most));
  row.push_back(size_text(best.bytes));
  row.push_back(time_text(best.time_us));
  const bool alone = range.middle.size() < 2;
  row.push_back(alone ? "-" : name(range.middle[1]));
  row.push_back(alone ? "-" : time_text(range.middle[1].time_us));
  return row;
}

}  // namespace

std::string nccl_costs(const Decision& decision, bool colour) {
  Rows rows;
  for (const Collective collective : kOrder) {
    for (std::size_t a = 0; a < kAlgorithms; a++) {
      const auto algorithm = static_cast<Algorithm>(a);
      std::vector<std::string> row{to_string(collective), to_string(algorithm)};
      bool any = false;
      for (std::size_t p = 0; p < kProtocols; p++) {
        const Cost& cost = decision.tuning.cost(collective, algorithm, static_cast<Protocol>(p));
        const bool usable = cost.bandwidth > 0;
        any = any || usable;
        row.push_back(usable ? fmt::format("{:.1f}", cost.latency_us) : "-");
        row.push_back(usable ? fmt::format("{:.1f}", cost.bandwidth) : "-");
      }
      if (any)
        rows.push_back(std::move(row));
    }
  }
  std::vector<Column> columns{{"collective"}, {"algorithm"}};
  for (const char* protocol : {"LL", "LL128", "Simple"}) {
    columns.push_back({fmt::format("{} us", protocol), Align::kRight});
    columns.push_back({"GB/s", Align::kRight});
  }
  return "\n" + bold("Cost table (latency in us, algorithm bandwidth in GB/s)", colour) + "\n" +
         format_table(columns, rows, colour);
}

std::string nccl_choices(const Decision& decision, bool colour) {
  std::string text =
      "\n" + bold("Choices (float32 sum; gathered size for AllGather and ReduceScatter)", colour) +
      "\n";
  bool none = false;
  for (const Collective collective : kOrder) {
    Rows rows;
    for (const ChoiceRange& range : nccl::graph::choice_ranges(decision.tuning, decision.comm,
                                                               decision.switches, collective)) {
      rows.push_back(row_of(range));
      none = none || range.middle.empty();
    }
    text += (collective == kOrder.front() ? "" : "\n") +
            format_table({{fmt::format("{} from", to_string(collective)), Align::kRight},
                          {"to", Align::kRight},
                          {"choice"},
                          {"channels", Align::kRight},
                          {"at", Align::kRight},
                          {"us", Align::kRight},
                          {"runner-up"},
                          {"us", Align::kRight}},
                         rows, colour);
  }
  return none ? text + "none: the variables leave no algorithm and protocol; such a call fails\n"
              : text;
}

}  // namespace busbw::tools
