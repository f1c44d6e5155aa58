// `busbw select --records FILE`: what NCCL selects on the hosts of records, and how fast it then
// is.
#pragma once
#include <string>

#include "tools/console.h"

namespace busbw::tools {

struct SelectOptions {
  std::string records;  // JSON file of records
  std::string json;     // file for the JSON answer, "-" for stdout in place of the table
};

/// Prints a table, or a JSON array with one element per record (models/nccl/select_records.h).
/// Throws InputError with every problem of the file.
int select(const SelectOptions& options, Console& console);

}  // namespace busbw::tools
