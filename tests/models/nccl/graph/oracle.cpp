// Loading of records and comparison of decisions.
#include "tests/models/nccl/graph/oracle.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "models/nccl/graph/to_value.h"
#include "sim/core/text.h"
#include "tools/json/json.h"

namespace busbw::nccl::graph {
namespace {

std::string shown(const Value& value) {
  std::string text = json::print(value);
  text.erase(std::remove(text.begin(), text.end(), '\n'), text.end());
  return text.substr(0, 120);
}

/// Place and both values of the first difference, "" when equal.
std::string difference(const Value& want, const Value& got, double tolerance,
                       const std::string& where) {
  if (want.is_number() && got.is_number()) {
    const double a = want.as_number();
    const double b = got.as_number();
    if (std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b)))
      return "";
  } else if (want.is_array() && got.is_array()) {
    if (want.as_array().size() != got.as_array().size()) {
      return fmt::format("{}: {} elements, ours {}", where, want.as_array().size(),
                         got.as_array().size());
    }
    for (std::size_t i = 0; i < want.as_array().size(); i++) {
      const std::string inner = difference(want.as_array()[i], got.as_array()[i], tolerance,
                                           fmt::format("{}[{}]", where, i));
      if (!inner.empty())
        return inner;
    }
    return "";
  } else if (want.is_object() && got.is_object()) {
    for (const auto& [key, value] : want.as_object()) {
      const Value* other = got.find(key);
      if (other == nullptr)
        return where + "." + key + ": missing in ours";
      const std::string inner = difference(value, *other, tolerance, where + "." + key);
      if (!inner.empty())
        return inner;
    }
    for (const auto& [key, value] : got.as_object()) {
      if (want.find(key) == nullptr)
        return where + "." + key + ": only in ours";
    }
    return "";
  } else if (want.is_string() && got.is_string() && want.as_string() == got.as_string()) {
    return "";
  }
  return fmt::format("{}: {}, ours {}", where, shown(want), shown(got));
}

}  // namespace

std::vector<RecordFile> record_files(const std::string& folder, const std::string& sub_folder,
                                     const std::string& topologies) {
  std::vector<RecordFile> files;
  const std::filesystem::path place = std::filesystem::path(folder) / sub_folder;
  if (!std::filesystem::is_directory(place))
    return files;
  for (const auto& entry : std::filesystem::directory_iterator(place)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".json" || name == "index.json")
      continue;
    RecordFile file{entry.path().string(), ""};
    // NAME-NODES[-MORE].json; NAME itself may hold '-'
    std::string stem = entry.path().stem().string();
    while (!stem.empty()) {
      const auto xml = std::filesystem::path(folder) / topologies / (stem + ".xml");
      if (std::filesystem::exists(xml)) {
        file.topology = xml.string();
        break;
      }
      const std::size_t dash = stem.rfind('-');
      stem = dash == std::string::npos ? "" : stem.substr(0, dash);
    }
    files.push_back(file);
  }
  std::sort(files.begin(), files.end(),
            [](const RecordFile& a, const RecordFile& b) { return a.path < b.path; });
  return files;
}

Value load_json(const std::string& path) {
  Problems problems;
  Value value = json::parse(read_file(path), path, problems);
  problems.throw_if_any();
  return value;
}

Element load_topology(const std::string& path) {
  Problems problems;
  Element element = parse_topology(read_file(path), path, problems);
  problems.throw_if_any();
  return element;
}

Value decide_as(const Value& record, const std::string& topology) {
  DecideInput input = equal_hosts(load_topology(topology),
                                  static_cast<int>(record.find("nNodesGiven")->as_integer()));
  input.hosts_per_nvlink_domain = static_cast<int>(record.find("mnnvlDomainNodes")->as_integer());
  input.version = parse_version(record.find("nccl")->as_string()).value();
  if (const Value* environment = record.find("env")) {
    for (const auto& [name, value] : environment->as_object())
      input.environment[name] = value.as_string();
  }
  return to_value(decide(input));
}

std::map<std::string, std::string> compare(const Value& record, const Value& ours,
                                           double tolerance) {
  std::map<std::string, std::string> result;
  const auto field = [&](const std::string& name, const Value* want, const Value* got) {
    if (want != nullptr)
      result[name] = got == nullptr ? "missing in ours" : difference(*want, *got, tolerance, name);
  };
  for (const char* name : {"nRanks", "nNodes", "mnnvl", "gpusPerNode", "system", "paths", "comm",
                           "rings", "trees", "tuning", "choices"})
    field(name, record.find(name), ours.find(name));
  for (const char* name : {"ring", "tree", "nvls"}) {
    const Value* got = ours.find("graphs");
    field(std::string("graphs.") + name, record.find("graphs")->find(name),
          got == nullptr ? nullptr : got->find(name));
  }
  return result;
}

}  // namespace busbw::nccl::graph
