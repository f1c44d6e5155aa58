// `busbw accuracy RECORDS.json`: predicted against measured bus bandwidth.
#pragma once
#include <string>
#include <vector>

#include "tools/console.h"

namespace busbw::tools {

struct AccuracyOptions {
  std::vector<std::string> records;  // JSON files
  std::string groups;    // JSON file; empty: comparison-groups.json beside the first file, if there
  std::string json;      // file for JSON, "-" for stdout in place of the tables
  std::string csv;       // file for CSV, "-" for stdout in place of the tables
  std::string markdown;  // file for the page of figures
  std::string plots;     // folder for SVG files, which the page shows
  std::string fold_by;   // "site", or empty
  std::string folds = "5";
  bool refit = false;  // with fold_by: fitted parameters anew on the other folds
  std::string engine = "auto";
  bool brief = false;  // classes and totals alone
};

/// Predicts every point of the records and prints errors per record, class and in all. Throws
/// InputError with every problem of the files.
int accuracy(const AccuracyOptions& options, Console& console);

}  // namespace busbw::tools
