// See read_events.h.
#include "scenarios/spec/read_events.h"

#include <algorithm>
#include <array>

#include "models/params/params.h"
#include "sim/core/check.h"
#include "sim/core/text.h"

namespace busbw::scenarios {
namespace {

constexpr std::int64_t kMostHosts = 4096;
constexpr std::int64_t kMostGpus = 64;
constexpr std::int64_t kLanes = 4;  // of a port; NDR and XDR cages carry several such ports

constexpr std::array kKinds = {
    FaultKind::kLinkDown,   FaultKind::kLinkDegraded, FaultKind::kPacketLoss,
    FaultKind::kPauseStorm, FaultKind::kSwitchDown,   FaultKind::kHcaGone,
    FaultKind::kSlowGpu,    FaultKind::kSlowHost,     FaultKind::kSubnetManagerDown};

FaultKind read_kind(MappingReader& reader) {
  std::vector<std::string> names;
  names.reserve(kKinds.size());
  for (const FaultKind kind : kKinds) {
    names.push_back(to_string(kind));
  }
  const std::string name = reader.required_choice("fault", names);
  for (const FaultKind kind : kKinds) {
    if (to_string(kind) == name) {
      return kind;
    }
  }
  return kKinds.front();
}

void read_host(MappingReader& reader, Fault& fault) {
  fault.host = static_cast<std::size_t>(reader.required_integer("host", 1, kMostHosts) - 1);
}

/// The cable of a NIC's port, or the links between two nodes.
void read_link(MappingReader& reader, Fault& fault) {
  const std::optional<std::vector<std::string>> between = reader.texts("between");
  if (!between) {
    read_host(reader, fault);
    fault.nic = reader.required_text("nic");
    return;
  }
  if (between->size() == 2) {
    fault.from = between->front();
    fault.to = between->back();
  } else {
    reader.problem("between", "'between' must name two nodes, as [rdma/leaf0, rdma/spine]");
  }
  for (const char* key : {"host", "nic"}) {
    if (reader.has(key)) {
      static_cast<void>(reader.text(key));
      reader.problem(key, "give either 'between' or 'host' and 'nic'");
    }
  }
}

void read_share(MappingReader& reader, Fault& fault) {
  const std::string text = reader.required_text("share");
  const std::optional<Ratio> share = params::parse_share(text);
  if (!share && !text.empty()) {
    reader.problem("share",
                   "'share' must be a share above 0 and not above 1 such as 0.01 or 1/2, "
                   "not '" +
                       text + "'");
  }
  fault.share = share.value_or(Ratio{1, 1});
}

/// What is left of a link: lanes of four, a rate, or a share.
void read_degraded(MappingReader& reader, Fault& fault) {
  int given = 0;
  for (const char* key : {"width", "rate", "share"}) {
    given += reader.has(key) ? 1 : 0;
  }
  if (given != 1) {
    reader.problem("width", "give one of 'width', 'rate' and 'share' in " + reader.what());
  }
  if (const auto width = reader.choice("width", {"1x", "2x"})) {
    fault.share = {*width == "1x" ? 1 : 2, kLanes};
  }
  fault.rate = reader.bandwidth("rate");
  if (fault.rate && *fault.rate <= Bandwidth()) {
    reader.problem("rate", "'rate' must be above 0; a link without any is 'link down'");
  }
  if (reader.has("share")) {
    read_share(reader, fault);
  }
}

void read_place(MappingReader& reader, Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kLinkDown:
      read_link(reader, fault);
      return;
    case FaultKind::kLinkDegraded:
      read_link(reader, fault);
      read_degraded(reader, fault);
      return;
    case FaultKind::kPacketLoss:
      read_link(reader, fault);
      read_share(reader, fault);
      return;
    case FaultKind::kPauseStorm:
      read_host(reader, fault);
      fault.nic = reader.required_text("nic");
      read_share(reader, fault);
      return;
    case FaultKind::kSwitchDown:
      fault.node = reader.required_text("switch");
      return;
    case FaultKind::kHcaGone:
      read_host(reader, fault);
      fault.nic = reader.required_text("nic");
      return;
    case FaultKind::kSlowGpu:
      read_host(reader, fault);
      fault.gpu = static_cast<std::size_t>(reader.required_integer("gpu", 0, kMostGpus - 1));
      read_share(reader, fault);
      return;
    case FaultKind::kSlowHost:
      read_host(reader, fault);
      read_share(reader, fault);
      return;
    case FaultKind::kSubnetManagerDown:
      fault.network = reader.required_text("network");
      if (const auto ports = reader.choice("ports", {"active", "armed", "init"})) {
        fault.ports = *ports == "init"    ? nccl::PortState::kInit
                      : *ports == "armed" ? nccl::PortState::kArmed
                                          : nccl::PortState::kActive;
      }
      return;
  }
  CHECK(false, "fault {}", static_cast<int>(fault.kind));
}

Fault read_event(const YamlNode& node, Problems& problems) {
  MappingReader reader(node, "an event", problems);
  Fault fault;
  fault.where = node.where();
  fault.kind = read_kind(reader);
  fault.at = reader.required_duration("at");
  fault.duration = reader.duration("duration");
  if (fault.duration && *fault.duration <= Duration()) {
    reader.problem("duration", "'duration' must be above 0");
  }
  read_place(reader, fault);
  reader.finish();
  return fault;
}

void check_nic(const Fault& fault, const topologies::Machine& machine, Problems& problems) {
  std::vector<std::string> names;
  for (const topologies::MachineNic& nic : machine.nics) {
    names.push_back(nic.name);
  }
  const std::string name = fault.nic.substr(0, fault.nic.rfind(':'));
  if (!fault.nic.empty() && !machine.find_nic(name)) {
    const std::string meant = did_you_mean(name, names);
    problems.add(fault.where, "machine '" + machine.name + "' has no NIC '" + name + "'" +
                                  (meant.empty() ? "; allowed: " + quoted_list(names) : meant));
  }
}

}  // namespace

std::string to_string(FaultKind kind) {
  switch (kind) {
    case FaultKind::kLinkDown:
      return "link down";
    case FaultKind::kLinkDegraded:
      return "link degraded";
    case FaultKind::kPacketLoss:
      return "packet loss";
    case FaultKind::kPauseStorm:
      return "pause storm";
    case FaultKind::kSwitchDown:
      return "switch down";
    case FaultKind::kHcaGone:
      return "hca gone";
    case FaultKind::kSlowGpu:
      return "slow gpu";
    case FaultKind::kSlowHost:
      return "slow host";
    case FaultKind::kSubnetManagerDown:
      return "subnet manager down";
  }
  CHECK(false, "fault {}", static_cast<int>(kind));
}

std::vector<Fault> read_events(const YamlNode& list, Problems& problems) {
  std::vector<Fault> events;
  for (const YamlNode& element : list.elements()) {
    events.push_back(read_event(element, problems));
  }
  return events;
}

void check_events(const std::vector<Fault>& events, const topologies::Cluster& cluster,
                  Problems& problems) {
  std::vector<std::string> networks;
  for (const topologies::Network& network : cluster.networks) {
    networks.push_back(network.name);
  }
  for (const Fault& fault : events) {
    if (fault.host && *fault.host >= cluster.hosts.size()) {
      problems.add(fault.where, "no host " + std::to_string(*fault.host + 1) + "; there are " +
                                    std::to_string(cluster.hosts.size()));
      continue;
    }
    if (fault.host) {
      const topologies::Machine& machine = cluster.hosts[*fault.host];
      check_nic(fault, machine, problems);
      if (fault.gpu && *fault.gpu >= machine.gpus.size()) {
        problems.add(fault.where, "no GPU " + std::to_string(*fault.gpu) + "; machine '" +
                                      machine.name + "' has " +
                                      std::to_string(machine.gpus.size()));
      }
    }
    if (fault.kind == FaultKind::kSubnetManagerDown &&
        std::find(networks.begin(), networks.end(), fault.network) == networks.end()) {
      problems.add(fault.where,
                   "no network '" + fault.network + "'; allowed: " + quoted_list(networks));
    }
  }
}

}  // namespace busbw::scenarios
