// See calibration_order.h.
#include "tools/calibration_order.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/core/text.h"
#include "tools/command_micro.h"
#include "tools/start_ranks.h"

namespace busbw::tools {
namespace {

constexpr std::int64_t kMostRanks = 4096;

/// Adds what is new of `devices`, in order.
void add_devices(std::vector<std::string>& all, const std::vector<std::string>& devices) {
  for (const std::string& device : devices) {
    if (std::find(all.begin(), all.end(), device) == all.end())
      all.push_back(device);
  }
}

bool same_network(const real::NetworkOrder& a, const real::NetworkOrder& b) {
  return a.kind == b.kind && (a.kind != real::NetworkKind::kVerbs || a.method == b.method);
}

/// The network between hosts of a section, as a calibration measures it: every rank on a host of
/// its own.
real::NetworkOrder between_hosts(const real::Section& section) {
  real::NetworkOrder network = section.network;
  network.shared_inside = false;
  network.host_of.clear();
  if (network.kind == real::NetworkKind::kAuto)
    network.kind = real::NetworkKind::kVerbs;
  return network;
}

std::int32_t hosts_of(const collectives::Shape& shape) {
  return static_cast<std::int32_t>(
      std::set<std::int32_t>(shape.host_of.begin(), shape.host_of.end()).size());
}

/// Every rank gets a device; where there are more ranks than devices they repeat.
void spread_devices(PlannedCalibration& planned) {
  for (const real::NetworkOrder& network : planned.order.networks)
    planned.ranks = std::max(planned.ranks, static_cast<std::int32_t>(network.device_of.size()));
  for (real::NetworkOrder& network : planned.order.networks) {
    const std::vector<std::string> devices = network.device_of;
    for (auto rank = devices.size();
         !devices.empty() && rank < static_cast<std::size_t>(planned.ranks); ++rank)
      network.device_of.push_back(devices[rank % devices.size()]);
  }
}

}  // namespace

PlannedCalibration calibration_of(const std::vector<real::Section>& sections, std::int32_t ranks) {
  PlannedCalibration planned;
  planned.ranks = ranks;
  std::vector<real::NetworkOrder>& networks = planned.order.networks;
  bool shared = false;
  for (const real::Section& section : sections) {
    shared = shared || hosts_of(section.shape) < section.shape.ranks;
    if (hosts_of(section.shape) == 1)
      continue;
    planned.ranks = std::max(planned.ranks, hosts_of(section.shape));
    const real::NetworkOrder network = between_hosts(section);
    const auto known = std::find_if(networks.begin(), networks.end(), [&](const auto& other) {
      return same_network(other, network);
    });
    if (known == networks.end()) {
      networks.push_back(network);
      networks.back().device_of.clear();
      add_devices(networks.back().device_of, network.device_of);
    } else if (known->device_of.empty() != network.device_of.empty()) {
      throw InputError(
          fmt::format("variant '{}' {} 'devices' of 'real', and another variant over "
                      "the same network does not do so",
                      section.title, network.device_of.empty() ? "leaves out" : "names"));
    } else {
      add_devices(known->device_of, network.device_of);
    }
  }
  if (shared) {
    real::NetworkOrder memory = sections.front().network;
    memory.kind = real::NetworkKind::kShared;
    memory.host_of.clear();
    memory.device_of.clear();
    networks.push_back(memory);
  }
  spread_devices(planned);
  return planned;
}

PlannedCalibration calibration_of(const CalibrateOptions& options, Problems& problems) {
  PlannedCalibration planned;
  std::vector<std::string> kinds = options.networks;
  if (kinds.empty())
    kinds.push_back(to_string(real::NetworkKind::kVerbs));
  std::vector<std::string> methods = options.methods;
  if (methods.empty())
    methods.push_back("write");
  for (const std::string& kind : kinds) {
    RealOptions real = options.real;
    real.network = kind;
    real::NetworkOrder network = read_network(real, {}, real::NetworkKind::kVerbs, problems);
    if (network.kind == real::NetworkKind::kAuto)
      problems.add({}, "a calibration names its network: 'verbs', 'tcp' or 'shm', not 'auto'");
    network.shared_inside = network.kind == real::NetworkKind::kShared;
    if (network.kind != real::NetworkKind::kShared)
      network.device_of = options.devices;
    for (const std::string& method : methods) {
      network.method = read_method(method, problems);
      planned.order.networks.push_back(network);
      if (network.kind != real::NetworkKind::kVerbs)
        break;  // the method is one of verbs
    }
  }
  if (!options.devices.empty() && kinds.size() > 1)
    problems.add({}, "--devices are those of one network; calibrate the others by themselves");
  const auto place = launched_place();
  const auto devices = static_cast<std::int32_t>(options.devices.size());
  planned.ranks = place ? place->size : std::max(2, devices);
  if (!options.ranks.empty()) {
    const auto asked =
        static_cast<std::int32_t>(read_number("--ranks", options.ranks, 2, kMostRanks, problems));
    if (place && place->size != asked) {
      problems.add({},
                   fmt::format("--ranks {}: {} started {}", asked, place->launcher, place->size));
    }
    planned.ranks = asked;
  }
  if (devices > planned.ranks)
    problems.add({}, fmt::format("--devices names {} for {} ranks", devices, planned.ranks));
  spread_devices(planned);
  return planned;
}

}  // namespace busbw::tools
