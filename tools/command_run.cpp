// `busbw run`: finds the scenario and its catalogue, simulates, then writes what was asked for.
#include "tools/command_run.h"

#include <algorithm>

#include "scenarios/result_value.h"
#include "scenarios/simulate.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "tools/engine_kind.h"
#include "tools/exit_codes.h"
#include "tools/fault_report.h"
#include "tools/files.h"
#include "tools/json/json.h"
#include "tools/report.h"
#include "tools/scenario_file.h"

namespace busbw::tools {
namespace {

/// Text, since the command line's own reader takes what is too large for the largest number.
std::uint64_t read_seed(const std::string& text) {
  const std::optional<std::int64_t> seed = parse_integer(text);
  if (!seed || *seed < 0) {
    throw InputError("--seed must be a whole number from 0 to 9223372036854775807, found '" + text +
                     "'");
  }
  return static_cast<std::uint64_t>(*seed);
}

bool missed(const scenarios::Result& result) {
  return std::any_of(result.variants.begin(), result.variants.end(), [](const auto& variant) {
    return std::any_of(variant.checks.begin(), variant.checks.end(),
                       [](const scenarios::Check& check) { return !check.met; });
  });
}

}  // namespace

int run(const RunOptions& options, Console& console) {
  scenarios::SimulateOptions simulate_options;
  simulate_options.engine = engine_choice(options.engine);
  simulate_options.log = options.log;
  simulate_options.seed = read_seed(options.seed);
  if (options.json == "-" && options.csv == "-") {
    throw InputError("--json - and --csv - would both write to standard output");
  }
  const ScenarioFile read = read_scenario_file(options.file, options.parameters);
  const scenarios::Result result = scenarios::simulate(
      read.scenario, {read.library.catalog, read.transports, checked_hottest(options.hottest)},
      simulate_options);
  const std::string json = options.json.empty() ? "" : json::print(scenarios::to_value(result));
  const std::string csv = options.csv.empty() ? "" : scenarios::to_csv(result);
  if (!options.json.empty() && options.json != "-") {
    write_file(options.json, json);
  }
  if (!options.csv.empty() && options.csv != "-") {
    write_file(options.csv, csv);
  }
  if (options.json == "-") {
    console.out << json;
  } else if (options.csv == "-") {
    console.out << csv;
  } else {
    console.out << format_report(
        result, {console.colour_out, options.log, options.brief, options.hottest.has_value()});
  }
  return missed(result) ? kExitFinding : kExitDone;
}

}  // namespace busbw::tools
