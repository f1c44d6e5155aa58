// See validation_report.h.
#include "tools/validation_report.h"

#include <fmt/format.h>

#include "tools/console.h"
#include "tools/table.h"

namespace busbw::tools {
namespace {

using scenarios::ValidationPoint;
using scenarios::ValidationRatio;
using scenarios::ValidationResult;

std::string points_text(const ValidationResult& result, bool colour) {
  const std::vector<Column> columns = {{"variant"},
                                       {"collective"},
                                       {"algorithm"},
                                       {"mover"},
                                       {"ranks", Align::kRight},
                                       {"size", Align::kRight},
                                       {"predicted(us)", Align::kRight},
                                       {"measured(us)", Align::kRight},
                                       {"off", Align::kRight},
                                       {"min", Align::kRight},
                                       {"max", Align::kRight},
                                       {"judged"}};
  std::vector<std::vector<std::string>> rows;
  for (const ValidationPoint& point : result.points) {
    rows.push_back({point.variant, point.collective, point.algorithm, point.mover,
                    fmt::format("{}", point.ranks), fmt::format("{}", point.bytes.count()),
                    fmt::format("{:.2f}", point.predicted.as_us()),
                    fmt::format("{:.2f}", point.measured.as_us()),
                    fmt::format("{:+.1f} %", point.error_percent),
                    fmt::format("{:.2f}", point.measured_min.as_us()),
                    fmt::format("{:.2f}", point.measured_max.as_us()),
                    point.judged ? "yes" : "no"});
  }
  return format_table(columns, rows, colour);
}

std::string verdict(bool met, bool colour) {
  return met ? "met" : red("MISSED", colour);
}

}  // namespace

std::string format_validation(const ValidationResult& result, bool colour) {
  std::string text =
      fmt::format("{}\nparameters: {}; engine {}\n",
                  bold(result.title.empty() ? result.scenario : result.title, colour),
                  result.parameters, result.engine);
  for (const std::string& remark : result.remarks)
    text += remark + "\n";
  text += "\n" + points_text(result, colour) + "\n";
  for (const ValidationRatio& ratio : result.ratios) {
    text += fmt::format(
        "bound {}: time of '{}' over '{}' at {} bytes: {:.3f} predicted, {:.3f} measured: {:+.1f} "
        "%, "
        "allowed {:g} %\n",
        verdict(ratio.met, colour), ratio.of, ratio.over, ratio.bytes.count(), ratio.predicted,
        ratio.measured, ratio.error_percent, ratio.allowed_percent);
  }
  if (!result.median_allowed)
    return text + "reported, not judged\n";
  text += fmt::format("bound {}: median error of {} judged points {:.1f} %, allowed {:g} %\n",
                      verdict(result.median_percent <= *result.median_allowed, colour),
                      result.judged, result.median_percent, *result.median_allowed);
  text += fmt::format("bound {}: worst error {:.1f} %, allowed {:g} %\n",
                      verdict(result.worst_percent <= *result.worst_allowed, colour),
                      result.worst_percent, *result.worst_allowed);
  return text;
}

}  // namespace busbw::tools
