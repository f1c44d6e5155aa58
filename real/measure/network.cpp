// See network.h.
#include "real/measure/network.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "models/nccl/network.h"
#include "real/base/system.h"
#include "real/movers/host_mover.h"
#include "real/movers/shm_mover.h"
#include "real/movers/tcp_mover.h"
#include "real/verbs/inventory.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::real {
namespace {

/// Whether this host has fewer processors than ranks. Launchers bind each rank to a part of them.
bool is_crowded(const Session& session, const std::vector<std::string>& processors_of) {
  const std::vector<bool> here = session.same_host();
  std::set<std::string> processors;
  for (std::size_t rank = 0; rank < here.size(); ++rank) {
    if (here[rank]) {
      for (const std::string_view processor : split(processors_of[rank], ','))
        processors.emplace(processor);
    }
  }
  return static_cast<std::size_t>(std::count(here.begin(), here.end(), true)) > processors.size();
}

/// Per rank: whether shared memory reaches it from here.
std::vector<bool> inside_of(const Session& session, const NetworkOrder& order) {
  std::vector<bool> inside = session.same_host();
  const std::size_t self = session.rank().index();
  for (std::size_t rank = 0; rank < inside.size(); ++rank) {
    const bool meant = order.host_of.empty() || order.host_of.at(rank) == order.host_of.at(self);
    inside[rank] = rank == self || (inside[rank] && meant && order.shared_inside);
  }
  return inside;
}

/// The order's variables, with NCCL_NET set where it names a network, and the filters of devices
/// where it names this rank's.
nccl::Environment environment_of(const Session& session, const NetworkOrder& order) {
  nccl::Environment environment = order.environment;
  if (order.kind == NetworkKind::kVerbs)
    environment["NCCL_NET"] = "IB";
  if (order.kind == NetworkKind::kSocket)
    environment["NCCL_NET"] = "Socket";
  if (!order.device_of.empty()) {
    const bool interfaces = order.kind == NetworkKind::kSocket;
    environment[interfaces ? "NCCL_SOCKET_IFNAME" : "NCCL_IB_HCA"] =
        "=" + order.device_of.at(session.rank().index());
  }
  return environment;
}

nccl::Inventory read_host(const NetworkOrder& order, const std::shared_ptr<verbs::Api>& api) {
  nccl::Inventory host;
  host.interfaces = verbs::read_interfaces();
  host.exposure.libibverbs = api != nullptr;
  // TCP alone needs no device; opening them could fail for reasons that do not matter then.
  if (api != nullptr && order.kind != NetworkKind::kSocket) {
    host.hcas = verbs::read_hcas(api);
  }
  return host;
}

nccl::NetworkChoice choose(const Session& session, const NetworkOrder& order,
                           const nccl::Inventory& host) {
  nccl::SelectionInput input;
  input.version = order.version;
  input.environment = environment_of(session, order);
  input.hosts = {host};
  return nccl::choose_network(input, host);
}

VerbsChoice verbs_of(const Session& session, const NetworkOrder& order,
                     const std::shared_ptr<verbs::Api>& api, const nccl::Inventory& host) {
  const verbs::PortSelection selection =
      verbs::select_ports(api, host, environment_of(session, order), order.version);
  const verbs::UsablePort& port = verbs::port_of(selection, session.local_rank());
  VerbsChoice choice;
  choice.device = verbs::Device::open(api, port.device);
  choice.options.port = port.port;
  choice.options.gid_index = port.gid_index;
  choice.options.method = order.method;
  choice.options.settings = nccl::connection_settings(order.environment, order.version);
  return choice;
}

/// The interface of this rank: the ranks of a host take turns.
const nccl::ChosenInterface& turn_of(const Session& session, const nccl::NetworkChoice& choice) {
  const auto turn = static_cast<std::size_t>(session.local_rank()) % choice.sockets.size();
  return choice.sockets[turn];
}

std::unique_ptr<Mover> tcp_of(const Session& session, const nccl::NetworkChoice& choice) {
  const nccl::ChosenInterface& chosen = turn_of(session, choice);
  return make_tcp_mover({nccl::to_string(chosen.address), chosen.name});
}

[[noreturn]] void fail_choice(const nccl::NetworkChoice& choice) {
  std::vector<std::string> texts;
  texts.reserve(choice.reasons.size());
  for (const nccl::Reason& reason : choice.reasons)
    texts.push_back(reason.text);
  throw SystemError({"choice of the network", join(texts, "; "), "", ""});
}

/// The network that leaves the host; all ranks must agree on its kind.
std::unique_ptr<Mover> between(Session& session, const NetworkOrder& order,
                               const std::shared_ptr<verbs::Api>& api) {
  const nccl::Inventory host = read_host(order, api);
  const nccl::NetworkChoice choice = choose(session, order, host);
  const std::string own = choice.network.value_or("none");
  const std::vector<std::string> all = session.exchange(own);
  if (!choice.network)
    fail_choice(choice);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] != own) {
      throw SystemError({"choice of the network",
                         fmt::format("{} here, {} on the other", own, all[rank]), "",
                         session.group().names[rank]});
    }
  }
  if (own != "IB")
    return tcp_of(session, choice);
  VerbsChoice verbs = verbs_of(session, order, api, host);
  return make_verbs_mover(std::move(verbs.device), verbs.options);
}

}  // namespace

Task settle_completion(Session& session, Task task) {
  std::vector<std::string> own;
  for (const std::int32_t processor : allowed_processors())
    own.push_back(std::to_string(processor));
  const std::vector<std::string> processors_of = session.exchange(join(own, ","));
  const std::vector<std::string> crowded =
      session.exchange(is_crowded(session, processors_of) ? "1" : "0");
  const bool sleeps = std::count(crowded.begin(), crowded.end(), "1") > 0;
  const auto settle = [&](NetworkOrder& order) {
    if (order.completion == Completion::kAuto)
      order.completion = sleeps ? Completion::kEvent : Completion::kPoll;
  };
  for (Section& section : task.sections)
    settle(section.network);
  if (task.micro)
    settle(task.micro->network);
  if (task.calibration)
    std::for_each(task.calibration->networks.begin(), task.calibration->networks.end(), settle);
  return task;
}

VerbsChoice choose_verbs(const Session& session, const NetworkOrder& order,
                         const std::shared_ptr<verbs::Api>& api) {
  if (api == nullptr) {
    throw SystemError(
        {"open of verbs", "this build has no libibverbs (Debian: libibverbs-dev)", "", ""});
  }
  return verbs_of(session, order, api, read_host(order, api));
}

std::unique_ptr<Mover> make_mover(Session& session, const NetworkOrder& order,
                                  const std::shared_ptr<verbs::Api>& api) {
  const std::vector<bool> inside = inside_of(session, order);
  const bool alone = std::all_of(inside.begin(), inside.end(), [](bool in) { return in; });
  if (order.kind == NetworkKind::kShared && !alone) {
    throw SystemError({"choice of the network",
                       "shared memory does not reach ranks of another host or, with "
                       "NCCL_SHM_DISABLE=1, any",
                       "", ""});
  }
  // Every rank takes part in between()'s exchange, or none does.
  const std::vector<std::string> alones = session.exchange(alone ? "1" : "0");
  const bool no_network =
      std::all_of(alones.begin(), alones.end(), [](const std::string& one) { return one == "1"; });
  if (no_network)
    return make_shm_mover();
  std::unique_ptr<Mover> network = between(session, order, api);
  if (std::count(inside.begin(), inside.end(), true) == 1)
    return network;
  return make_host_mover(make_shm_mover(), std::move(network), inside);
}

std::string device_name(const Session& session, const NetworkOrder& order,
                        const std::shared_ptr<verbs::Api>& api) {
  if (order.kind == NetworkKind::kShared)
    return "memory";
  if (order.kind == NetworkKind::kVerbs)
    return choose_verbs(session, order, api).device->name();
  const nccl::Inventory host = read_host(order, api);
  const nccl::NetworkChoice choice = choose(session, order, host);
  if (!choice.network)
    fail_choice(choice);
  return *choice.network == "IB" ? verbs_of(session, order, api, host).device->name()
                                 : turn_of(session, choice).name;
}

std::string describe_movers(Session& session, const Mover& mover, Completion completion) {
  const std::string how =
      fmt::format("; completion by {}", completion == Completion::kPoll ? "polling" : "events");
  const std::vector<std::string> all = session.exchange(mover.describe());
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto known = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return group.first == all[rank]; });
    if (known == groups.end()) {
      groups.emplace_back(all[rank], std::vector<std::string>{std::to_string(rank)});
    } else {
      known->second.push_back(std::to_string(rank));
    }
  }
  if (groups.size() == 1)
    return groups.front().first + how;
  std::vector<std::string> texts;
  texts.reserve(groups.size());
  for (const auto& [text, ranks] : groups) {
    texts.push_back(
        fmt::format("rank{} {}: {}", ranks.size() == 1 ? "" : "s", join(ranks, ","), text));
  }
  return join(texts, "; ") + how;
}

}  // namespace busbw::real
