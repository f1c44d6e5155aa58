// See subnet_draft.h.
#include "topologies/networks/subnet_draft.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

#include <fmt/format.h>

#include "sim/core/text.h"
#include "topologies/networks/fabric_spec.h"

namespace busbw::networks {
namespace {

constexpr std::int32_t kMostPorts = 254;
/// What ibsim gives a port whose line says nothing.
constexpr const char* kPlainSpeed = "4xSDR";

/// Managed switches are described as "MF0;NAME:MODEL/U1".
std::string model_in(const std::string& description) {
  const std::size_t colon = description.rfind(':');
  const std::size_t slash = description.find('/', colon == std::string::npos ? 0 : colon);
  return colon == std::string::npos || slash == std::string::npos
             ? ""
             : description.substr(colon + 1, slash - colon - 1);
}

}  // namespace

DraftNode& SubnetDraft::node(const std::string& id, bool is_switch, const Location& where) {
  const auto [known, fresh] = by_id_.try_emplace(id, nodes_.size());
  if (fresh) {
    DraftNode added;
    added.id = id;
    added.is_switch = is_switch;
    added.where = where;
    nodes_.push_back(std::move(added));
  }
  return nodes_[known->second];
}

void SubnetDraft::link(const std::string& id, std::int32_t port, DraftLink link) {
  if (port < 1 || port > kMostPorts) {
    problems_.add(link.where,
                  fmt::format("port {} of '{}'; allowed: 1 to {}", port, id, kMostPorts));
    return;
  }
  const auto known = links_.find({id, port});
  if (known != links_.end()) {
    problems_.add(link.where, fmt::format("second line for port {} of '{}', the first is line {}",
                                          port, id, known->second.where.line));
    return;
  }
  links_.emplace(Port{id, port}, std::move(link));
}

bool SubnetDraft::set_speed(DraftLink& link, const std::string& text) const {
  const std::size_t cross = text.find_first_of("xX");
  if (cross == std::string::npos) {
    return false;
  }
  const std::optional<std::int32_t> lanes = parse_width(text.substr(0, cross + 1));
  const topologies::InfiniBandRate* rate = catalog_.infiniband_rate(text.substr(cross + 1));
  if (!lanes || rate == nullptr) {
    return false;
  }
  link.lanes = *lanes;
  link.speed = rate->name;
  link.rate = rate->data * *lanes;
  return true;
}

bool SubnetDraft::set_signalling(DraftLink& link, std::int32_t lanes, double gigabits) const {
  constexpr double kTolerance = 0.06;  // iblinkinfo prints 14.0625 and 25.78125, some tools 14.1
  for (const topologies::InfiniBandRate& rate : catalog_.infiniband) {
    if (std::abs(rate.signalling.as_gigabits_per_second() - gigabits) < kTolerance) {
      link.lanes = lanes;
      link.speed = rate.name;
      link.rate = rate.data * lanes;
      return true;
    }
  }
  return false;
}

/// Every link gets its other direction; where both stand they must agree.
void SubnetDraft::check_ends() {
  std::map<Port, DraftLink> missing;
  for (const auto& [port, link] : links_) {
    const Port back{link.peer, link.peer_port};
    const auto other = links_.find(back);
    if (other == links_.end()) {
      const auto [known, fresh] = missing.try_emplace(back, link);
      if (!fresh) {
        problems_.add(link.where,
                      fmt::format("port {} of '{}' has a second cable; the first is line {}",
                                  link.peer_port, link.peer, known->second.where.line));
      } else {
        known->second.peer = port.first;
        known->second.peer_port = port.second;
      }
    } else if (other->second.peer != port.first || other->second.peer_port != port.second) {
      problems_.add(
          link.where,
          fmt::format("port {} of '{}' leads to port {} of '{}', which leads to port {} "
                      "of '{}' (line {})",
                      port.second, port.first, link.peer_port, link.peer, other->second.peer_port,
                      other->second.peer, other->second.where.line));
    }
  }
  links_.merge(missing);
}

void SubnetDraft::check_nodes() {
  std::map<std::string, std::int32_t> highest;  // port of each node
  for (const auto& [port, link] : links_) {
    highest[port.first] = std::max(highest[port.first], port.second);
    const DraftNode& node = nodes_[by_id_.at(port.first)];
    if (node.ports > 0 && port.second > node.ports) {
      problems_.add(link.where,
                    fmt::format("'{}' has {} ports, no port {}", node.id, node.ports, port.second));
    }
    const DraftNode& peer = nodes_[by_id_.at(link.peer)];
    if (!node.is_switch && !peer.is_switch && port.first <= link.peer) {
      problems_.add(link.where,
                    fmt::format("'{}' and '{}' are both hosts: one end of a cable must be a switch",
                                port.first, link.peer));
    }
  }
  for (DraftNode& node : nodes_) {
    if (highest.count(node.id) == 0 && node.declared && !node.is_switch) {
      problems_.add(node.where, fmt::format("'{}' has no cable", node.id));
    }
    node.ports = node.ports > 0 ? node.ports : std::max(1, highest[node.id]);
  }
}

/// Nodes without a GUID get one of their own; two nodes may not share one.
void SubnetDraft::set_guids() {
  std::map<std::uint64_t, std::string> owners;
  std::uint64_t next = 0x300000;
  for (DraftNode& node : nodes_) {
    if (node.guid == 0) {
      node.guid = next;
      next += static_cast<std::uint64_t>(node.ports) + 1;
    }
    const auto [owner, fresh] = owners.try_emplace(node.guid, node.id);
    if (!fresh) {
      problems_.add(node.where, fmt::format("GUID 0x{:x} of '{}' is that of '{}' too", node.guid,
                                            node.id, owner->second));
    }
  }
}

void SubnetDraft::add_endpoint(Imported& result, const DraftNode& node, std::int32_t port) {
  Endpoint endpoint;
  const std::vector<std::string_view> words = split_blanks(node.description);
  endpoint.host = words.size() == 2 ? std::string(words[0]) : node.id;
  endpoint.hca = words.size() == 2 ? std::string(words[1]) : "";
  endpoint.host_index = 0;
  endpoint.nic_index = 0;
  endpoint.port = port;
  endpoint.hca_ports = std::max(1, node.ports);
  endpoint.node_guid = node.guid;
  endpoint.port_guid = node.guid + static_cast<std::uint64_t>(port);
  endpoint.lid = Lid(node.lid);
  ends_[{node.id, port}] = {false, static_cast<std::int32_t>(result.subnet.endpoints.size()), port};
  result.subnet.endpoints.push_back(std::move(endpoint));
}

void SubnetDraft::add_nodes(Imported& result) {
  std::map<std::string, std::vector<std::int32_t>> ports;
  for (const auto& [port, link] : links_) {
    ports[port.first].push_back(port.second);
  }
  std::map<std::string, std::int32_t> called;
  for (const DraftNode& node : nodes_) {
    called[node.description] += node.description.empty() ? 2 : 1;
  }
  for (const DraftNode& node : nodes_) {
    if (!node.is_switch) {
      for (const std::int32_t port : ports[node.id]) {
        add_endpoint(result, node, port);
      }
      continue;
    }
    for (const std::int32_t port : ports[node.id]) {
      ends_[{node.id, port}] = {true, static_cast<std::int32_t>(result.subnet.switches.size()),
                                port};
    }
    Switch added;
    added.name = called[node.description] == 1 ? node.description : node.id;
    added.model = model_in(node.description);
    added.guid = node.guid;
    added.ports = node.ports;
    added.lid = Lid(node.lid);
    result.subnet.switches.push_back(std::move(added));
  }
  // Hosts and their ports count in order of first mention.
  std::map<std::string, std::pair<std::int32_t, std::int32_t>> hosts;
  for (Endpoint& endpoint : result.subnet.endpoints) {
    auto& [index, nics] =
        hosts.try_emplace(endpoint.host, static_cast<std::int32_t>(hosts.size()), 0).first->second;
    endpoint.host_index = index;
    endpoint.nic_index = nics++;
  }
}

void SubnetDraft::add_cables(Imported& result) {
  for (const auto& [port, link] : links_) {
    const End here = ends_.at(port);
    const End there = ends_.at({link.peer, link.peer_port});
    if (there.at_switch < here.at_switch ||
        (there.at_switch == here.at_switch && Port{link.peer, link.peer_port} < port)) {
      continue;  // the cable is added from its other end
    }
    Cable cable;
    cable.a = here;
    cable.b = there;
    cable.up = link.up;
    DraftLink full = link;
    if (full.rate <= Bandwidth()) {
      set_speed(full, kPlainSpeed);
      without_rate_++;
    }
    cable.rate = full.rate;
    cable.lanes = full.lanes;
    cable.speed = full.speed;
    result.subnet.cables.push_back(std::move(cable));
  }
}

/// Switches with hosts are leaves; the others count their cables to the nearest leaf.
void SubnetDraft::set_tiers(Subnet& subnet) const {
  const PortMap map(subnet);
  std::deque<SwitchId> queue;
  for (std::size_t i = 0; i < subnet.switches.size(); i++) {
    const SwitchId at(static_cast<std::int32_t>(i));
    subnet.switches[i].tier = map.endpoints_on(at).empty() ? -1 : 0;
    if (subnet.switches[i].tier == 0) {
      queue.push_back(at);
    }
  }
  for (; !queue.empty(); queue.pop_front()) {
    for (const Neighbour& neighbour : map.of(queue.front())) {
      if (!neighbour.there.at_switch) {
        continue;
      }
      Switch& next = subnet.switches[static_cast<std::size_t>(neighbour.there.node)];
      if (next.tier < 0) {
        next.tier = subnet.at(queue.front()).tier + 1;
        queue.push_back(SwitchId(neighbour.there.node));
      }
    }
  }
  for (Switch& node : subnet.switches) {
    node.tier = std::max(0, node.tier);
  }
  for (Cable& cable : subnet.cables) {
    cable.tier = cable.a.at_switch ? std::max(subnet.at(SwitchId(cable.a.node)).tier,
                                              subnet.at(SwitchId(cable.b.node)).tier)
                                   : 0;
    if (cable.a.at_switch && cable.tier == 0) {
      cable.tier = 1;
    }
  }
}

/// The file's own LIDs when every node has one and no two are equal, else new ones.
void SubnetDraft::set_lids(Imported& result) {
  Subnet& subnet = result.subnet;
  std::set<std::int32_t> lids;
  for (const Switch& node : subnet.switches) {
    lids.insert(node.lid.value());
  }
  for (const Endpoint& endpoint : subnet.endpoints) {
    lids.insert(endpoint.lid.value());
  }
  if (lids.size() == subnet.switches.size() + subnet.endpoints.size() && lids.count(0) == 0 &&
      *lids.rbegin() <= kTopLid) {
    return;
  }
  if (assign_lids(subnet)) {
    problems_.add({file_, 1, 1}, fmt::format("more than the {} LIDs of a subnet", kTopLid));
  }
  result.remarks.emplace_back("LIDs are assigned anew: not every node has its own in the file");
}

void SubnetDraft::remark(Imported& result) const {
  const auto count = std::count_if(nodes_.begin(), nodes_.end(), [](const DraftNode& node) {
    return node.is_switch && !node.declared;
  });
  if (count > 0) {
    result.remarks.push_back(fmt::format(
        "{} switches are only named by others: their further ports are not known", count));
  }
  if (without_rate_ > 0) {
    result.remarks.push_back(
        fmt::format("{} cables without a speed count as {}", without_rate_, kPlainSpeed));
  }
}

Imported SubnetDraft::finish() {
  Imported result;
  check_ends();
  check_nodes();
  set_guids();
  const bool any = std::any_of(nodes_.begin(), nodes_.end(),
                               [](const DraftNode& node) { return node.is_switch; });
  if (!any) {
    problems_.add({file_, 1, 1}, "no switch in the file");
  }
  if (!problems_.empty()) {
    return result;
  }
  add_nodes(result);
  add_cables(result);
  set_tiers(result.subnet);
  set_lids(result);
  remark(result);
  return result;
}

}  // namespace busbw::networks
