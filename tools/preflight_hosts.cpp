// See preflight_hosts.h.
#include "tools/preflight_hosts.h"

#include <algorithm>
#include <map>
#include <optional>

#include "models/facts/read_facts.h"
#include "models/nccl/log_frame.h"
#include "sim/core/text.h"

namespace busbw::tools {
namespace {

using facts::Fact;
using facts::FactStore;

nccl::Inventory& host_of(nccl::SelectionInput& input, const std::string& name) {
  const auto known = std::find_if(input.hosts.begin(), input.hosts.end(),
                                  [&](const nccl::Inventory& host) { return host.host == name; });
  if (known != input.hosts.end()) {
    return *known;
  }
  input.hosts.emplace_back();
  input.hosts.back().host = name;
  return input.hosts.back();
}

void add_interface(const FactStore& store, const Fact& fact, nccl::Inventory& host) {
  nccl::Interface interface;
  interface.name = std::string(fact.get("name"));
  interface.up = fact.get("up") != "no";
  interface.running = fact.get("running") != "no" && fact.get("state") != "down";
  interface.loopback = interface.name == "lo" || fact.get("type") == "loopback";
  interface.mtu = parse_integer(fact.get("mtu")).value_or(1500);
  for (const Fact* address : store.named("ip.address")) {
    if (address->host == fact.host && address->get("name") == interface.name) {
      if (const auto parsed = nccl::parse_address(std::string(address->get("address")))) {
        interface.addresses.push_back(*parsed);
      }
    }
  }
  for (const Fact* speed : store.named("eth.speed")) {
    if (speed->host == fact.host && speed->get("name") == interface.name) {
      interface.speed_mbit = parse_integer(speed->get("mbps"));
    }
  }
  host.interfaces.push_back(std::move(interface));
}

void add_port(const Fact& fact, nccl::Inventory& host) {
  static const std::map<std::string_view, nccl::PortState> kStates = {
      {"active", nccl::PortState::kActive},
      {"init", nccl::PortState::kInit},
      {"armed", nccl::PortState::kArmed}};
  const std::string name(fact.get("hca"));
  auto hca = std::find_if(host.hcas.begin(), host.hcas.end(),
                          [&](const nccl::Hca& one) { return one.name == name; });
  if (hca == host.hcas.end()) {
    host.hcas.emplace_back();
    host.hcas.back().name = name;
    hca = host.hcas.end() - 1;
  }
  nccl::HcaPort port;
  port.number = static_cast<int>(
      std::clamp<std::int64_t>(parse_integer(fact.get("port")).value_or(1), 1, 255));
  const bool known =
      std::any_of(hca->ports.begin(), hca->ports.end(),
                  [&](const nccl::HcaPort& one) { return one.number == port.number; });
  if (known) {
    return;  // another tool says the same
  }
  const auto state = kStates.find(fact.get("state"));
  port.state = state == kStates.end() ? nccl::PortState::kDown : state->second;
  port.link_layer =
      fact.get("link") == "ethernet" ? nccl::LinkLayer::kEthernet : nccl::LinkLayer::kInfiniBand;
  const double gbps = parse_number(fact.get("rate")).value_or(0);
  port.speed_mbit = static_cast<std::int64_t>(std::clamp(gbps, 0.0, 10'000.0) * 1000);
  hca->ports.push_back(port);
}

/// "fe80::1%eth0": the zone is the interface. A log says no prefix length: /24 and /64 are usual.
std::optional<nccl::Address> address_of_log(std::string_view text) {
  const std::string plain(text.substr(0, text.find('%')));
  return nccl::parse_address(plain + (plain.find(':') == std::string::npos ? "/24" : "/64"));
}

void add_seen_interface(const Fact& fact, nccl::Inventory& host) {
  const std::string name(fact.get("interface"));
  const bool known =
      std::any_of(host.interfaces.begin(), host.interfaces.end(),
                  [&](const nccl::Interface& interface) { return interface.name == name; });
  const std::optional<nccl::Address> address = address_of_log(fact.get("address"));
  if (known || name.empty() || !address) {
    return;
  }
  nccl::Interface interface;
  interface.name = name;
  interface.loopback = name == "lo" || address->loopback;
  interface.addresses.push_back(*address);
  host.interfaces.push_back(std::move(interface));
}

void add_seen_hca(const Fact& fact, nccl::Inventory& host) {
  nccl::Hca hca;
  hca.name = std::string(fact.get("hca"));
  const bool known = std::any_of(host.hcas.begin(), host.hcas.end(),
                                 [&](const nccl::Hca& one) { return one.name == hca.name; });
  if (known || hca.name.empty()) {
    return;
  }
  nccl::HcaPort port;
  port.number = static_cast<int>(
      std::clamp<std::int64_t>(parse_integer(fact.get("port")).value_or(1), 1, 255));
  port.link_layer =
      fact.get("link") == "RoCE" ? nccl::LinkLayer::kEthernet : nccl::LinkLayer::kInfiniBand;
  hca.ports.push_back(port);
  host.hcas.push_back(std::move(hca));
}

Fact fact(const std::string& name, const std::string& host, const Location& where,
          std::vector<Fact::Field> fields) {
  Fact result;
  result.name = name;
  result.host = host;
  result.where = where;
  result.line = name;
  for (const Fact::Field& field : fields) {
    result.line += ' ' + field.second;
  }
  result.fields = std::move(fields);
  return result;
}

}  // namespace

nccl::SelectionInput selection_input(const FactStore& store, nccl::Version version) {
  nccl::SelectionInput input;
  input.version = version;
  for (const Fact* variable : store.named("env")) {
    input.environment[std::string(variable->get("name"))] = std::string(variable->get("value"));
  }
  for (const Fact* interface : store.named("ip.interface")) {
    add_interface(store, *interface, host_of(input, interface->host));
  }
  // A list of names alone (ip link) says nothing of what NCCL may use.
  input.hosts.erase(std::remove_if(input.hosts.begin(), input.hosts.end(),
                                   [](const nccl::Inventory& host) {
                                     return std::all_of(host.interfaces.begin(),
                                                        host.interfaces.end(),
                                                        [](const nccl::Interface& interface) {
                                                          return interface.addresses.empty();
                                                        });
                                   }),
                    input.hosts.end());
  for (const Fact* port : store.named("rdma.port")) {
    if (!port->get("hca").empty() && !input.hosts.empty()) {
      add_port(*port, host_of(input, port->host));
    }
  }
  for (nccl::Inventory& host : input.hosts) {
    const bool hidden = store.has("dev.no_infiniband") || store.has("nccl.verbs_missing");
    host.exposure.uverbs_devices = !hidden;
  }
  return input;
}

std::vector<nccl::Inventory> hosts_of_log(const FactStore& store) {
  nccl::SelectionInput seen;
  if (store.has("ip.address")) {
    return {};
  }
  for (const char* used : {"nccl.bootstrap", "nccl.socket_device", "nccl.oob"}) {
    for (const Fact* one : store.named(used)) {
      add_seen_interface(*one, host_of(seen, one->host));
    }
  }
  for (nccl::Inventory& host : seen.hosts) {
    for (const char* listed : {"rdma.port", "nccl.hca"}) {
      for (const Fact* one : store.named(listed)) {
        const bool whose = one->host == host.host || (one->host.empty() && seen.hosts.size() == 1);
        if (whose && std::string_view(listed) == "rdma.port") {
          add_port(*one, host);
        } else if (whose && !store.has("rdma.port")) {
          add_seen_hca(*one, host);
        }
      }
    }
  }
  std::vector<nccl::Inventory> hosts;
  for (nccl::Inventory& host : seen.hosts) {
    bool rdma = false;
    for (const Fact* one : store.named("nccl.network")) {
      rdma = rdma || (one->host == host.host &&
                      lower(one->get("name")).find("socket") == std::string::npos);
    }
    host.exposure.libibverbs = !store.has("nccl.verbs_missing");
    if (!host.interfaces.empty() && (!rdma || !host.hcas.empty())) {
      hosts.push_back(std::move(host));
    }
  }
  return hosts;
}

void add_hosts(const nccl::SelectionInput& input, const Location& where, FactStore& store) {
  for (const auto& [name, value] : input.environment) {
    store.add(fact("env", "", where, {{"name", name}, {"value", value}}));
  }
  for (const nccl::Inventory& host : input.hosts) {
    for (const nccl::Interface& interface : host.interfaces) {
      store.add(fact("ip.interface", host.host, where,
                     {{"name", interface.name},
                      {"mtu", std::to_string(interface.mtu)},
                      {"state", interface.running ? "up" : "down"},
                      {"up", interface.up ? "yes" : "no"},
                      {"running", interface.running ? "yes" : "no"}}));
      for (const nccl::Address& address : interface.addresses) {
        store.add(fact("ip.address", host.host, where,
                       {{"name", interface.name},
                        {"address", address.text + '/' + std::to_string(address.prefix_length)}}));
      }
    }
    for (const nccl::Hca& hca : host.hcas) {
      for (const nccl::HcaPort& port : hca.ports) {
        std::string state = lower(to_string(port.state));
        state = port.state == nccl::PortState::kInit ? "init" : state;
        store.add(fact("rdma.port", host.host, where,
                       {{"hca", hca.name},
                        {"port", std::to_string(port.number)},
                        {"state", state},
                        {"physical", lower(port.physical_state)},
                        {"link", port.link_layer == nccl::LinkLayer::kEthernet ? "ethernet" : "ib"},
                        {"rate", std::to_string(port.speed_mbit / 1000)}}));
      }
    }
  }
}

void add_decision(const nccl::Decision& decision, nccl::Version version, FactStore& store) {
  for (const nccl::HostDecision& host : decision.hosts) {
    nccl::LogFrame frame;
    frame.host = host.host.empty() ? "node" : host.host;
    facts::FileReader reader("log of " + frame.host + ", predicted", "", store);
    reader.text(nccl::framed(host.log, frame, version));
    reader.finish();
  }
  if (decision.outcome != nccl::Outcome::kRuns) {
    store.add(fact(
        "preflight.outcome", "", {"what NCCL does, predicted", 1, 1},
        {{"outcome", nccl::to_string(decision.outcome)}, {"error", decision.error.value_or("")}}));
  }
}

}  // namespace busbw::tools
