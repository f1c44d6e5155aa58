// Records of what NCCL's own code decided, and the field by field comparison with our decision.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "models/nccl/graph/decide.h"
#include "sim/core/value.h"

namespace busbw::nccl::graph {

struct RecordFile {
  std::string path;      // of the JSON
  std::string topology;  // of the XML
};
/// The records below a folder of records, sorted; empty when it is absent.
std::vector<RecordFile> record_files(const std::string& folder, const std::string& sub_folder,
                                     const std::string& topologies);

Value load_json(const std::string& path);
Element load_topology(const std::string& path);

/// Our decision for the same job as a record.
Value decide_as(const Value& record, const std::string& topology);

/// Field -> "" when equal, else where and how it differs. Fields that the record lacks are left
/// out. Numbers may differ by `tolerance`, relatively.
std::map<std::string, std::string> compare(const Value& record, const Value& ours,
                                           double tolerance);

}  // namespace busbw::nccl::graph
