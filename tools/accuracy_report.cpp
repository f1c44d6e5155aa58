// See accuracy_report.h.
#include "tools/accuracy_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/core/text.h"
#include "tools/console.h"
#include "tools/table.h"

namespace busbw::tools {
namespace {

using scenarios::accuracy::Band;
using scenarios::accuracy::BandFigures;
using scenarios::accuracy::ErrorFigures;
using scenarios::accuracy::GroupResult;
using scenarios::accuracy::MemberRatio;
using scenarios::accuracy::RecordResult;
using scenarios::accuracy::Report;

constexpr std::array<Band, 3> kBandOrder = {Band::kLarge, Band::kMedium, Band::kSmall};

const ErrorFigures& in(const BandFigures& figures, Band band) {
  return figures.at(static_cast<std::size_t>(band));
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", *share * 100) : "-";
}

/// "4.2 % / 12.0 % (31)", or "-".
std::string figures_text(const ErrorFigures& figures) {
  return figures.points == 0 ? "-"
                             : fmt::format("{} / {} ({})", percent(figures.median),
                                           percent(figures.p90), figures.points);
}

void add_bands(const BandFigures& figures, std::vector<std::string>& row) {
  for (const Band band : kBandOrder) {
    row.push_back(figures_text(in(figures, band)));
  }
}

/// A table as titles and rows, for both forms.
struct Table {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;
};

void add_band_titles(Table& table) {
  for (const Band band : kBandOrder) {
    table.titles.push_back(range_text(band));
  }
}

std::string markdown(const Table& table) {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) {
      text += " " + cell + " |";
    }
    return text + "\n";
  };
  std::string text = line(table.titles);
  text += line(std::vector<std::string>(table.titles.size(), "---"));
  for (const std::vector<std::string>& row : table.rows) {
    text += line(row);
  }
  return text;
}

std::string plain(const Table& table, bool colour) {
  return format_table(numbers_right(table.titles, table.rows), table.rows, colour);
}

/// The worst point of a record by |error|, as "+12 % at 1 GiB (Ring/Simple)".
std::string worst_text(const RecordResult& record) {
  const scenarios::accuracy::PointResult* worst = nullptr;
  for (const auto& point : record.points) {
    if (point.predicted_GBps && !point.noisy &&
        (worst == nullptr || std::abs(*point.error()) > std::abs(*worst->error()))) {
      worst = &point;
    }
  }
  return worst == nullptr ? ""
                          : fmt::format("{:+.0f} % at {} ({})", *worst->error() * 100,
                                        to_string(worst->bytes), worst->choice);
}

std::string stand_in_text(const RecordResult& record) {
  std::vector<std::string> names;
  for (const auto& point : record.points) {
    if (!point.stands_for.empty() &&
        std::find(names.begin(), names.end(), point.stands_for) == names.end()) {
      names.push_back(point.stands_for);
    }
  }
  return join(names, ", ");
}

Table records_table(const Report& report) {
  Table table;
  table.titles = {"record", "machine", "collective", "nodes", "NCCL", "quality"};
  add_band_titles(table);
  table.titles.insert(table.titles.end(), {"worst point", "stands for"});
  for (const RecordResult& record : report.records) {
    if (!record.modelled) {
      continue;
    }
    std::vector<std::string> row = {
        record.id,           record.machine,
        record.collective,   record.nodes == 0 ? "" : std::to_string(record.nodes),
        record.nccl_version, record.quality};
    add_bands(record.figures, row);
    row.push_back(worst_text(record));
    row.push_back(stand_in_text(record));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table files_table(const Report& report) {
  Table table;
  table.titles = {"file", "records"};
  add_band_titles(table);
  table.titles.insert(table.titles.end(), {">= 4 MiB", "< 4 MiB"});
  for (const auto& file : report.files) {
    std::vector<std::string> row = {file.file, std::to_string(file.records)};
    add_bands(file.figures, row);
    row.push_back(figures_text(file.from_4_mib));
    row.push_back(figures_text(file.below_4_mib));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table classes_table(const Report& report) {
  Table table;
  table.titles = {"machine", "collective", "nodes", "records"};
  add_band_titles(table);
  for (const auto& each : report.classes) {
    std::vector<std::string> row = {each.machine, each.collective, std::to_string(each.nodes),
                                    std::to_string(each.records.size())};
    add_bands(each.figures, row);
    table.rows.push_back(std::move(row));
  }
  std::vector<std::string> all = {"all", "", "", std::to_string(report.counts.judged_modelled)};
  add_bands(report.overall, all);
  table.rows.push_back(std::move(all));
  return table;
}

std::string verdict(const GroupResult& group, const MemberRatio& ratio) {
  constexpr double kAllowed = 0.25;
  std::vector<std::string> words;
  words.emplace_back(ratio.direction_right ? "right" : "wrong");
  if (std::abs(ratio.error) > kAllowed) {
    words.emplace_back("more than 25 % off");
  }
  if (!group.judged) {
    words.push_back("not judged: " + group.why_not);
  }
  return join(words, "; ");
}

Table groups_table(const Report& report) {
  Table table;
  table.titles = {"group",    "record",    "against", "size",
                  "measured", "predicted", "off",     "direction"};
  for (const GroupResult& group : report.groups) {
    for (const MemberRatio& ratio : group.ratios) {
      table.rows.push_back({group.name, ratio.id, ratio.against, to_string(ratio.bytes),
                            fmt::format("{:.3f}", ratio.measured),
                            fmt::format("{:.3f}", ratio.predicted),
                            fmt::format("{:+.1f} %", ratio.error * 100), verdict(group, ratio)});
    }
  }
  return table;
}

struct GroupCount {
  std::size_t judged = 0;
  std::size_t compared = 0;
  std::size_t directions = 0;
  std::size_t within = 0;
};

GroupCount count_groups(const Report& report) {
  constexpr double kAllowed = 0.25;
  GroupCount count;
  for (const GroupResult& group : report.groups) {
    if (!group.judged) {
      continue;
    }
    ++count.judged;
    count.compared += group.directions_right().has_value() ? 1 : 0;
    count.directions += group.directions_right().value_or(false) ? 1 : 0;
    count.within += group.within(kAllowed).value_or(false) ? 1 : 0;
  }
  return count;
}

std::string groups_line(const Report& report) {
  const GroupCount count = count_groups(report);
  return fmt::format(
      "{} judged groups, {} compared: all directions right in {}, all ratios within 25 % in {}",
      count.judged, count.compared, count.directions, count.within);
}

std::vector<std::string> uncompared_lines(const Report& report) {
  std::vector<std::string> lines;
  for (const GroupResult& group : report.groups) {
    for (const std::string& without : group.without) {
      lines.push_back(group.name + ": " + without);
    }
  }
  return lines;
}

Table missing_table(const Report& report) {
  Table table;
  table.titles = {"record", "kind", "why not"};
  for (const RecordResult& record : report.records) {
    if (!record.modelled) {
      table.rows.push_back({record.id, record.kind, record.reason});
    }
  }
  return table;
}

/// Reasons of sizes without a prediction in modelled records, with their number.
std::vector<std::string> size_reasons(const Report& report) {
  std::map<std::string, int> reasons;
  for (const RecordResult& record : report.records) {
    for (const auto& point : record.points) {
      if (record.modelled && !point.predicted_GBps) {
        ++reasons[record.id + ": " + point.reason];
      }
    }
  }
  std::vector<std::string> lines;
  lines.reserve(reasons.size());
  for (const auto& [reason, number] : reasons) {
    lines.push_back(fmt::format("{} ({} size{})", reason, number, number == 1 ? "" : "s"));
  }
  return lines;
}

Table folds_table(const Report& report) {
  Table table;
  table.titles = {"fold", "records", "sites"};
  add_band_titles(table);
  for (const auto& fold : report.folds) {
    std::vector<std::string> row = {std::to_string(fold.fold), std::to_string(fold.records.size()),
                                    join(fold.sites, ", ")};
    add_bands(fold.figures, row);
    table.rows.push_back(std::move(row));
  }
  return table;
}

constexpr const char* kRefitted =
    "Parameters that were fitted on records are fitted on the other folds and predict the sites "
    "that "
    "are left out; in sample: with the catalogue's.";

Table refit_table(const Report& report) {
  Table table;
  table.titles = {"fold", "figures"};
  add_band_titles(table);
  for (const auto& result : report.refitted) {
    const std::string fold = result.fold ? std::to_string(*result.fold) : "all";
    std::vector<std::string> in_sample = {fold, "in sample"};
    add_bands(result.in_sample, in_sample);
    table.rows.push_back(std::move(in_sample));
    std::vector<std::string> left_out = {fold, "left out"};
    add_bands(result.left_out, left_out);
    table.rows.push_back(std::move(left_out));
  }
  return table;
}

/// What each fold's fit changed.
std::vector<std::string> refit_lines(const Report& report) {
  std::vector<std::string> lines;
  for (const auto& result : report.refitted) {
    std::vector<std::string> moved;
    for (const auto& [name, factor] : result.moved) {
      moved.push_back(fmt::format("{} x {:g}", name, factor));
    }
    lines.push_back(fmt::format(
        "{}: {}{}{}", result.fold ? fmt::format("fold {}", *result.fold) : "all sites",
        moved.empty() ? "no parameter moved" : join(moved, ", "),
        result.unknown.empty() ? "" : "; no other site knows of ", join(result.unknown, ", ")));
  }
  return lines;
}

std::string counts_line(const Report& report) {
  const auto& counts = report.counts;
  return fmt::format(
      "{} records, {} of collectives ({} modelled), {} of these of high or medium quality ({} "
      "modelled). Left out: {} rows that are only rounding. Not judged: {} noisy sizes, records of "
      "low quality. {} judged sizes stand in for an algorithm that is not played.",
      counts.records, counts.collectives, counts.collectives_modelled, counts.judged_records,
      counts.judged_modelled, counts.rounding_only, counts.noisy, counts.standing_in);
}

constexpr const char* kCells =
    "Cells: median / 90th percentile of |predicted / measured - 1| of bus bandwidth (sizes).";

constexpr const char* kPageHead =
    "# Accuracy\n\n"
    "Written by `busbw accuracy RECORDS.json ... --fold-by site [--refit] --markdown FILE --plots "
    "FOLDER`; not edited by hand. How records are read and systems built: "
    "[measurement records](formats/measurement-records.md).\n\n"
    "In sample: parameters were chosen with these records at hand. The folds leave out whole "
    "sites; "
    "their own figures stand beside.\n\n";

std::string section(const std::string& title, const std::string& body, bool colour) {
  return body.empty() ? "" : "\n" + bold(title, colour) + "\n" + body;
}

}  // namespace

std::string accuracy_text(const Report& report, const AccuracyTextOptions& options) {
  std::string text = counts_line(report) + "\n" + kCells + "\n";
  if (!options.brief) {
    text += section("Records", plain(records_table(report), options.colour), options.colour);
  }
  text += section("Classes", plain(classes_table(report), options.colour), options.colour);
  text += section("Files", plain(files_table(report), options.colour), options.colour);
  if (!report.groups.empty()) {
    text +=
        section("Groups", plain(groups_table(report), options.colour) + groups_line(report) + "\n",
                options.colour);
  }
  if (!options.brief) {
    std::string lines;
    for (const std::string& line : uncompared_lines(report)) {
      lines += line + "\n";
    }
    text += section("Not compared", lines, options.colour);
  }
  if (!report.folds.empty()) {
    text += section("Folds by site", plain(folds_table(report), options.colour), options.colour);
  }
  if (!report.refitted.empty()) {
    std::string lines;
    for (const std::string& line : refit_lines(report)) {
      lines += line + "\n";
    }
    text += section("Fitted without the fold", plain(refit_table(report), options.colour) + lines,
                    options.colour);
  }
  const Table missing = missing_table(report);
  if (!missing.rows.empty()) {
    text += section("Not modelled", plain(missing, options.colour), options.colour);
  }
  std::string lines;
  for (const std::string& line : size_reasons(report)) {
    lines += line + "\n";
  }
  return text + section("Sizes without a prediction", lines, options.colour);
}

std::string accuracy_markdown(const Report& report, const std::vector<PageImage>& images) {
  std::string text = kPageHead;
  text += counts_line(report) + "\n\n" + kCells + "\n\n## Files\n\n";
  text += markdown(files_table(report)) + "\n## Classes\n\n" + markdown(classes_table(report));
  for (const PageImage& image : images) {
    text += fmt::format("\n![{}]({})\n", image.title, image.path);
  }
  if (!report.groups.empty()) {
    text +=
        "\n## Misconfigured against fixed\n\nRatio of bus bandwidths at the largest common "
        "size. " +
        groups_line(report) + ".\n\n" + markdown(groups_table(report));
    for (const std::string& line : uncompared_lines(report)) {
      text += "\n- " + line;
    }
    text += "\n";
  }
  if (!report.folds.empty()) {
    text += "\n## Folds by site\n\nFigures of each fold's own records.\n\n" +
            markdown(folds_table(report));
  }
  if (!report.refitted.empty()) {
    text += fmt::format("\n## Fitted without the fold\n\n{}\n\n{}", kRefitted,
                        markdown(refit_table(report)));
    for (const std::string& line : refit_lines(report)) {
      text += "\n- " + line;
    }
    text += "\n";
  }
  text += "\n## Records\n\n" + markdown(records_table(report));
  const Table missing = missing_table(report);
  if (!missing.rows.empty()) {
    text += "\n## Not modelled\n\n" + markdown(missing);
  }
  const std::vector<std::string> reasons = size_reasons(report);
  if (!reasons.empty()) {
    text += "\n## Sizes without a prediction\n";
    for (const std::string& line : reasons) {
      text += "\n- " + line;
    }
    text += "\n";
  }
  text += "\n## Sources and assumptions\n";
  for (const RecordResult& record : report.records) {
    if (record.modelled) {
      text += fmt::format("\n- {}: {}{}{}", record.id, record.source,
                          record.assumptions.empty() ? "" : "; ", join(record.assumptions, "; "));
    }
  }
  return text + "\n";
}

}  // namespace busbw::tools
