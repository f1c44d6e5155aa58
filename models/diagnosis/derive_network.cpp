// Which network carries the data, and whether all hosts agree on it.
//
// is.several_hosts {}, is.one_host {}
// is.socket_data {interface, seen}         data goes over TCP
// is.rdma_data {}                          data goes over RDMA or a plugin
// is.rdma_on_host {hca, rate}              a port is active, whatever NCCL uses
// is.socket_beside_rdma {interface, hca, rate, rdma_interface}
// is.networks_differ {network, on}, is.socket_on_some_hosts {network, on}
// is.plugin_on_some_hosts {on}
// is.versions_differ {version}, is.wordings_differ {version, on}
// is.localhost {name}, is.shared_name {name}
// is.many_sockets {connections}            NCCL opens 16 connections and more for a channel
#include <algorithm>
#include <map>
#include <set>

#include "models/diagnosis/derive.h"
#include "sim/core/text.h"

namespace busbw::diagnosis {
namespace {

using facts::Fact;
using facts::FactStore;

bool is_socket(std::string_view network) {
  return lower(network).find("socket") != std::string::npos;
}

void count_hosts(FactStore& store) {
  std::map<std::string, Fact> hosts;
  for (const Fact& fact : all_of(store, "nccl.log")) {
    if (!fact.host.empty()) {
      hosts.emplace(fact.host, fact);
    }
  }
  const Fact* several = nullptr;
  const std::vector<Fact> nodes = all_of(store, "nccl.nodes");
  const std::vector<Fact> channels = all_of(store, "nccl.channel");
  const auto many = std::find_if(nodes.begin(), nodes.end(), [](const Fact& fact) {
    return parse_integer(fact.get("nodes")).value_or(1) > 1;
  });
  const auto net = std::find_if(channels.begin(), channels.end(),
                                [](const Fact& fact) { return fact.get("way") == "NET"; });
  if (many != nodes.end()) {
    several = &*many;
  } else if (net != channels.end()) {
    several = &*net;
  } else if (hosts.size() > 1) {
    several = &hosts.rbegin()->second;
  }
  const std::vector<Fact> ranks = all_of(store, "nccl.rank");
  const auto alone = std::find_if(ranks.begin(), ranks.end(),
                                  [](const Fact& fact) { return fact.get("ranks") == "1"; });
  if (several != nullptr) {
    conclude(store, *several, "is.several_hosts", {});
  } else if (alone != ranks.end()) {
    conclude(store, *alone, "is.one_host", {});
  } else if (!nodes.empty()) {
    conclude(store, nodes.front(), "is.one_host", {});
  } else if (!channels.empty()) {
    conclude(store, channels.front(), "is.one_host", {});
  }
}

void what_carries_data(FactStore& store) {
  for (const Fact& fact : all_of(store, "nccl.channel")) {
    if (fact.get("way") == "NET") {
      conclude(store, fact, is_socket(fact.get("detail")) ? "is.socket_data" : "is.rdma_data", {});
    }
  }
  for (const Fact& fact : all_of(store, "nccl.network")) {
    conclude(store, fact, is_socket(fact.get("name")) ? "is.socket_data" : "is.rdma_data", {});
  }
  // NCCL asks the networks one after the other: sockets come when there is no device.
  if (!store.has("nccl.network") && !store.has("nccl.hca") && store.has("nccl.no_ib_device")) {
    for (const Fact& fact : all_of(store, "nccl.socket_device")) {
      conclude(store, fact, "is.socket_data", {});
    }
  }
  if (!store.has("nccl.network") && !store.has("is.socket_data")) {
    for (const Fact& fact : all_of(store, "nccl.hca")) {
      conclude(store, fact, "is.rdma_data", {});
    }
  }
  for (const Fact& fact : all_of(store, "rdma.port")) {
    if (fact.get("state") == "active") {
      conclude(store, fact, "is.rdma_on_host",
               {{"hca", std::string(fact.get("hca"))},
                {"rate", std::string(fact.get("rate"))},
                {"link", std::string(fact.get("link"))}});
    }
  }
}

/// An interface that belongs to an HCA: by ibdev2netdev, by its link type, or by its name.
std::string rdma_interface(const FactStore& store, std::string_view not_this) {
  for (const Fact* fact : store.named("rdma.netdev")) {
    if (fact->get("netdev") != not_this) {
      return std::string(fact->get("netdev"));
    }
  }
  for (const Fact* fact : store.named("ip.interface")) {
    std::string name(fact->get("name"));
    if (name != not_this && (fact->get("type") == "infiniband" || name.rfind("ib", 0) == 0 ||
                             name.rfind("rdma", 0) == 0)) {
      return name;
    }
  }
  return {};
}

void sockets_beside_rdma(FactStore& store) {
  if (!store.has("is.socket_data") || store.has("is.rdma_data") || !store.has("is.rdma_on_host")) {
    return;
  }
  std::string interface;
  Fact seen = *store.named("is.socket_data").front();
  for (const char* name : {"nccl.socket_device", "nccl.bootstrap"}) {
    const std::vector<const Fact*> facts = store.named(name);
    if (!facts.empty()) {
      interface = std::string(facts.front()->get("interface"));
      seen = *facts.front();
      break;
    }
  }
  const Fact port = *store.named("is.rdma_on_host").front();
  conclude(store, seen, "is.socket_beside_rdma",
           {{"interface", interface},
            {"hca", std::string(port.get("hca"))},
            {"rate", std::string(port.get("rate"))},
            {"rdma_interface", rdma_interface(store, interface)}});
}

void compare_networks(FactStore& store) {
  std::map<std::string, Fact> network_of;  // the last that each host names
  for (const Fact& fact : all_of(store, "nccl.network")) {
    if (!fact.host.empty()) {
      network_of.insert_or_assign(fact.host, fact);
    }
  }
  std::map<std::string, Fact> host_of;  // and one host of each network
  for (const auto& [host, fact] : network_of) {
    host_of.emplace(std::string(fact.get("name")), fact);
  }
  const bool socket = std::any_of(host_of.begin(), host_of.end(),
                                  [](const auto& entry) { return is_socket(entry.first); });
  for (const auto& [name, fact] : host_of) {
    if (host_of.size() > 1) {
      conclude(store, fact, socket ? "is.socket_on_some_hosts" : "is.networks_differ",
               {{"network", name}, {"on", fact.host}});
    }
  }
  std::map<std::string, Fact> with;
  std::map<std::string, Fact> without;
  for (const Fact& fact : all_of(store, "nccl.plugin")) {
    with.emplace(fact.host, fact);
  }
  for (const Fact& fact : all_of(store, "nccl.no_plugin")) {
    without.emplace(fact.host, fact);
  }
  for (const auto& [host, fact] : without) {
    const bool here = with.find(host) != with.end();
    if (!here && !with.empty() && !host.empty()) {
      conclude(store, with.begin()->second, "is.plugin_on_some_hosts",
               {{"on", with.begin()->first}});
      conclude(store, fact, "is.plugin_on_some_hosts", {{"on", host}});
      break;
    }
  }
}

/// Wordings that no one release has: the hosts run different ones.
void compare_wordings(FactStore& store) {
  std::map<std::string, Fact> forms;
  for (const Fact& fact : all_of(store, "nccl.no_plugin")) {
    if (!fact.host.empty() && fact.get("form") != "other") {
      forms.emplace(std::string(fact.get("form")), fact);
    }
  }
  for (const auto& [form, fact] : forms) {
    if (forms.size() > 1 && forms.begin()->second.host != forms.rbegin()->second.host) {
      conclude(store, fact, "is.wordings_differ", {{"version", form}, {"on", fact.host}});
    }
  }
}

/// "2.20.5+cuda12.4" without what follows the number.
std::string release(std::string_view version) {
  return std::string(version.substr(0, version.find_first_not_of("0123456789.")));
}

void compare_versions(FactStore& store) {
  std::map<std::string, Fact> versions;
  for (const Fact& fact : all_of(store, "nccl.version")) {
    const std::string number = release(fact.get("version"));
    if (number.find('.') != std::string::npos) {
      versions.emplace(number, fact);
    }
  }
  for (const auto& [version, fact] : versions) {
    if (versions.size() > 1) {
      conclude(store, fact, "is.versions_differ", {{"version", version}});
    }
  }
}

/// A refused connection that is tried again is normal while the peer starts: it counts as failed
/// when no rank of that host is ready behind it.
void failed_retries(FactStore& store) {
  const std::vector<Fact> ranks = all_of(store, "nccl.rank");
  for (const Fact& fact : all_of(store, "nccl.connect_retry")) {
    const bool ready = std::any_of(ranks.begin(), ranks.end(), [&](const Fact& rank) {
      return rank.get("phase") == "complete" && rank.host == fact.host &&
             (rank.where.file != fact.where.file || rank.last_line > fact.last_line);
    });
    if (!ready) {
      conclude(store, fact, "nccl.connect_failed", fact.fields);
    }
  }
}

/// NCCL_HOSTID takes the place of the host's name: set, and not to one value on two hosts.
bool has_host_ids(const FactStore& store) {
  std::map<std::string, std::string> host_of;
  bool apart = true;
  for (const char* source : {"nccl.env", "env"}) {
    for (const Fact* fact : store.named(source)) {
      if (fact->get("name") == "NCCL_HOSTID") {
        const std::string value(fact->get("value"));
        const auto [known, added] = host_of.emplace(value, fact->host);
        apart = apart && !value.empty() && (added || known->second == fact->host);
      }
    }
  }
  return !host_of.empty() && apart;
}

/// One name for several nodes: "localhost", or one interface with two addresses.
void same_names(FactStore& store) {
  if (has_host_ids(store)) {
    return;
  }
  for (const Fact& fact : all_of(store, "nccl.log")) {
    const std::string name = fact.host.substr(0, fact.host.find('.'));
    if (name == "localhost" &&
        (store.has("is.several_hosts") || store.has("nccl.connect_failed"))) {
      conclude(store, fact, "is.localhost", {{"name", fact.host}});
    }
  }
  std::map<std::string, Fact> first;
  for (const Fact& fact : all_of(store, "nccl.bootstrap")) {
    const auto [known, added] =
        first.emplace(fact.host + '/' + std::string(fact.get("interface")), fact);
    if (!added && !fact.host.empty() && known->second.get("address") != fact.get("address")) {
      conclude(store, known->second, "is.shared_name", {{"name", fact.host}});
      conclude(store, fact, "is.shared_name", {{"name", fact.host}});
    }
  }
}

/// Connections of a channel over sockets: threads x sockets of each (NVIDIA's list of environment
/// variables), as set or as NCCL says.
void socket_connections(FactStore& store) {
  constexpr nccl::Version kFirst{2, 4, 8};  // that reads the two variables
  constexpr std::int64_t kMany = 16;        // 2 x 8, which NCCL takes by itself on AWS's NICs
  if (lowest_release(store).value_or(kFirst) < kFirst) {
    return;
  }
  const auto number = [](std::string_view text) {
    return std::clamp<std::int64_t>(parse_integer(text).value_or(1), 1, 64);
  };
  const std::int64_t set = number(variable(store, "NCCL_SOCKET_NTHREADS")) *
                           number(variable(store, "NCCL_NSOCKS_PERTHREAD"));
  for (const Fact& fact : all_of(store, "var")) {
    const std::string_view name = fact.get("name");
    if (set >= kMany && (name == "NCCL_SOCKET_NTHREADS" || name == "NCCL_NSOCKS_PERTHREAD")) {
      conclude(store, fact, "is.many_sockets", {{"connections", std::to_string(set)}});
    }
  }
  for (const Fact& fact : all_of(store, "nccl.socket_threads")) {
    const std::int64_t said = number(fact.get("threads")) * number(fact.get("sockets"));
    if (said >= kMany) {
      conclude(store, fact, "is.many_sockets", {{"connections", std::to_string(said)}});
    }
  }
}

}  // namespace

void derive_network(FactStore& store) {
  socket_connections(store);
  failed_retries(store);
  count_hosts(store);
  what_carries_data(store);
  sockets_beside_rdma(store);
  compare_networks(store);
  compare_versions(store);
  compare_wordings(store);
  same_names(store);
}

}  // namespace busbw::diagnosis
