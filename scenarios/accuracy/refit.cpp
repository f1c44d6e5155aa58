// See refit.h.
#include "scenarios/accuracy/refit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "scenarios/accuracy/describe.h"
#include "sim/core/check.h"

namespace busbw::scenarios::accuracy {
namespace {

using params::Protocol;
using params::Transports;
using topologies::Catalog;

constexpr std::int32_t kHopper = 90;
constexpr std::int32_t kBlackwell = 100;

Ratio ratio_of(double factor) {
  constexpr std::int64_t kParts = 1000;
  return {std::llround(factor * static_cast<double>(kParts)), kParts};
}
void multiply(Duration& value, double factor) {
  value = Duration::picoseconds(scale(value.ps(), ratio_of(factor)));
}
void multiply(Bandwidth& value, double factor) {
  value = value * ratio_of(factor);
}
/// A share stays at most 1.
void multiply_share(Ratio& value, double factor) {
  const Ratio by = ratio_of(factor);
  value = {value.numerator * by.numerator, value.denominator * by.denominator};
  value.numerator = std::min(value.numerator, value.denominator);
}
void multiply(Ratio& value, double factor) {
  const Ratio by = ratio_of(factor);
  value = {value.numerator * by.numerator, value.denominator * by.denominator};
}

/// Does `change` to the rows of thread blocks from compute capability `from` on, below `below`.
template <class Change>
void change_blocks(Transports& transports, std::int32_t from, std::int32_t below,
                   const Change& change) {
  for (params::BlockSpeed& block : transports.blocks.speeds) {
    if (block.sm >= from && block.sm < below) {
      change(block);
    }
  }
}

std::size_t at(Protocol protocol) {
  return static_cast<std::size_t>(protocol);
}

/// What decides whether a parameter concerns a record.
struct Facts {
  explicit Facts(const Catalog& of) : catalog(of) {}
  const Catalog& catalog;

  [[nodiscard]] std::int32_t sm(const Record& record) const {
    const topologies::GpuModel* gpu = gpu_in(record.system.gpu, catalog);
    return gpu == nullptr ? 0 : gpu->sm;
  }
  [[nodiscard]] static bool one_host(const Record& record) {
    return record.system.nodes.value_or(1) == 1;
  }
  [[nodiscard]] static bool framework(const Record& record) {
    return record.kind.rfind("torch", 0) == 0;
  }
  [[nodiscard]] static bool nvlink(const Record& record) {
    return !record.system.intra.nvlink.empty() || !record.system.intra.nv_switch.empty();
  }
  [[nodiscard]] static bool nic(const Record& record, const char* word) {
    return record.system.nic.type.find(word) != std::string::npos;
  }
  [[nodiscard]] static bool condition(const Record& record, const char* name, const char* value) {
    const auto found = record.system.conditions.find(name);
    return found != record.system.conditions.end() && found->second == value;
  }
};

void add_host_work(const Facts& facts, std::vector<FittedParameter>& list) {
  list.push_back({"host.launch",
                  [](double f, Transports& t, Catalog&) { multiply(t.host.launch, f); },
                  [](const Record& r, Bytes bytes) {
                    return Facts::one_host(r) && !Facts::framework(r) && bytes < Bytes::mib(1);
                  }});
  list.push_back(
      {"host.per_channel_uploaded",
       [](double f, Transports& t, Catalog&) { multiply(t.host.per_channel_uploaded, f); },
       [facts](const Record& r, Bytes bytes) {
         return Facts::one_host(r) && facts.sm(r) < kHopper && bytes <= Bytes::mib(64);
       }});
  list.push_back({"host.timed_alone",
                  [](double f, Transports& t, Catalog&) { multiply(t.host.timed_alone, f); },
                  [](const Record& r, Bytes bytes) {
                    return Facts::framework(r) && bytes <= Bytes::mib(256);
                  }});
  list.push_back(
      {"host.flag_check", [](double f, Transports& t, Catalog&) { multiply(t.host.flag_check, f); },
       [](const Record& r, Bytes bytes) { return !Facts::one_host(r) && bytes <= Bytes::mib(4); },
       Protocol::kLowLatency});
}

void add_blocks(const Facts& facts, std::vector<FittedParameter>& list) {
  const auto before_hopper = [facts](const Record& r, Bytes) {
    return facts.sm(r) < kHopper && Facts::nvlink(r);
  };
  const auto blackwell = [facts](const Record& r, Bytes) { return facts.sm(r) >= kBlackwell; };
  for (const Protocol protocol : {Protocol::kLowLatency128, Protocol::kSimple}) {
    list.push_back({"slower." + params::to_string(protocol) + ", sm below 90",
                    [protocol](double f, Transports& t, Catalog&) {
                      change_blocks(t, 0, kHopper, [&](params::BlockSpeed& block) {
                        multiply(block.slower[at(protocol)], f);
                      });
                    },
                    before_hopper, protocol});
  }
  list.push_back({"slower.Simple, sm 100",
                  [](double f, Transports& t, Catalog&) {
                    change_blocks(t, kBlackwell, 1000, [&](params::BlockSpeed& block) {
                      multiply(block.slower[at(Protocol::kSimple)], f);
                    });
                  },
                  blackwell, Protocol::kSimple});
  list.push_back({"stream.Simple, sm 100",
                  [](double f, Transports& t, Catalog&) {
                    change_blocks(t, kBlackwell, 1000, [&](params::BlockSpeed& block) {
                      multiply(block.stream[at(Protocol::kSimple)], f);
                    });
                  },
                  blackwell, Protocol::kSimple});
  list.push_back({"nvlink_share, sm 80",
                  [](double f, Transports& t, Catalog&) {
                    change_blocks(t, 80, kHopper, [&](params::BlockSpeed& block) {
                      if (block.nvlink_share) {
                        multiply_share(*block.nvlink_share, f);
                      }
                    });
                  },
                  before_hopper, std::nullopt});
  list.push_back(
      {"stores_wait",
       [](double f, Transports& t, Catalog&) { multiply_share(t.blocks.stores_wait, f); },
       // Of more hosts the links between them hide it, and playing them takes minutes.
       [](const Record& r, Bytes bytes) {
         constexpr std::int32_t kHosts = 2;
         return Facts::nvlink(r) && r.system.nodes.value_or(1) <= kHosts && bytes >= Bytes::mib(1);
       },
       std::nullopt});
}

/// Latency of the NICs whose name begins with `model`; records have `word` in the NIC's type.
FittedParameter nic_latency(const char* model, const char* word) {
  return {std::string(model) + ", latency",
          [model](double f, Transports&, Catalog& catalog) {
            for (topologies::NicModel& nic : catalog.nics) {
              if (nic.name.rfind(model, 0) == 0) {
                multiply(nic.latency, f);
              }
            }
          },
          [word](const Record& r, Bytes bytes) {
            return !Facts::one_host(r) && Facts::nic(r, word) && bytes <= Bytes::mib(256);
          }};
}

void add_networks(std::vector<FittedParameter>& list) {
  list.push_back(
      {"rdma.latency.LL128",
       [](double f, Transports& t, Catalog&) {
         multiply(t.rdma.latency[at(Protocol::kLowLatency128)], f);
       },
       [](const Record& r, Bytes bytes) { return !Facts::one_host(r) && bytes <= Bytes::mib(256); },
       Protocol::kLowLatency128});
  list.push_back({"rdma.share.LL128",
                  [](double f, Transports& t, Catalog&) {
                    multiply_share(t.rdma.share[at(Protocol::kLowLatency128)], f);
                  },
                  [](const Record& r, Bytes) { return !Facts::one_host(r); },
                  Protocol::kLowLatency128});
  list.push_back(nic_latency("EFA", "EFA"));
  list.push_back(nic_latency("ConnectX-7 gIB", "gIB"));
  list.push_back(nic_latency("gVNIC TCPXO", "TCPXO"));
}

void add_host_memory(std::vector<FittedParameter>& list) {
  list.push_back(
      {"pcie.host_both_ways",
       [](double f, Transports& t, Catalog&) { multiply_share(t.pcie_share.host_both_ways, f); },
       [](const Record& r, Bytes) { return Facts::one_host(r) && !Facts::nvlink(r); }});
  const auto redirected = [](const Record& r, Bytes) {
    return Facts::condition(r, "acs", "redirect") || r.system.conditions.count("gpu_nic_path") > 0;
  };
  list.push_back({"pcie.peer_reads",
                  [](double f, Transports& t, Catalog&) { multiply(t.pcie_share.peer_reads, f); },
                  redirected});
  list.push_back(
      {"pcie.peers_across_sockets",
       [](double f, Transports& t, Catalog&) { multiply(t.pcie_share.peers_across_sockets, f); },
       [](const Record& r, Bytes) { return Facts::condition(r, "gpu_nic_path", "SYS"); }});
  list.push_back(
      {"pcie.translated",
       [](double f, Transports& t, Catalog&) { multiply(t.pcie_share.translated, f); },
       [](const Record& r, Bytes) { return Facts::condition(r, "iommu", "translated"); }});
  list.push_back({"Omni-Path HFI1, software_verbs",
                  [](double f, Transports&, Catalog& catalog) {
                    for (topologies::NicModel& nic : catalog.nics) {
                      if (nic.software_verbs) {
                        multiply(*nic.software_verbs, f);
                      }
                    }
                  },
                  [](const Record& r, Bytes) { return Facts::nic(r, "Omni-Path"); }});
}

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
      of_site[point.site] += concerns(parameters[parameter], point) ? 1 : 0;
    }
    for (const double factor : refit_factors()) {
      Scaled scaled(library, context);
      parameters[parameter].scale(factor, scaled.transports, scaled.library.catalog);
      const Context with = scaled.context();
      Predictor predictor(scaled.library, with, engine);
      for (std::size_t i = 0; i < points.size(); ++i) {
        const JudgedPoint& point = points[i];
        if (!concerns(parameters[parameter], point)) {
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
  /// What the parameter at this factor adds to log(predicted / measured) of a point.
  [[nodiscard]] double effect(std::size_t parameter, double factor, std::size_t point) const {
    const auto& factors = of_[parameter];
    const auto found = factors.find(factor);
    if (factor == 1 || found == factors.end()) {
      return 0;
    }
    const auto error = found->second.find(point);
    return error == found->second.end() ? 0 : error->second.error - base_.at(point);
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
    for (const auto& [factor, points] : of_[parameter]) {
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

std::vector<FittedParameter> fitted_parameters(const Catalog& catalog) {
  std::vector<FittedParameter> list;
  const Facts facts(catalog);
  add_host_work(facts, list);
  add_blocks(facts, list);
  add_networks(list);
  add_host_memory(list);
  return list;
}

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
