// Interfaces: which are virtual, loopback or link-local, and what NCCL_SOCKET_IFNAME admits.
//
// is.virtual {interface, address, use}     use data, bootstrap, oob
// is.virtual_channel {interface, net}      a connection runs over it
// is.link_local {interface, address, use}, is.loopback {interface, use}
// is.family_zero {}, is.family_nonsense {family}
// is.families_differ {address, on}, is.bootstrap_nets_differ {address, on}
// is.ifname_exclusion {value}, is.ifname_admits_loopback {value}
// is.ifname_ignored {value, interface}     the log uses what the filter does not admit
// is.ifname_matches_none {value}, is.ifname_matches_unusable {value, interface}
// is.same_subnet {a, b, subnet}, is.peer_is_self {peer}
// is.used_interface_down {interface}, is.not_default_route {interface, default}
// is.mtu_small {interface, mtu}, is.ip_mtu_differs {interface, mtu, on}
#include <algorithm>
#include <map>
#include <optional>

#include "models/diagnosis/derive.h"
#include "models/nccl/inventory.h"
#include "models/nccl/name_filter.h"
#include "sim/core/text.h"

namespace busbw::diagnosis {
namespace {

using facts::Fact;
using facts::FactStore;

constexpr std::size_t kMostItems = 16;  // of NCCL_SOCKET_IFNAME

/// By the names that container runtimes, overlays and tunnels give.
bool is_virtual(std::string_view name) {
  static constexpr std::string_view kStarts[] = {
      "veth",    "br-",    "docker", "cni",   "flannel", "cali",  "tun",       "tap",
      "ip6tnl",  "ip6gre", "sit",    "gre",   "virbr",   "vxlan", "tailscale", "wg",
      "kube",    "lxc",    "lxd",    "weave", "cilium",  "zt",    "dummy",     "podman",
      "nerdctl", "ovs",    "vmnet",  "utun",  "erspan",  "teql",  "vbox",      "nodelocal",
      "cbr",     "geneve", "antrea", "ovn",   "azv",     "eni",   "macv",      "ipvl"};
  return std::any_of(std::begin(kStarts), std::end(kStarts),
                     [&](std::string_view start) { return name.substr(0, start.size()) == start; });
}

void what_is_used(FactStore& store) {
  std::map<std::string, std::string> virtual_device;  // host/index -> name
  for (const auto& [name, use] : {std::pair<const char*, const char*>{"nccl.socket_device", "data"},
                                  {"nccl.bootstrap", "bootstrap"},
                                  {"nccl.oob", "oob"}}) {
    for (const Fact& fact : all_of(store, name)) {
      const std::string interface(fact.get("interface"));
      const std::string address(fact.get("address"));
      const std::string plain = address.substr(0, address.find('%'));
      if (use == std::string_view("data") && store.has("is.rdma_data") &&
          !store.has("is.socket_data")) {
        continue;  // listed but not used
      }
      const bool loopback = plain.rfind("127.", 0) == 0 || plain == "::1" || interface == "lo";
      const std::vector<Fact::Field> fields{
          {"interface", interface}, {"address", address}, {"use", use}};
      if (loopback) {
        conclude(store, fact, "is.loopback", fields);
      } else if (is_virtual(interface)) {
        conclude(store, fact, "is.virtual", fields);
        if (use == std::string_view("data")) {
          virtual_device.emplace(fact.host + '/' + std::string(fact.get("index")), interface);
        }
      }
      if (lower(plain).rfind("fe80", 0) == 0 || plain.rfind("169.254.", 0) == 0) {
        conclude(store, fact, "is.link_local", fields);
      }
    }
  }
  for (const Fact& fact : all_of(store, "nccl.connect_failed")) {
    const std::string peer(fact.get("peer"));
    const std::size_t zone = peer.find('%');
    if (lower(peer).rfind("fe80", 0) == 0) {
      conclude(store, fact, "is.link_local",
               {{"interface", zone == std::string::npos ? "" : peer.substr(zone + 1)},
                {"address", peer},
                {"use", "peer"}});
    }
  }
  for (const Fact& fact : all_of(store, "nccl.channel")) {
    const auto device = virtual_device.find(fact.host + '/' + std::string(fact.get("net")));
    if (fact.get("gdr") == "never" && device != virtual_device.end()) {
      conclude(store, fact, "is.virtual_channel",
               {{"interface", device->second}, {"net", std::string(fact.get("net"))}});
    }
  }
}

/// What is used although the kernel says that it is down, or that other traffic goes elsewhere.
void against_the_host(FactStore& store) {
  for (const char* used : {"nccl.socket_device", "nccl.bootstrap", "nccl.oob"}) {
    for (const Fact& fact : all_of(store, used)) {
      const std::string interface(fact.get("interface"));
      for (const Fact& known : all_of(store, "ip.interface")) {
        const bool down = known.get("state") == "down" || known.get("running") == "no";
        if (known.get("name") == interface && down) {
          conclude(store, known, "is.used_interface_down", {{"interface", interface}});
        }
      }
      for (const Fact& route : all_of(store, "ip.route")) {
        if (route.get("to") == "default" && route.get("device") != interface) {
          conclude(store, route, "is.not_default_route",
                   {{"interface", interface}, {"default", std::string(route.get("device"))}});
        }
      }
    }
  }
}

void families(FactStore& store) {
  for (const Fact& fact : all_of(store, "nccl.family")) {
    const std::string family(fact.get("family"));
    conclude(store, fact, family == "0" ? "is.family_zero" : "is.family_nonsense",
             {{"family", family}});
  }
  std::map<std::string, Fact> of_host;
  for (const Fact& fact : all_of(store, "nccl.bootstrap")) {
    if (!fact.host.empty() && fact.get("index") == "0") {
      of_host.emplace(fact.host, fact);
    }
  }
  for (auto one = of_host.begin(); one != of_host.end(); ++one) {
    const std::optional<nccl::Address> a =
        nccl::parse_address(std::string(of_host.begin()->second.get("address")));
    const std::optional<nccl::Address> b =
        nccl::parse_address(std::string(one->second.get("address")));
    if (!a || !b || one == of_host.begin()) {
      continue;
    }
    const char* name = nullptr;
    if (a->ipv6 != b->ipv6) {
      name = "is.families_differ";
    } else if (!a->ipv6 && !std::equal(a->bytes.begin(), a->bytes.begin() + 2, b->bytes.begin())) {
      name = "is.bootstrap_nets_differ";  // not even a /16 in common
    }
    for (const Fact* fact : {static_cast<const Fact*>(&of_host.begin()->second),
                             static_cast<const Fact*>(&one->second)}) {
      if (name != nullptr) {
        conclude(store, *fact, name,
                 {{"address", std::string(fact->get("address"))},
                  {"on", fact->host},
                  {"interface", std::string(fact->get("interface"))}});
      }
    }
  }
}

bool usable(const FactStore& store, const Fact& interface) {
  const bool down = interface.get("up") == "no" || interface.get("state") == "down";
  for (const Fact* address : store.named("ip.address")) {
    if (address->get("name") == interface.get("name") && address->host == interface.host) {
      return !down;
    }
  }
  return false;
}

/// NCCL_SOCKET_IFNAME against what the log used and the host has.
void filter(FactStore& store) {
  const std::string value = variable(store, "NCCL_SOCKET_IFNAME");
  if (value.size() < 2) {
    return;  // NCCL takes it for unset
  }
  Fact set;
  for (const Fact& fact : all_of(store, "var")) {
    if (fact.get("name") == "NCCL_SOCKET_IFNAME") {
      set = fact;
    }
  }
  const nccl::NameFilter admitted(value, kMostItems);
  if (value.front() == '^') {
    conclude(store, set, "is.ifname_exclusion", {{"value", value}});
    if (admitted.admits("lo")) {
      conclude(store, set, "is.ifname_admits_loopback", {{"value", value}});
    }
  }
  for (const char* used : {"nccl.socket_device", "nccl.bootstrap", "nccl.oob"}) {
    for (const Fact& fact : all_of(store, used)) {
      const std::string interface(fact.get("interface"));
      if (!admitted.admits(interface)) {
        conclude(store, fact, "is.ifname_ignored", {{"value", value}, {"interface", interface}});
      }
    }
  }
  std::vector<Fact> matching;
  for (const Fact& fact : all_of(store, "ip.interface")) {
    if (admitted.admits(fact.get("name"))) {
      matching.push_back(fact);
    }
  }
  if (!store.has("ip.interface")) {
    return;
  }
  if (matching.empty()) {
    conclude(store, set, "is.ifname_matches_none", {{"value", value}});
  } else if (store.has("ip.address") &&
             std::none_of(matching.begin(), matching.end(),
                          [&](const Fact& fact) { return usable(store, fact); })) {
    conclude(store, matching.front(), "is.ifname_matches_unusable",
             {{"value", value}, {"interface", std::string(matching.front().get("name"))}});
  }
}

struct Owned {
  Fact fact;
  nccl::Address address;
};

void subnets(FactStore& store) {
  std::vector<Owned> owned;
  for (const Fact& fact : all_of(store, "ip.address")) {
    const std::optional<nccl::Address> address =
        nccl::parse_address(std::string(fact.get("address")));
    if (address && !address->loopback && !address->link_local && !is_virtual(fact.get("name"))) {
      owned.push_back({fact, *address});
    }
  }
  for (std::size_t i = 0; i < owned.size(); i++) {
    for (std::size_t j = i + 1; j < owned.size(); j++) {
      const bool one_host = owned[i].fact.host == owned[j].fact.host;
      const bool two_names = owned[i].fact.get("name") != owned[j].fact.get("name");
      const bool alike = owned[i].address.bytes != owned[j].address.bytes &&
                         nccl::same_subnet(owned[i].address, owned[j].address);
      if (one_host && two_names && alike) {
        for (const std::size_t end : {i, j}) {
          conclude(store, owned[end].fact, "is.same_subnet",
                   {{"a", std::string(owned[i].fact.get("name"))},
                    {"b", std::string(owned[j].fact.get("name"))}});
        }
      }
    }
  }
  for (const Fact& fact : all_of(store, "nccl.completion")) {
    const std::optional<nccl::Address> peer = nccl::parse_address(std::string(fact.get("peer")));
    for (const Owned& one : owned) {
      if (peer && peer->bytes == one.address.bytes) {
        conclude(store, fact, "is.peer_is_self", {{"peer", std::string(fact.get("peer"))}});
      }
    }
  }
}

void mtus(FactStore& store) {
  std::map<std::string, Fact> by_name;
  for (const Fact& fact : all_of(store, "ip.interface")) {
    const std::string name(fact.get("name"));
    if (fact.get("mtu").empty() || fact.host.empty() || fact.get("up") == "no") {
      continue;
    }
    const auto [known, added] = by_name.emplace(name, fact);
    if (!added && known->second.host != fact.host && known->second.get("mtu") != fact.get("mtu")) {
      for (const Fact* seen : {static_cast<const Fact*>(&known->second), &fact}) {
        conclude(store, *seen, "is.ip_mtu_differs",
                 {{"interface", name}, {"mtu", std::string(seen->get("mtu"))}, {"on", seen->host}});
      }
    }
  }
  for (const Fact& speed : all_of(store, "eth.speed")) {
    for (const Fact& fact : all_of(store, "ip.interface")) {
      const bool fast = parse_integer(speed.get("mbps")).value_or(0) >= 25'000;
      if (fast && fact.get("name") == speed.get("name") && fact.get("mtu") == "1500") {
        conclude(store, fact, "is.mtu_small", {{"interface", std::string(fact.get("name"))}});
      }
    }
  }
}

}  // namespace

void derive_interfaces(FactStore& store) {
  what_is_used(store);
  against_the_host(store);
  families(store);
  filter(store);
  subnets(store);
  mtus(store);
}

}  // namespace busbw::diagnosis
