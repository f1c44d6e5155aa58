// See command_validate.h.
#include "tools/command_validate.h"

#include <algorithm>
#include <cmath>
#include <unistd.h>

#include <fmt/format.h>

#include "scenarios/plan.h"
#include "scenarios/simulate.h"
#include "scenarios/validation.h"
#include "sim/core/check.h"
#include "sim/core/text.h"
#include "tools/calibration_order.h"
#include "tools/engine_kind.h"
#include "tools/exit_codes.h"
#include "tools/files.h"
#include "tools/json/json.h"
#include "tools/start_ranks.h"
#include "tools/validation_report.h"

namespace busbw::tools {
namespace {

using scenarios::ValidationPoint;
using scenarios::Variant;

/// "--hosts 8 --shape rxe0=10mbit": options of tools/soft-roce.
std::string setup_text(const scenarios::Scenario& scenario) {
  if (!scenario.validation || !scenario.validation->soft_roce)
    throw InputError(scenario.file + " has no 'soft_roce' in 'validate': nothing to set up");
  const scenarios::SoftRoce& soft = *scenario.validation->soft_roce;
  std::string text = fmt::format("--hosts {}", soft.hosts);
  for (const scenarios::SoftRoce::Shape& shape : soft.shapes) {
    const std::int64_t kbit = shape.rate.bps() / 1000;
    text += kbit % 1000 == 0 ? fmt::format(" --shape {}={}mbit", shape.device, kbit / 1000)
                             : fmt::format(" --shape {}={}kbit", shape.device, kbit);
  }
  return text + "\n";
}

/// A line on the terminal that the next one replaces; nothing elsewhere.
class Waiting {
 public:
  explicit Waiting(Console& console) : console_(console), shown_(::isatty(STDERR_FILENO) != 0) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { show(""); }
  [[nodiscard]] bool shown() const { return shown_; }
  void show(const std::string& text) {
    if (shown_)
      console_.err << "\r\x1b[K" << text << std::flush;
  }

 private:
  Console& console_;
  bool shown_;
};

class Validator {
 public:
  Validator(const ValidateOptions& options, ScenarioFile file, Console& console)
      : options_(options), file_(std::move(file)), console_(console), waiting_(console) {
    measure_.real = options.real;
    Problems problems;
    task_ = read_task(options.real, false, problems);
    calibration_iterations_ = static_cast<std::int32_t>(
        read_number("--calibration-iters", options.calibration_iterations, 1, 1'000'000, problems));
    sizes_ = read_sizes(options.real, problems);
    problems.throw_if_any();
    task_.quiet = true;
    task_.json.clear();
    task_.progress = waiting_.shown();
  }

  /// The exit code when ranks failed; nothing when all went well.
  std::optional<int> run(scenarios::EngineChoice engine) {
    for (Variant& variant : file_.scenario.variants) {
      if (!sizes_.empty())
        variant.workload.sizes = sizes_;
    }
    sections_ = sections_of_scenario(measure_, file_, remarks_);
    if (sections_.empty())
      throw InputError("no variant of the scenario runs: " + join(remarks_, "; "));
    task_.sections = sections_;
    check_schedules(task_);
    if (const std::optional<int> failed = calibrate())
      return failed;
    predict(engine);
    return measure();
  }

  scenarios::ValidationResult result(const std::string& engine) {
    scenarios::ValidationResult result =
        scenarios::judge(std::move(points_), file_.scenario.validation);
    result.scenario = file_.scenario.name;
    result.title = file_.scenario.title;
    result.engine = engine;
    result.parameters = parameters_;
    result.remarks.insert(result.remarks.begin(), remarks_.begin(), remarks_.end());
    return result;
  }

  [[nodiscard]] bool wrong() const { return wrong_; }

 private:
  /// Parameters for the variants that have none.
  std::optional<int> calibrate() {
    std::vector<Variant>& variants = file_.scenario.variants;
    const auto has = [](const Variant& variant) { return variant.parameters.has_value(); };
    if (std::all_of(variants.begin(), variants.end(), has)) {
      parameters_ = variants.front().parameters->file;
      return std::nullopt;
    }
    PlannedCalibration planned = calibration_of(sections_);
    if (planned.order.networks.empty())
      throw InputError("no variant of the scenario uses a network: nothing to calibrate");
    const SharedFile yaml("busbw-parameters");
    planned.order.output = yaml.path();
    real::Task task = task_;
    task.sections.clear();
    task.calibration = planned.order;
    task.iterations = calibration_iterations_;
    const int status = run_here(task, planned.ranks, console_);
    if (status != kExitDone)
      return status;
    const std::string text = read_file(yaml.path());
    Problems problems;
    const params::Measured measured =
        params::parse_measured(text, "the parameters measured now", problems);
    CHECK(problems.empty(), "{}", to_string(problems.all().front()));
    if (!options_.output.empty())
      write_file(options_.output, text);
    for (Variant& variant : variants) {
      if (!variant.parameters)
        variant.parameters = measured;
    }
    parameters_ = measured.source;
    return std::nullopt;
  }

  [[nodiscard]] const Variant& variant_of(const real::Section& section) const {
    const std::vector<Variant>& variants = file_.scenario.variants;
    const auto found = std::find_if(variants.begin(), variants.end(), [&](const Variant& variant) {
      return variant.name == section.title;
    });
    CHECK(found != variants.end(), "variant '{}'", section.title);
    return *found;
  }

  void predict(scenarios::EngineChoice engine) {
    for (const real::Section& section : sections_) {
      waiting_.show("predicting " + section.title);
      Variant variant = variant_of(section);
      variant.workload.sizes.clear();
      for (const real::MeasurePoint& point : section.points)
        variant.workload.sizes.push_back(point.options.bytes);
      const scenarios::Job job = decide(variant, file_.library.catalog);
      const scenarios::Plan plan = make_plan(variant, job);
      Fingerprint fingerprint;
      const std::vector<scenarios::SizeResult> sizes = simulate_sizes(
          variant, plan, {file_.library.catalog, file_.transports}, engine, fingerprint);
      for (const scenarios::SizeResult& size : sizes) {
        ValidationPoint& point = points_.emplace_back();
        point.variant = variant.name;
        point.collective = collectives::to_string(size.collective);
        point.algorithm = collectives::to_string(size.chosen.algorithm);
        // Without a network between hosts only memory is left.
        point.mover = to_string(plan.measured ? plan.measured->mover : params::MoverKind::kShared);
        point.ranks = plan.shape.ranks;
        point.bytes = size.bytes;
        point.predicted = size.chosen.time;
      }
    }
    waiting_.show("");
  }

  /// Sections of equal numbers of ranks are measured by one start.
  std::optional<int> measure() {
    std::size_t next_point = 0;
    for (std::size_t first = 0; first < sections_.size();) {
      std::size_t last = first;
      while (last < sections_.size() && sections_[last].shape.ranks == sections_[first].shape.ranks)
        ++last;
      real::Task task = task_;
      task.sections.assign(sections_.begin() + static_cast<std::ptrdiff_t>(first),
                           sections_.begin() + static_cast<std::ptrdiff_t>(last));
      const SharedFile json("busbw-measured");
      task.json = json.path();
      const int status = run_here(task, sections_[first].shape.ranks, console_);
      if (status != kExitDone && status != kExitFinding)
        return status;
      wrong_ = wrong_ || status == kExitFinding;
      next_point = take_measured(read_file(json.path()), next_point);
      first = last;
    }
    return std::nullopt;
  }

  /// Takes the times of measured_value() into the points from `next` on; returns the next one.
  std::size_t take_measured(const std::string& text, std::size_t next) {
    Problems problems;
    const Value value = json::parse(text, "the measurement", problems);
    CHECK(problems.empty(), "{}", to_string(problems.all().front()));
    const auto time = [](const Value& times, const char* key) {
      return Duration::picoseconds(std::llround(times.find(key)->as_number() * 1e6));
    };
    for (const Value& section : value.find("sections")->as_array()) {
      for (const Value& row : section.find("results")->as_array()) {
        ValidationPoint& point = points_.at(next++);
        CHECK(point.bytes.count() == row.find("bytes")->as_integer(), "{} of {}",
              point.bytes.count(), point.variant);
        const Value& times = *row.find("time_us");
        point.measured_min = time(times, "min");
        point.measured = time(times, "median");
        point.measured_max = time(times, "max");
        if (row.find("wrong")->as_integer() > 0) {
          remarks_.push_back(fmt::format("{} of {} bytes: {} elements are wrong", point.variant,
                                         point.bytes.count(), row.find("wrong")->as_integer()));
        }
      }
    }
    return next;
  }

  const ValidateOptions& options_;
  ScenarioFile file_;
  Console& console_;
  Waiting waiting_;
  MeasureOptions measure_;
  real::Task task_;
  std::int32_t calibration_iterations_ = 0;
  std::vector<Bytes> sizes_;
  std::vector<real::Section> sections_;
  std::vector<std::string> remarks_;
  std::vector<ValidationPoint> points_;
  std::string parameters_;
  bool wrong_ = false;
};

void check_outputs(const ValidateOptions& options) {
  Problems problems;
  if (options.real.json == "-" && options.csv == "-")
    problems.add({}, "--json - and --csv - would both write to standard output");
  if (options.output == "-")
    problems.add({}, "-o needs the name of a file: standard output is the report's");
  if (!options.output.empty() && !options.parameters.empty())
    problems.add({}, "-o writes what was measured, --parameters measures nothing");
  if (launched_place()) {
    problems.add({},
                 "validate starts its ranks itself: run it without mpirun, srun or torchrun, or "
                 "'busbw calibrate' and 'busbw measure' under them");
  }
  problems.throw_if_any();
}

}  // namespace

int validate(const ValidateOptions& options, Console& console) {
  const scenarios::EngineChoice engine = engine_choice(options.engine);
  ScenarioFile file = read_scenario_file(options.scenario, options.parameters);
  if (options.setup) {
    console.out << setup_text(file.scenario);
    return kExitDone;
  }
  check_outputs(options);
  keep_variants(file.scenario, options.variants);
  Validator validator(options, std::move(file), console);
  if (const std::optional<int> failed = validator.run(engine))
    return *failed;
  const scenarios::ValidationResult result = validator.result(options.engine);
  const std::string json =
      options.real.json.empty() ? "" : json::print(scenarios::to_value(result));
  const std::string csv = options.csv.empty() ? "" : scenarios::to_csv(result);
  if (!options.real.json.empty() && options.real.json != "-")
    write_file(options.real.json, json);
  if (!options.csv.empty() && options.csv != "-")
    write_file(options.csv, csv);
  if (options.real.json == "-") {
    console.out << json;
  } else if (options.csv == "-") {
    console.out << csv;
  } else {
    console.out << format_validation(result, console.colour_out);
  }
  return result.met && !validator.wrong() ? kExitDone : kExitFinding;
}

}  // namespace busbw::tools
