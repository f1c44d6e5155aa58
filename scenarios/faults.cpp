// See faults.h.
#include "scenarios/faults.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "models/nccl/connection_settings.h"
#include "models/nccl/failure_lines.h"
#include "models/transport/congestion.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"
#include "sim/core/quantity.h"
#include "sim/core/text.h"

namespace busbw::scenarios {
namespace {

using topologies::LinkId;
using topologies::NodeId;
using topologies::NodeKind;

Ratio times(Ratio a, Ratio b) {
  if (a == Ratio{1, 1}) {
    return b;
  }
  const double product = a.as_double() * b.as_double();
  return product > 0 ? transport::share_of(product) : Ratio{0, 1};
}

transport::RetryRule retry_of(const Stage& stage) {
  if (stage.plan.wiring.network == transport::Network::kSocket) {
    return transport::tcp_retries(stage.context.transports.recovery.tcp);
  }
  const nccl::ConnectionSettings settings =
      nccl::connection_settings(stage.variant.environment, stage.variant.version);
  return transport::queue_pair_retries(settings.timeout, settings.retry_count);
}

std::string place_text(const Fault& fault) {
  if (!fault.from.empty()) {
    return fault.from + " - " + fault.to;
  }
  if (!fault.node.empty() || !fault.network.empty()) {
    return fault.node + fault.network;
  }
  std::string text = fmt::format("host {}", *fault.host + 1);
  text += fault.nic.empty() ? "" : " " + fault.nic;
  return fault.gpu ? fmt::format("{} GPU {}", text, *fault.gpu) : text;
}

std::string fault_text(const Fault& fault) {
  std::string text = to_string(fault.kind) + ", " + place_text(fault);
  switch (fault.kind) {
    case FaultKind::kLinkDegraded:
      return text + (fault.rate ? " to " + to_string(*fault.rate)
                                : fmt::format(" to {:.6g} of its rate", fault.share.as_double()));
    case FaultKind::kPacketLoss:
      return text + fmt::format(", {:.6g} of its packets", fault.share.as_double());
    case FaultKind::kPauseStorm:
      return text + fmt::format(", {:.6g} of the time", fault.share.as_double());
    case FaultKind::kSlowGpu:
    case FaultKind::kSlowHost:
      return text + fmt::format(" to {:.6g} of its speed", fault.share.as_double());
    default:
      return text;
  }
}

}  // namespace

bool is_calm(const Variant& variant) {
  return variant.events.empty() &&
         std::none_of(variant.traffic.begin(), variant.traffic.end(),
                      [](const params::Traffic& traffic) { return traffic.mtu.has_value(); }) &&
         std::none_of(
             variant.cluster.networks.begin(), variant.cluster.networks.end(),
             [](const topologies::Network& network) { return !network.partitions.empty(); });
}

Faults::Faults(const Stage& stage, transport::Wiring& wiring) : stage_(stage), wiring_(wiring) {
  const Variant& variant = stage.variant;
  const params::Recovery& recovery = stage.context.transports.recovery;
  trouble_.retry = retry_of(stage);
  if (nccl::handles_errors(variant.environment)) {
    trouble_.watchdog = variant.watchdog.value_or(recovery.watchdog);
    trouble_.notice = recovery.watchdog_poll;
  }
  trouble_.cap = [this](const std::vector<engine::LinkId>& path) { return cap(path); };
  Problems problems;
  for (const Fault& fault : variant.events) {
    Played& played = played_.emplace_back();
    played.fault = &fault;
    played.links = links_of(fault, problems);
  }
  problems.throw_if_any();
  for (std::size_t number = 0; number < played_.size(); ++number) {
    set_left(played_[number]);
    plan(number);
  }
  std::stable_sort(trouble_.incidents.begin(), trouble_.incidents.end(),
                   [](const Incident& a, const Incident& b) { return a.at < b.at; });
  std::stable_sort(happenings_.begin(), happenings_.end(),
                   [](const Happening& a, const Happening& b) { return a.at < b.at; });
}

std::vector<LinkId> Faults::links_of(const Fault& fault, Problems& problems) {
  const topologies::Fabric& fabric = stage_.built.fabric;
  std::vector<LinkId> links;
  const auto find = [&](const std::string& name) {
    const std::optional<NodeId> node = fabric.find_node(name);
    if (!node) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < fabric.node_count(); ++i) {
        const topologies::Node& known = fabric.node(NodeId(static_cast<std::int32_t>(i)));
        if (known.kind == NodeKind::kSwitch) {
          names.push_back(known.name);
        }
      }
      problems.add(fault.where, "the fabric has no node '" + name + "'; switches: " +
                                    quoted_list(names) + did_you_mean(name, names));
    }
    return node;
  };
  if (!fault.from.empty()) {
    const std::optional<NodeId> a = find(fault.from);
    const std::optional<NodeId> b = find(fault.to);
    if (a && b) {
      links = fabric.links_between(*a, *b);
      const std::vector<LinkId> back = fabric.links_between(*b, *a);
      links.insert(links.end(), back.begin(), back.end());
      if (links.empty()) {
        problems.add(fault.where, "no link between '" + fault.from + "' and '" + fault.to + "'");
      }
    }
  } else if (!fault.node.empty()) {
    const std::optional<NodeId> node = find(fault.node);
    for (std::size_t i = 0; node && i < fabric.link_count(); ++i) {
      const LinkId id(static_cast<std::int32_t>(i));
      if (fabric.link(id).from == *node || fabric.link(id).to == *node) {
        links.push_back(id);
      }
    }
  } else if (!fault.nic.empty()) {
    const std::size_t colon = fault.nic.rfind(':');
    const std::optional<std::size_t> nic =
        stage_.variant.cluster.hosts[*fault.host].find_nic(fault.nic.substr(0, colon));
    CHECK(nic.has_value(), "no NIC '{}'", fault.nic);
    const auto& ports = stage_.built.wires[*fault.host][*nic];
    const std::int64_t only =
        colon == std::string::npos ? 0 : parse_integer(fault.nic.substr(colon + 1)).value_or(-1);
    for (std::size_t port = 0; port < ports.size(); ++port) {
      if (ports[port] && (only == 0 || only == static_cast<std::int64_t>(port) + 1)) {
        links.push_back(ports[port]->out);
        links.push_back(ports[port]->in);
      }
    }
    if (links.empty()) {
      problems.add(fault.where, "'" + fault.nic + "' of host " + std::to_string(*fault.host + 1) +
                                    " is not cabled");
    }
  }
  return links;
}

void Faults::set_left(Played& played) {
  const Fault& fault = *played.fault;
  const topologies::Fabric& fabric = stage_.built.fabric;
  for (const LinkId link : played.links) {
    const Bandwidth rate = fabric.link(link).capacity;
    if (rate == Bandwidth()) {
      continue;  // is down as it is
    }
    switch (fault.kind) {
      case FaultKind::kLinkDown:
      case FaultKind::kSwitchDown:
      case FaultKind::kHcaGone:
        played.left[link] = {0, 1};
        break;
      case FaultKind::kLinkDegraded:
        played.left[link] =
            fault.rate ? Ratio{std::min(fault.rate->bps(), rate.bps()), rate.bps()} : fault.share;
        break;
      case FaultKind::kPacketLoss:
        played.left[link] = left_after_loss(link, fault);
        break;
      default:
        break;
    }
  }
  if (fault.kind != FaultKind::kPauseStorm || played.links.empty()) {
    return;
  }
  // The NIC's switch stops sending to it, fills up, and stops all who send to it.
  const NodeId leaf = fabric.link(played.links.front()).to;
  if (!traffic_of(network_of(played.links.front())).pfc) {
    return;  // no one obeys
  }
  const Ratio goes{fault.share.denominator - fault.share.numerator, fault.share.denominator};
  for (std::size_t i = 0; i < fabric.link_count(); ++i) {
    const LinkId id(static_cast<std::int32_t>(i));
    const bool to_nic = std::count(played.links.begin(), played.links.end(), id) > 0 &&
                        fabric.link(id).from == leaf;
    if (to_nic || fabric.link(id).to == leaf) {
      played.left[id] = goes;
    }
  }
}

/// Queue pairs send again what followed a lost packet; TCP slows down instead (cap()).
Ratio Faults::left_after_loss(LinkId link, const Fault& fault) const {
  const params::Transports& transports = stage_.context.transports;
  if (stage_.plan.wiring.network == transport::Network::kSocket) {
    return {1, 1};
  }
  const bool roce = stage_.plan.wiring.network == transport::Network::kRoce;
  const Bytes packet(roce ? params::roce_path_mtu(transports.roce, stage_.plan.wiring.mtu)
                          : stage_.plan.wiring.path_mtu);
  const double window = transport::window_packets(stage_.built.fabric.link(link).capacity,
                                                  transports.congestion.rdma_round_trip, packet);
  return transport::share_of(transport::go_back_n_share(fault.share.as_double(), window));
}

std::optional<Bandwidth> Faults::cap(const std::vector<engine::LinkId>& path) const {
  const transport::WiringOptions& wiring = stage_.plan.wiring;
  std::optional<Bandwidth> least;
  if (wiring.network != transport::Network::kSocket) {
    return least;
  }
  const params::Transports& transports = stage_.context.transports;
  const Bytes segment = Bytes(wiring.mtu) - transports.tcp.headers;
  const std::int64_t sockets = std::max(1, wiring.socket_threads * wiring.sockets_per_thread);
  for (const Played& played : played_) {
    for (const LinkId link : played.links) {
      const std::optional<engine::LinkId> known = wiring_.find(link);
      if (played.active && played.fault->kind == FaultKind::kPacketLoss && known &&
          std::find(path.begin(), path.end(), *known) != path.end()) {
        const Bandwidth rate = transport::mathis_rate(segment, transports.congestion.tcp_round_trip,
                                                      played.fault->share.as_double());
        least = std::min(least.value_or(rate * sockets), rate * sockets);
      }
    }
  }
  return least;
}

Ratio Faults::speed_of(RankId rank) const {
  Ratio speed{1, 1};
  std::size_t local = rank.index();
  std::size_t host = 0;
  while (local >= stage_.built.gpus[host].size()) {
    local -= stage_.built.gpus[host++].size();
  }
  for (const Played& played : played_) {
    const Fault& fault = *played.fault;
    const bool slow = fault.kind == FaultKind::kSlowHost ||
                      (fault.kind == FaultKind::kSlowGpu && fault.gpu == local);
    if (played.active && slow && fault.host == host) {
      speed = times(speed, fault.share);
    }
  }
  return speed;
}

std::string Faults::network_of(LinkId link) const {
  const topologies::Link& cable = stage_.built.fabric.link(link);
  for (const NodeId node : {cable.from, cable.to}) {
    const topologies::Node& end = stage_.built.fabric.node(node);
    if (end.kind == NodeKind::kSwitch) {
      return end.name.substr(0, end.name.find('/'));
    }
  }
  return "";
}

const params::Traffic& Faults::traffic_of(const std::string& network) const {
  static const params::Traffic kNothingSaid;
  const Variant& variant = stage_.variant;
  for (std::size_t i = 0; i < variant.traffic.size(); ++i) {
    if (variant.cluster.networks[i].name == network) {
      return variant.traffic[i];
    }
  }
  return kNothingSaid;
}

bool Faults::between_switches(LinkId link) const {
  const topologies::Link& cable = stage_.built.fabric.link(link);
  return stage_.built.fabric.node(cable.from).kind == NodeKind::kSwitch &&
         stage_.built.fabric.node(cable.to).kind == NodeKind::kSwitch;
}

Faults::Absence Faults::manager_at(const std::string& network, Duration at) const {
  if (stage_.plan.wiring.network != transport::Network::kInfiniBand) {
    return {};
  }
  for (const Fault& fault : stage_.variant.events) {
    if (fault.kind == FaultKind::kSubnetManagerDown && fault.network == network && fault.at <= at &&
        (!fault.duration || at < fault.at + *fault.duration)) {
      return {true, heals(fault)};
    }
  }
  return {};
}

std::optional<Duration> Faults::heals(const Fault& fault) const {
  if (!fault.duration) {
    return std::nullopt;
  }
  return fault.at + *fault.duration;
}

void Faults::add(Duration at, std::function<void()> happen, std::string text) {
  trouble_.incidents.push_back({at, std::move(happen), {}});
  if (!text.empty()) {
    happenings_.push_back({at, std::move(text)});
  }
}

void Faults::switch_to(std::size_t number, bool active) {
  played_[number].active = active;
  for (const auto& [link, unused] : played_[number].left) {
    static_cast<void>(unused);
    Ratio left{1, 1};
    for (const Played& played : played_) {
      const auto found = played.left.find(link);
      if (played.active && found != played.left.end()) {
        left = times(left, found->second);
      }
    }
    wiring_.degrade(link, left);
  }
}

void Faults::plan(std::size_t number) {
  const Fault& fault = *played_[number].fault;
  add(
      fault.at, [this, number] { switch_to(number, true); }, fault_text(fault));
  trouble_.incidents.back().breaks = breaks(fault);
  std::optional<Duration> end = heals(fault);
  const bool goes_down = fault.kind == FaultKind::kLinkDown ||
                         fault.kind == FaultKind::kSwitchDown || fault.kind == FaultKind::kHcaGone;
  const bool managed = stage_.plan.wiring.network == transport::Network::kInfiniBand;
  if (goes_down && managed && end && !played_[number].links.empty()) {
    end = activated(fault, *end, network_of(played_[number].links.front()));
  }
  played_[number].over = end;
  if (end) {
    add(
        *end, [this, number] { switch_to(number, false); }, "over: " + fault_text(fault));
  }
  if (goes_down) {
    plan_routes(number, end);
  }
}

/// InfiniBand: when ports whose cable is well again at `end` may carry data.
std::optional<Duration> Faults::activated(const Fault& fault, Duration end,
                                          const std::string& network) {
  const Absence manager = manager_at(network, end);
  const std::string ports = place_text(fault);
  if (manager.gone) {
    happenings_.push_back(
        {end, "cable well again, but without a subnet manager its ports stay in INIT: " + ports});
    if (!manager.until) {
      return std::nullopt;
    }
    end = *manager.until;
  } else {
    happenings_.push_back({end, "cable well again, its ports are in INIT: " + ports});
  }
  // The sweep ends with ARMED and, once all switches have answered, ACTIVE.
  const Duration active = end + reaction(network);
  happenings_.push_back(
      {active, "the subnet manager has swept, ports ARMED, then ACTIVE: " + ports});
  return active;
}

Duration Faults::reaction(const std::string& network) const {
  const params::Recovery& recovery = stage_.context.transports.recovery;
  const bool infiniband = stage_.plan.wiring.network == transport::Network::kInfiniBand;
  return traffic_of(network).reroute.value_or(infiniband ? recovery.reroute_infiniband
                                                         : recovery.reroute_ethernet);
}

void Faults::plan_routes(std::size_t number, std::optional<Duration> end) {
  std::vector<LinkId> links = played_[number].links;
  links.erase(std::remove_if(links.begin(), links.end(),
                             [this](LinkId link) { return !between_switches(link); }),
              links.end());
  if (links.empty()) {
    return;
  }
  const Fault& fault = *played_[number].fault;
  const std::string network = network_of(links.front());
  const Duration react = reaction(network);
  const auto turn = [&](Duration at, bool avoided, const char* what) {
    // A manager that is gone reacts when it is back, if ever.
    const Absence manager = manager_at(network, at);
    if (manager.gone && !manager.until) {
      return;
    }
    at = manager.gone ? *manager.until + react : at;
    add(
        at,
        [this, links, avoided] {
          for (const LinkId link : links) {
            wiring_.avoid(link, avoided);
          }
        },
        what + place_text(fault));
  };
  if (!end || *end > fault.at + react) {
    turn(fault.at + react, true, "routes go around ");
    if (end) {
      // The sweep that made the ports ACTIVE has set the tables, too.
      const bool swept = stage_.plan.wiring.network == transport::Network::kInfiniBand;
      turn(swept ? *end : *end + react, false, "routes use again ");
    }
  }
}

/// Connections of ranks whose adapter is gone, where NCCL ends them by the adapter's own event.
std::function<bool(RankId, RankId, ChannelId)> Faults::breaks(const Fault& fault) const {
  if (fault.kind != FaultKind::kHcaGone ||
      stage_.plan.wiring.network == transport::Network::kSocket ||
      !nccl::ends_on_fatal_events(stage_.variant.environment, stage_.variant.version)) {
    return {};
  }
  const std::size_t host = *fault.host;
  const std::size_t nic =
      *stage_.variant.cluster.hosts[host].find_nic(fault.nic.substr(0, fault.nic.rfind(':')));
  return [this, host, nic](RankId from, RankId to, ChannelId channel) {
    const std::optional<transport::PortPair> pair = wiring_.ports(from, to, channel);
    return pair && ((wiring_.host_of(from) == host && pair->out.nic == nic) ||
                    (wiring_.host_of(to) == host && pair->in.nic == nic));
  };
}

}  // namespace busbw::scenarios
