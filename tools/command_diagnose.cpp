// Reads the files, finds, prints.
#include "tools/command_diagnose.h"

#include <algorithm>

#include "models/diagnosis/finding.h"
#include "models/diagnosis/rule.h"
#include "sim/core/errors.h"
#include "tools/diagnosis_report.h"
#include "tools/diagnosis_worth.h"
#include "tools/exit_codes.h"
#include "tools/fact_files.h"
#include "tools/files.h"
#include "tools/json/json.h"

namespace busbw::tools {

int diagnose(const DiagnoseOptions& options, Console& console) {
  if (options.kinds) {
    if (!options.paths.empty()) {
      throw InputError("--kinds lists all kinds: it goes without files");
    }
    if (options.json == "-") {
      console.out << json::print(kinds_value());
    } else {
      console.out << kinds_table(console.colour_out);
    }
    return kExitDone;
  }
  if (options.paths.empty()) {
    throw InputError("no file or folder given; see 'busbw diagnose --help'");
  }
  FactFiles files = read_fact_files(options.paths);
  std::vector<diagnosis::Finding> findings = diagnosis::find(files.store);
  add_worth(findings, files.store);
  const bool found = std::any_of(findings.begin(), findings.end(), [](const auto& finding) {
    return finding.confidence != diagnosis::Confidence::kLow;
  });
  if (!options.json.empty() && options.json != "-") {
    write_file(options.json, json::print(diagnosis_value(findings, files)));
  }
  if (options.json == "-") {
    console.out << json::print(diagnosis_value(findings, files));
  } else {
    console.out << diagnosis_text(findings, files, console.colour_out);
  }
  return found ? kExitFinding : kExitDone;
}

}  // namespace busbw::tools
