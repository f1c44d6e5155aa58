// See assess.h.
#include "scenarios/accuracy/assess.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "scenarios/accuracy/measured.h"
#include "scenarios/accuracy/refit.h"
#include "scenarios/accuracy/site.h"

namespace busbw::scenarios::accuracy {
namespace {

BandFigures figures_of(const Errors& errors) {
  BandFigures figures;
  for (const Band band : {Band::kLarge, Band::kMedium, Band::kSmall}) {
    figures.at(static_cast<std::size_t>(band)) = errors.figures(band);
  }
  return figures;
}

void add_points(const RecordResult& record, Errors& errors) {
  for (const PointResult& point : record.points) {
    if (point.predicted_GBps && !point.noisy) {
      errors.add(point.bytes, std::abs(*point.error()));
    }
  }
}

void fill_prediction(const Prediction& prediction, PointResult& point) {
  point.reason = prediction.reason;
  if (!prediction.result) {
    return;
  }
  const SizeResult& size = *prediction.result;
  point.predicted_GBps = size.busbw_GBps;
  point.choice = fmt::format("{}/{}", collectives::to_string(size.chosen.algorithm),
                             params::to_string(size.chosen.protocol));
  point.channels = size.chosen.channels;
  point.stands_for = size.passed_over.value_or("");
  if (!size.chosen.bottleneck.link.empty()) {
    point.bottleneck = fmt::format("{} {:.0f} %", size.chosen.bottleneck.link,
                                   size.chosen.bottleneck.utilization * 100);
  }
}

RecordResult head_of(const Record& record) {
  RecordResult result;
  result.id = record.id;
  result.source = record.source;
  result.file = record.where.file.substr(record.where.file.rfind('/') + 1);
  result.site = site_of(record);
  result.kind = record.kind;
  result.collective = record.collective;
  result.quality = to_string(record.quality);
  result.nodes = record.system.nodes.value_or(0);
  result.ranks = record.system.ranks.value_or(record.system.gpus_per_node.value_or(0) *
                                              record.system.nodes.value_or(0));
  result.took = record.algorithm;
  return result;
}

void assess_collective(const Record& record, Predictor& predictor, RecordResult& result) {
  const BuiltSystem& built = predictor.system(record);
  result.modelled = built.modelled;
  result.reason = built.reason;
  result.machine = built.machine;
  result.assumptions = built.assumptions;
  const std::optional<collectives::Collective> collective =
      collectives::parse_collective(record.collective);
  const Ratio factor = collective && result.ranks > 1
                           ? collectives::busbw_factor(*collective, result.ranks)
                           : Ratio{};
  const Measured measured = measured_sizes(record, factor);
  result.rounding_only = measured.rounding_only;
  result.without_size = measured.without_size;
  if (built.modelled) {
    result.nccl_version = nccl::to_string(built.variant.version);
  }
  for (const MeasuredSize& size : measured.sizes) {
    PointResult point;
    point.bytes = size.bytes;
    point.measured_GBps = size.busbw_GBps;
    point.noisy = size.noisy;
    if (built.modelled) {
      fill_prediction(predictor.predict(record, size.bytes), point);
    } else {
      point.reason = built.reason;
    }
    result.points.push_back(std::move(point));
  }
}

/// Of a card between two hosts: large messages, many in flight.
void assess_card(const Record& record, const Context& context, RecordResult& result) {
  constexpr Bytes kLarge = Bytes::kib(64);
  const std::optional<double> rate = card_rate(record, context, result.reason);
  for (const RecordPoint& point : record.points) {
    if (!point.bytes || !point.rate_GBps || *point.rate_GBps <= 0) {
      ++result.without_size;
      continue;
    }
    PointResult assessed;
    assessed.bytes = *point.bytes;
    assessed.measured_GBps = *point.rate_GBps;
    assessed.noisy = point.noisy;
    if (rate && *point.bytes >= kLarge) {
      assessed.predicted_GBps = rate;
      result.modelled = true;
    } else {
      assessed.reason = rate ? "what a small message costs a card is not modelled" : result.reason;
    }
    result.points.push_back(std::move(assessed));
  }
  if (!result.modelled && result.reason.empty()) {
    result.reason = "no size of 64 KiB or more: what a small message costs a card is not modelled";
  }
}

RecordResult assess_record(const Record& record, Predictor& predictor, const Context& context) {
  RecordResult result = head_of(record);
  result.is_collective = record.collective != "p2p";
  result.judged = result.is_collective && record.quality != Quality::kLow;
  if (result.is_collective) {
    assess_collective(record, predictor, result);
  } else if (record.kind.rfind("ib_write_bw", 0) == 0 || record.kind.rfind("ib_send_bw", 0) == 0) {
    assess_card(record, context, result);
  } else {
    result.reason = "'" + record.kind + "' measures copies or links by other means than NCCL";
  }
  Errors errors;
  add_points(result, errors);
  result.figures = figures_of(errors);
  return result;
}

std::vector<ClassResult> classes_of(const std::vector<RecordResult>& records) {
  using Key = std::tuple<std::string, std::string, std::int32_t>;
  std::map<Key, Errors> errors;
  std::map<Key, std::vector<std::string>> members;
  for (const RecordResult& record : records) {
    if (record.judged && record.modelled) {
      const Key key{record.machine, record.collective, record.nodes};
      add_points(record, errors[key]);
      members[key].push_back(record.id);
    }
  }
  std::vector<ClassResult> classes;
  classes.reserve(errors.size());
  for (const auto& [key, of_class] : errors) {
    classes.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), members.at(key),
                       figures_of(of_class)});
  }
  return classes;
}

std::vector<FoldResult> folds_of_records(const std::vector<RecordResult>& records,
                                         std::int32_t folds) {
  std::vector<std::string> sites;
  std::vector<std::int64_t> points;
  for (const RecordResult& record : records) {
    sites.push_back(record.site);
    points.push_back(record.judged ? static_cast<std::int64_t>(record.points.size()) : 0);
  }
  const std::vector<std::int32_t> fold = folds_of(sites, points, folds);
  std::vector<FoldResult> results(static_cast<std::size_t>(folds));
  std::vector<Errors> errors(static_cast<std::size_t>(folds));
  std::vector<std::set<std::string>> names(static_cast<std::size_t>(folds));
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto at = static_cast<std::size_t>(fold[i]);
    results[at].records.push_back(records[i].id);
    names[at].insert(sites[i]);
    if (records[i].judged) {
      add_points(records[i], errors[at]);
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].fold = static_cast<std::int32_t>(i);
    results[i].sites.assign(names[i].begin(), names[i].end());
    results[i].figures = figures_of(errors[i]);
  }
  return results;
}

/// Figures from 4 MiB on and below of the judged points of `file`; of all files when it is empty.
std::pair<ErrorFigures, ErrorFigures> limit_figures(const std::vector<RecordResult>& records,
                                                    const std::string& file) {
  constexpr Bytes kLimit = Bytes::mib(4);
  std::vector<double> above;
  std::vector<double> below;
  for (const RecordResult& record : records) {
    if (!record.judged || (!file.empty() && record.file != file)) {
      continue;
    }
    for (const PointResult& point : record.points) {
      if (point.predicted_GBps && !point.noisy) {
        (point.bytes >= kLimit ? above : below).push_back(std::abs(*point.error()));
      }
    }
  }
  return {accuracy::figures_of(above), accuracy::figures_of(below)};
}

/// In order of the first record of each.
std::vector<FileResult> files_of(const std::vector<RecordResult>& records) {
  std::vector<FileResult> files;
  std::map<std::string, Errors> errors;
  std::map<std::string, std::size_t> judged;
  for (const RecordResult& record : records) {
    if (errors.find(record.file) == errors.end()) {
      files.emplace_back();
      files.back().file = record.file;
    }
    Errors& of_file = errors[record.file];
    if (record.judged && record.modelled) {
      ++judged[record.file];
      add_points(record, of_file);
    }
  }
  for (FileResult& file : files) {
    file.records = judged[file.file];
    file.figures = figures_of(errors.at(file.file));
    std::tie(file.from_4_mib, file.below_4_mib) = limit_figures(records, file.file);
  }
  return files;
}

Counts count(const std::vector<RecordResult>& records) {
  Counts counts;
  counts.records = records.size();
  for (const RecordResult& record : records) {
    counts.collectives += record.is_collective ? 1 : 0;
    counts.collectives_modelled += record.is_collective && record.modelled ? 1 : 0;
    counts.judged_records += record.judged ? 1 : 0;
    counts.judged_modelled += record.judged && record.modelled ? 1 : 0;
    counts.rounding_only += static_cast<std::size_t>(record.rounding_only);
    for (const PointResult& point : record.points) {
      counts.noisy += point.noisy ? 1 : 0;
      const bool stands_in = !point.stands_for.empty() && point.predicted_GBps && !point.noisy;
      counts.standing_in += record.judged && stands_in ? 1 : 0;
    }
  }
  return counts;
}

}  // namespace

Report assess(const std::vector<Record>& records, const std::vector<Group>& groups,
              const Library& library, const Context& context, const AssessOptions& options) {
  Report report;
  Predictor predictor(library, context, options.engine);
  Errors all;
  for (const Record& record : records) {
    if (options.progress) {
      options.progress(report.records.size(), records.size(), record.id);
    }
    report.records.push_back(assess_record(record, predictor, context));
    if (report.records.back().judged) {
      add_points(report.records.back(), all);
    }
  }
  report.counts = count(report.records);
  report.overall = figures_of(all);
  std::tie(report.from_4_mib, report.below_4_mib) = limit_figures(report.records, "");
  report.files = files_of(report.records);
  report.classes = classes_of(report.records);
  report.groups = compare_groups(groups, report.records);
  if (options.folds > 0) {
    report.folds = folds_of_records(report.records, options.folds);
    if (options.refit) {
      report.refitted = refit(records, report, library, context, options.engine);
    }
  }
  return report;
}

}  // namespace busbw::scenarios::accuracy
