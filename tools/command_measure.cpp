// See command_measure.h.
#include "tools/command_measure.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/collectives/make_schedule.h"
#include "sim/core/text.h"
#include "tools/command_micro.h"
#include "tools/start_ranks.h"

namespace busbw::tools {
namespace {

/// Flags that say what a scenario says already.
void refuse_with_scenario(const MeasureOptions& options, Problems& problems) {
  const auto refuse = [&](const char* name, bool given) {
    if (given)
      problems.add({}, fmt::format("{} does not go with a scenario, which says it", name));
  };
  refuse("--collective", !options.collectives.empty());
  refuse("--algorithm", !options.algorithms.empty());
  refuse("--ranks", !options.ranks.empty());
  refuse("--hosts", !options.hosts.empty());
  refuse("--channels", !options.channels.empty());
  refuse("--chunk", !options.chunk.empty());
  refuse("--slots", !options.slots.empty());
  refuse("--type", !options.type.empty());
  refuse("--root", !options.root.empty());
}

std::int32_t common_ranks(const real::Task& task) {
  const std::int32_t ranks = task.sections.front().shape.ranks;
  for (const real::Section& section : task.sections) {
    if (section.shape.ranks != ranks) {
      throw InputError(fmt::format("'{}' has {} ranks and '{}' {}: choose by --variant",
                                   task.sections.front().title, ranks, section.title,
                                   section.shape.ranks));
    }
  }
  return ranks;
}

}  // namespace

void check_schedules(const real::Task& task) {
  for (const real::Section& section : task.sections) {
    for (const real::MeasurePoint& point : section.points) {
      const collectives::Schedule schedule = make_schedule(request_of(section, point));
      if (schedule.needs_switch()) {
        throw InputError(fmt::format("{} needs a switch that reduces; real mode has ranks alone",
                                     collectives::to_string(point.algorithm)));
      }
    }
  }
}

std::vector<real::VerbsMethod> read_methods(const MeasureOptions& options, Problems& problems) {
  std::vector<real::VerbsMethod> methods;
  for (const std::string& text : options.methods)
    methods.push_back(read_method(text, problems));
  return methods;
}

int measure(const MeasureOptions& options, Console& console) {
  Problems problems;
  real::Task task = read_task(options.real, console.colour_out, problems);
  task.barrier = options.barrier;
  task.in_place = options.in_place;
  if (options.scenario.empty()) {
    if (!options.variants.empty())
      problems.add({}, "--variant goes with a scenario");
    task.sections = sections_of_flags(options, problems);
    problems.throw_if_any();
  } else {
    refuse_with_scenario(options, problems);
    problems.throw_if_any();
    ScenarioFile file = read_scenario_file(options.scenario);
    keep_variants(file.scenario, options.variants);
    task.sections = sections_of_scenario(options, file, task.remarks);
  }
  if (task.sections.empty())
    throw InputError("no variant of the scenario runs: " + join(task.remarks, "; "));
  for (const real::Section& section : task.sections) {
    if (task.in_place && !allows_in_place(section.collective))
      problems.add({}, collectives::to_string(section.collective) + " cannot run --in-place");
  }
  problems.throw_if_any();
  check_schedules(task);
  const std::int32_t ranks = common_ranks(task);
  if (launched_place())
    become_rank(task, {});
  return run_here(task, ranks, console);
}

}  // namespace busbw::tools
