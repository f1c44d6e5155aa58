// See command_calibrate.h.
#include "tools/command_calibrate.h"

#include <unistd.h>

#include <fmt/format.h>

#include "sim/core/text.h"
#include "tools/calibration_order.h"
#include "tools/start_ranks.h"

namespace busbw::tools {
namespace {

/// Flags that say what a scenario says already.
void refuse_with_scenario(const CalibrateOptions& options, Problems& problems) {
  const auto refuse = [&](const char* name, bool given) {
    if (given)
      problems.add({}, fmt::format("{} does not go with a scenario, which says it", name));
  };
  refuse("--network", !options.networks.empty());
  refuse("--method", !options.methods.empty());
  refuse("--devices", !options.devices.empty());
  refuse("--ranks", !options.ranks.empty());
}

PlannedCalibration of_scenario(const CalibrateOptions& options) {
  MeasureOptions measure;
  measure.real = options.real;
  ScenarioFile file = read_scenario_file(options.scenario);
  keep_variants(file.scenario, options.variants);
  std::vector<std::string> remarks;
  const auto place = launched_place();
  PlannedCalibration planned =
      calibration_of(sections_of_scenario(measure, file, remarks), place ? place->size : 2);
  if (planned.order.networks.empty()) {
    throw InputError("no variant of the scenario uses a network" +
                     (remarks.empty() ? std::string() : ": " + join(remarks, "; ")));
  }
  if (place && place->size < planned.ranks) {
    throw InputError(fmt::format("the scenario needs {} ranks, {} started {}", planned.ranks,
                                 place->launcher, place->size));
  }
  return planned;
}

}  // namespace

int calibrate(const CalibrateOptions& options, Console& console) {
  Problems problems;
  real::Task task = read_task(options.real, console.colour_out, problems);
  task.progress = ::isatty(STDERR_FILENO) != 0;
  PlannedCalibration planned;
  if (options.output == "-" && options.real.json == "-")
    problems.add({}, "-o - and --json - would both write to standard output");
  if (options.scenario.empty()) {
    if (!options.variants.empty())
      problems.add({}, "--variant goes with a scenario");
    planned = calibration_of(options, problems);
    problems.throw_if_any();
  } else {
    refuse_with_scenario(options, problems);
    problems.throw_if_any();
    planned = of_scenario(options);
  }
  planned.order.output = options.output;
  planned.order.all_pairs = options.all_pairs;
  task.calibration = planned.order;
  if (launched_place())
    become_rank(task, {});
  return run_here(task, planned.ranks, console);
}

}  // namespace busbw::tools
