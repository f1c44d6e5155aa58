// See refit.h.
#include "scenarios/accuracy/refit.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "scenarios/accuracy/predict.h"
#include "sim/core/check.h"

namespace busbw::scenarios::accuracy {
namespace {

using params::Transports;

/// The catalogue and transports with parameters scaled, and what predicts with them.
struct Scaled {
  Scaled(const Library& of, const Context& context) : library(of), transports(context.transports) {}
  [[nodiscard]] Context context() const { return {library.catalog, transports}; }

  Library library;
  Transports transports;
};

struct JudgedPoint {
  const Record* record = nullptr;
  Bytes bytes;
  double measured = 0;
  double error = 0;  // with the parameters as they are
  std::int32_t fold = 0;
  std::string choice;  // "Ring/Simple"
  std::string site;
};

bool concerns(const FittedParameter& parameter, const JudgedPoint& point) {
  const bool travels =
      !parameter.protocol || point.choice.ends_with("/" + params::to_string(*parameter.protocol));
  return travels && parameter.concerns(*point.record, point.bytes);
}

std::vector<JudgedPoint> judged_points(const std::vector<Record>& records, const Report& report) {
  CHECK(records.size() == report.records.size(), "{} records, {} results", records.size(),
        report.records.size());
  std::map<std::string, std::int32_t> fold_of;
  for (const FoldResult& fold : report.folds) {
    for (const std::string& id : fold.records) {
      fold_of[id] = fold.fold;
    }
  }
  std::vector<JudgedPoint> points;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const RecordResult& result = report.records[i];
    if (!result.judged || !result.modelled) {
      continue;
    }
    for (const PointResult& point : result.points) {
      if (point.predicted_GBps && !point.noisy) {
        points.push_back({&records[i], point.bytes, point.measured_GBps, *point.error(),
                          fold_of.at(result.id), point.choice, result.site});
      }
    }
  }
  return points;
}

/// Jobs of so many ranks take minutes to play; their sites have smaller ones of the same
/// parameters.
bool is_tried(const Record& record) {
  constexpr std::int32_t kMostRanks = 64;
  const std::int32_t ranks = record.system.ranks.value_or(record.system.gpus_per_node.value_or(1) *
                                                          record.system.nodes.value_or(1));
  return ranks <= kMostRanks;
}

/// predicted / measured - 1 of a point; nothing where the scaled parameters allow no prediction.
std::optional<double> error_of(Predictor& predictor, const JudgedPoint& point) {
  if (!predictor.system(*point.record).modelled) {
    return std::nullopt;
  }
  const Prediction& prediction = predictor.predict(*point.record, point.bytes);
  return prediction.result ? std::optional(prediction.result->busbw_GBps / point.measured - 1)
                           : std::nullopt;
}

std::vector<Trial> try_all(const std::vector<FittedParameter>& parameters,
                           const std::vector<JudgedPoint>& points, const Library& library,
                           const Context& context, EngineChoice engine) {
  std::vector<Trial> trials;
  for (std::size_t parameter = 0; parameter < parameters.size(); ++parameter) {
    std::map<std::string, std::int64_t> of_site;
    for (const JudgedPoint& point : points) {
      of_site[point.site] +=
          is_tried(*point.record) && concerns(parameters[parameter], point) ? 1 : 0;
    }
    for (const double factor : refit_factors()) {
      Scaled scaled(library, context);
      parameters[parameter].scale(factor, scaled.transports, scaled.library.catalog);
      const Context with = scaled.context();
      Predictor predictor(scaled.library, with, engine);
      for (std::size_t i = 0; i < points.size(); ++i) {
        const JudgedPoint& point = points[i];
        if (!is_tried(*point.record) || !concerns(parameters[parameter], point)) {
          continue;
        }
        const std::optional<double> error =
            factor == 1 ? std::optional(point.error) : error_of(predictor, point);
        if (error) {
          trials.push_back({parameter, factor, point.fold, *error, i,
                            1 / static_cast<double>(of_site.at(point.site))});
        }
      }
    }
  }
  return trials;
}

/// Parameters chosen together; see the head of refit.h.
class Choice {
 public:
  explicit Choice(std::size_t parameters) : of_(parameters), chosen_(parameters) {}

  void add(const Trial& trial) {
    const double error = std::log1p(trial.error);
    of_.at(trial.parameter)[trial.factor][trial.point] = {error, trial.weight};
    chosen_.at(trial.parameter) = 1;
    if (trial.factor == 1) {
      base_[trial.point] = error;
    }
  }

  [[nodiscard]] std::vector<std::optional<double>> make() {
    constexpr int kRounds = 50;  // each round lessens one sum; 3 to 5 have been enough
    now_ = base_;
    bool moved = true;
    for (int round = 0; round < kRounds && moved; ++round) {
      moved = false;
      for (std::size_t parameter = 0; parameter < of_.size(); ++parameter) {
        moved = (chosen_[parameter] && take_best(parameter)) || moved;
      }
    }
    return chosen_;
  }

 private:
  /// What the parameter at a factor that was played adds to log(predicted / measured) of a point.
  [[nodiscard]] double played_effect(std::size_t parameter, double factor,
                                     std::size_t point) const {
    const auto& points = of_[parameter].at(factor);
    const auto found = points.find(point);
    return found == points.end() ? 0 : found->second.error - base_.at(point);
  }

  /// The same of any factor between two that were played.
  [[nodiscard]] double effect(std::size_t parameter, double factor, std::size_t point) const {
    const auto& factors = of_[parameter];
    if (factors.count(factor) > 0) {
      return played_effect(parameter, factor, point);
    }
    const auto above = factors.upper_bound(factor);
    const auto below = std::prev(above);
    const double share = std::log(factor / below->first) / std::log(above->first / below->first);
    return (1 - share) * played_effect(parameter, below->first, point) +
           share * played_effect(parameter, above->first, point);
  }

  /// The factors that were played, and one between each two.
  [[nodiscard]] std::vector<double> candidates(std::size_t parameter) const {
    std::vector<double> list;
    for (const auto& [factor, points] : of_[parameter]) {
      if (!list.empty()) {
        list.push_back(std::sqrt(list.back() * factor));
      }
      list.push_back(factor);
    }
    return list;
  }

  /// Weighted sum of |log(predicted / measured)| with this factor instead of the one that is
  /// chosen.
  [[nodiscard]] double sum(std::size_t parameter, double factor) const {
    double total = 0;
    for (const auto& [point, played] : of_[parameter].at(1)) {
      total +=
          played.weight * std::abs(now_.at(point) - effect(parameter, *chosen_[parameter], point) +
                                   effect(parameter, factor, point));
    }
    return total;
  }

  /// Whether it moved.
  bool take_best(std::size_t parameter) {
    constexpr double kSame = 1e-9;  // of sums of at most a few hundred logarithms
    double best = 1;
    double least = sum(parameter, best);
    for (const double factor : candidates(parameter)) {
      const double total = sum(parameter, factor);
      const bool nearer = std::abs(std::log(factor)) < std::abs(std::log(best));
      if (total < least - kSame || (nearer && total <= least + kSame)) {
        best = factor;
        least = total;
      }
    }
    const double before = *chosen_[parameter];
    if (best == before) {
      return false;
    }
    for (const auto& [point, played] : of_[parameter].at(1)) {
      now_[point] += effect(parameter, best, point) - effect(parameter, before, point);
    }
    chosen_[parameter] = best;
    return true;
  }

  struct Played {
    double error = 0;  // log(predicted / measured)
    double weight = 1;
  };

  std::vector<std::map<double, std::map<std::size_t, Played>>> of_;  // by factor and point
  std::vector<std::optional<double>> chosen_;
  std::map<std::size_t, double> base_;  // with the catalogue's
  std::map<std::size_t, double> now_;   // with those that are chosen
};

BandFigures figures_of(const Errors& errors) {
  BandFigures figures;
  for (const Band band : {Band::kLarge, Band::kMedium, Band::kSmall}) {
    figures.at(static_cast<std::size_t>(band)) = errors.figures(band);
  }
  return figures;
}

}  // namespace

const std::vector<double>& refit_factors() {
  static const std::vector<double> kFactors = {0.7, 0.85, 1, 1.18, 1.43};
  return kFactors;
}

std::vector<std::optional<double>> best_factors(const std::vector<Trial>& trials,
                                                std::size_t parameters, std::int32_t left_out) {
  Choice choice(parameters);
  for (const Trial& trial : trials) {
    if (trial.fold != left_out) {
      choice.add(trial);
    }
  }
  return choice.make();
}

std::vector<RefitResult> refit(const std::vector<Record>& records, const Report& report,
                               const Library& library, const Context& context,
                               EngineChoice engine) {
  const std::vector<FittedParameter> parameters = fitted_parameters(library.catalog);
  const std::vector<JudgedPoint> points = judged_points(records, report);
  const std::vector<Trial> trials = try_all(parameters, points, library, context, engine);
  std::vector<RefitResult> results;
  Errors left_out_of_all;
  for (const FoldResult& fold : report.folds) {
    RefitResult& result = results.emplace_back();
    result.fold = fold.fold;
    const auto best = best_factors(trials, parameters.size(), fold.fold);
    Scaled scaled(library, context);
    std::vector<std::size_t> moved;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const bool concerned = std::any_of(points.begin(), points.end(), [&](const auto& point) {
        return point.fold == fold.fold && concerns(parameters[i], point);
      });
      if (!best[i]) {
        if (concerned) {
          result.unknown.push_back(parameters[i].name);
        }
        continue;
      }
      if (*best[i] != 1) {
        parameters[i].scale(*best[i], scaled.transports, scaled.library.catalog);
        moved.push_back(i);
        result.moved.emplace_back(parameters[i].name, *best[i]);
      }
    }
    const Context with = scaled.context();
    Predictor predictor(scaled.library, with, engine);
    Errors errors;
    for (const JudgedPoint& point : points) {
      if (point.fold != fold.fold) {
        continue;
      }
      const bool changed = std::any_of(moved.begin(), moved.end(), [&](std::size_t i) {
        return concerns(parameters[i], point);
      });
      const double error = changed ? error_of(predictor, point).value_or(point.error) : point.error;
      errors.add(point.bytes, std::abs(error));
      left_out_of_all.add(point.bytes, std::abs(error));
    }
    result.in_sample = fold.figures;
    result.left_out = figures_of(errors);
  }
  if (!results.empty()) {
    RefitResult& all = results.emplace_back();
    all.in_sample = report.overall;
    all.left_out = figures_of(left_out_of_all);
    const auto best = best_factors(trials, parameters.size(), -1);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (best[i].value_or(1) != 1) {
        all.moved.emplace_back(parameters[i].name, *best[i]);
      }
    }
  }
  return results;
}

}  // namespace busbw::scenarios::accuracy
