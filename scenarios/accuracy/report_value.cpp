// See report_value.h.
#include "scenarios/accuracy/report_value.h"

#include <fmt/format.h>

#include "scenarios/result_value.h"

namespace busbw::scenarios::accuracy {
namespace {

Value texts(const std::vector<std::string>& list) {
  Value array = Value::array();
  for (const std::string& text : list) {
    array.push(text);
  }
  return array;
}

Value or_null(const std::optional<double>& number) {
  return number ? Value(*number) : Value();
}
Value or_null(const std::optional<bool>& flag) {
  return flag ? Value(*flag) : Value();
}
Value or_null(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}

Value count(std::size_t number) {
  return static_cast<std::int64_t>(number);
}

Value figures_value(const ErrorFigures& figures) {
  Value value = Value::object();
  value.set("points", count(figures.points))
      .set("median", or_null(figures.median))
      .set("p90", or_null(figures.p90));
  return value;
}

void set_figures(const BandFigures& figures, Value& value) {
  for (const Band band : {Band::kLarge, Band::kMedium, Band::kSmall}) {
    value.set(to_string(band), figures_value(figures.at(static_cast<std::size_t>(band))));
  }
}

Value counts_value(const Counts& counts) {
  Value value = Value::object();
  value.set("records", count(counts.records))
      .set("collectives", count(counts.collectives))
      .set("collectives_modelled", count(counts.collectives_modelled))
      .set("judged_records", count(counts.judged_records))
      .set("judged_modelled", count(counts.judged_modelled))
      .set("rounding_only_rows", count(counts.rounding_only))
      .set("noisy_sizes", count(counts.noisy))
      .set("sizes_with_a_stand_in", count(counts.standing_in));
  return value;
}

Value point_value(const PointResult& point) {
  Value value = Value::object();
  value.set("bytes", point.bytes.count())
      .set("measured_GBps", point.measured_GBps)
      .set("predicted_GBps", or_null(point.predicted_GBps));
  if (point.noisy) {
    value.set("noisy", true);
  }
  if (!point.choice.empty()) {
    value.set("choice", point.choice).set("channels", point.channels);
  }
  if (!point.bottleneck.empty()) {
    value.set("bottleneck", point.bottleneck);
  }
  if (!point.stands_for.empty()) {
    value.set("stands_for", point.stands_for);
  }
  if (!point.reason.empty()) {
    value.set("reason", point.reason);
  }
  return value;
}

Value record_value(const RecordResult& record) {
  Value points = Value::array();
  for (const PointResult& point : record.points) {
    points.push(point_value(point));
  }
  Value value = Value::object();
  value.set("id", record.id)
      .set("modelled", record.modelled)
      .set("reason", or_null(record.reason))
      .set("judged", record.judged)
      .set("quality", record.quality)
      .set("source", record.source)
      .set("site", record.site)
      .set("kind", record.kind)
      .set("machine", or_null(record.machine))
      .set("collective", record.collective)
      .set("nodes", record.nodes)
      .set("ranks", record.ranks)
      .set("nccl_version", or_null(record.nccl_version))
      .set("took", or_null(record.took))
      .set("assumptions", texts(record.assumptions))
      .set("rounding_only_rows", record.rounding_only)
      .set("rows_without_size", record.without_size);
  set_figures(record.figures, value);
  value.set("points", std::move(points));
  return value;
}

Value group_value(const GroupResult& group) {
  Value ratios = Value::array();
  for (const MemberRatio& ratio : group.ratios) {
    Value entry = Value::object();
    entry.set("id", ratio.id)
        .set("against", ratio.against)
        .set("bytes", ratio.bytes.count())
        .set("measured_ratio", ratio.measured)
        .set("predicted_ratio", ratio.predicted)
        .set("direction_right", ratio.direction_right)
        .set("error", ratio.error);
    ratios.push(std::move(entry));
  }
  constexpr double kQuarter = 0.25;
  Value value = Value::object();
  value.set("pair", group.name)
      .set("type", or_null(group.type))
      .set("judged", group.judged)
      .set("why_not", or_null(group.why_not))
      .set("directions_right", or_null(group.directions_right()))
      .set("within_25_percent", or_null(group.within(kQuarter)))
      .set("ratios", std::move(ratios))
      .set("without", texts(group.without));
  return value;
}

Value refit_value(const RefitResult& result) {
  Value moved = Value::object();
  for (const auto& [name, factor] : result.moved) {
    moved.set(name, factor);
  }
  Value in_sample = Value::object();
  set_figures(result.in_sample, in_sample);
  Value left_out = Value::object();
  set_figures(result.left_out, left_out);
  Value value = Value::object();
  value.set("fold", result.fold ? Value(*result.fold) : Value())
      .set("moved", std::move(moved))
      .set("unknown", texts(result.unknown))
      .set("in_sample", std::move(in_sample))
      .set("left_out", std::move(left_out));
  return value;
}

}  // namespace

Value report_value(const Report& report) {
  Value overall = Value::object();
  set_figures(report.overall, overall);
  overall.set("from_4_mib", figures_value(report.from_4_mib))
      .set("below_4_mib", figures_value(report.below_4_mib));
  Value files = Value::array();
  for (const FileResult& file : report.files) {
    Value entry = Value::object();
    entry.set("file", file.file).set("records", count(file.records));
    set_figures(file.figures, entry);
    entry.set("from_4_mib", figures_value(file.from_4_mib))
        .set("below_4_mib", figures_value(file.below_4_mib));
    files.push(std::move(entry));
  }
  Value classes = Value::array();
  for (const ClassResult& each : report.classes) {
    Value value = Value::object();
    value.set("machine", each.machine)
        .set("collective", each.collective)
        .set("nodes", each.nodes)
        .set("records", texts(each.records));
    set_figures(each.figures, value);
    classes.push(std::move(value));
  }
  Value records = Value::array();
  for (const RecordResult& record : report.records) {
    records.push(record_value(record));
  }
  Value groups = Value::array();
  for (const GroupResult& group : report.groups) {
    groups.push(group_value(group));
  }
  Value value = Value::object();
  value.set("schema", "busbw.accuracy/1")
      .set("counts", counts_value(report.counts))
      .set("overall", std::move(overall))
      .set("files", std::move(files))
      .set("classes", std::move(classes))
      .set("records", std::move(records))
      .set("groups", std::move(groups));
  if (!report.folds.empty()) {
    Value folds = Value::array();
    for (const FoldResult& fold : report.folds) {
      Value entry = Value::object();
      entry.set("fold", fold.fold)
          .set("sites", texts(fold.sites))
          .set("records", texts(fold.records));
      set_figures(fold.figures, entry);
      folds.push(std::move(entry));
    }
    value.set("folds", std::move(folds));
  }
  if (!report.refitted.empty()) {
    Value refitted = Value::array();
    for (const RefitResult& result : report.refitted) {
      refitted.push(refit_value(result));
    }
    value.set("refitted", std::move(refitted));
  }
  return value;
}

std::string report_csv(const Report& report) {
  std::string text =
      "id,machine,collective,nodes,ranks,quality,judged,bytes,measured_GBps,predicted_GBps,error,"
      "noisy,choice,channels,stands_for,reason\n";
  for (const RecordResult& record : report.records) {
    for (const PointResult& point : record.points) {
      const std::optional<double> error = point.error();
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(record.id),
                          csv_field(record.machine), record.collective, record.nodes, record.ranks,
                          record.quality, record.judged ? 1 : 0, point.bytes.count(),
                          point.measured_GBps,
                          point.predicted_GBps ? fmt::format("{}", *point.predicted_GBps) : "",
                          error ? fmt::format("{:.6g}", *error) : "", point.noisy ? 1 : 0,
                          point.choice, point.channels, point.stands_for, csv_field(point.reason));
    }
  }
  return text;
}

}  // namespace busbw::scenarios::accuracy
