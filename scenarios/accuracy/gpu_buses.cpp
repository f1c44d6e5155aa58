// See gpu_buses.h.
#include "scenarios/accuracy/gpu_buses.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "sim/core/text.h"

namespace busbw::scenarios::accuracy {
namespace {

/// "github.com/a/b:README.md" of "github.com/a/b:README.md (lines 1-9)"; empty: no document.
std::string document_of(const std::string& source) {
  const std::string_view document = trim(std::string_view(source).substr(0, source.find(" (")));
  return std::string(document.find('/') == std::string_view::npos ? "" : document);
}

bool explains(const topologies::CpuModel& cpu, std::int32_t bus) {
  return std::any_of(cpu.root_buses.begin(), cpu.root_buses.end(), [&](std::int32_t root) {
    return bus == root + 1 || bus == root + 3 || bus == root + 4;
  });
}

}  // namespace

std::vector<std::int32_t> buses_in(const std::string& text) {
  for (std::size_t open = text.find('('); open != std::string::npos;
       open = text.find('(', open + 1)) {
    const std::size_t close = std::min(text.find(')', open), text.size());
    const std::string list = lower(text.substr(open + 1, close - open - 1));
    std::vector<std::int32_t> buses;
    std::size_t parts = 0;
    for (const std::string_view part : split(list, ',')) {
      ++parts;
      if (const auto bus = topologies::parse_bus(std::string(trim(part)))) {
        buses.push_back(*bus);
      }
    }
    if (buses.size() == parts) {
      return buses;
    }
  }
  return {};
}

void share_buses(std::vector<Record>& records) {
  std::map<std::pair<std::string, std::string>, std::pair<std::vector<std::int32_t>, std::string>>
      known;
  for (const Record& record : records) {
    const std::string document = document_of(record.source);
    if (!document.empty() && !record.system.gpu_buses.empty()) {
      known.try_emplace({document, record.system.gpu}, record.system.gpu_buses, record.id);
    }
  }
  for (Record& record : records) {
    RecordSystem& system = record.system;
    const auto found = known.find({document_of(record.source), system.gpu});
    if (found != known.end() && system.gpu_buses.empty() && system.pcie.empty() &&
        system.cpu.empty()) {
      system.gpu_buses = found->second.first;
      system.gpu_buses_of = found->second.second;
    }
  }
}

const topologies::CpuModel* cpu_with_buses(const std::vector<std::int32_t>& buses,
                                           const topologies::Catalog& catalog) {
  if (buses.size() < 2) {
    return nullptr;
  }
  const auto found =
      std::find_if(catalog.cpus.begin(), catalog.cpus.end(), [&](const topologies::CpuModel& cpu) {
        return std::all_of(buses.begin(), buses.end(),
                           [&](std::int32_t bus) { return explains(cpu, bus); });
      });
  return found == catalog.cpus.end() ? nullptr : &*found;
}

}  // namespace busbw::scenarios::accuracy
