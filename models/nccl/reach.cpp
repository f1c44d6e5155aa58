// See reach.h.
#include "models/nccl/reach.h"

#include <fmt/format.h>

namespace busbw::nccl {
namespace {

constexpr Version kUniformRetry{2, 24, 0};

std::string state_of(const Interface& interface) {
  return interface.up ? "has no carrier" : "is down";
}
bool carries(const Interface& interface) {
  return interface.up && interface.running;
}

Reach reach_link_local(const Inventory& from, const Inventory& to, const ChosenInterface& target) {
  if (target.position >= from.interfaces.size()) {
    return {ConnectResult::kNetworkUnreachable,
            fmt::format("{} is interface number {} of {}, and {} has no interface of that number",
                        to_string(target.address), target.position + 1, to.host, from.host)};
  }
  const Interface& own = from.interfaces[target.position];
  if (!own.up) {
    return {ConnectResult::kNetworkUnreachable,
            fmt::format("{} of {} is down", own.name, from.host)};
  }
  if (!own.running) {
    return {ConnectResult::kNoRouteToHost,
            fmt::format("{} of {} has no carrier", own.name, from.host)};
  }
  return {};
}

/// The interface through which the kernel of `from` sends to `address`: the longest prefix, the
/// first of equals.
const Interface* route(const Inventory& from, const Address& address) {
  const Interface* best = nullptr;
  int best_length = -1;
  for (const Interface& interface : from.interfaces) {
    if (!interface.up)
      continue;
    for (const Address& own : interface.addresses) {
      if (!same_subnet(own, address) || own.prefix_length <= best_length)
        continue;
      best = &interface;
      best_length = own.prefix_length;
    }
  }
  return best;
}

}  // namespace

Reach reach(const Inventory& from, const Inventory& to, const ChosenInterface& target) {
  const Address& address = target.address;
  if (&from == &to)
    return {};
  if (address.loopback) {
    return {ConnectResult::kRefused,
            fmt::format("{} of {} is loopback: {} only reaches itself there", address.text, to.host,
                        from.host)};
  }
  if (address.scope) {
    const Interface& theirs = to.interfaces[target.position];
    if (!carries(theirs)) {
      return {ConnectResult::kNoRouteToHost,
              fmt::format("{} of {} {}", target.name, to.host, state_of(theirs))};
    }
    return reach_link_local(from, to, target);
  }
  if (owns_address(from, address)) {
    return {ConnectResult::kRefused,
            fmt::format("{} and {} both have the address {}, so {} only reaches itself there",
                        from.host, to.host, address.text, from.host)};
  }
  const Interface* way = route(from, address);
  if (way == nullptr) {
    const std::string why =
        fmt::format("{} has no interface that is up in the subnet of {} ({} of {})", from.host,
                    address.text, target.name, to.host);
    return {from.default_route ? ConnectResult::kTimedOut : ConnectResult::kNetworkUnreachable,
            why};
  }
  if (!way->running) {
    return {ConnectResult::kNoRouteToHost, fmt::format("{} of {}, the way to {}, has no carrier",
                                                       way->name, from.host, address.text)};
  }
  const Interface& theirs = to.interfaces[target.position];
  if (!carries(theirs)) {
    return {ConnectResult::kNoRouteToHost,
            fmt::format("{} of {} ({}) {}", target.name, to.host, address.text, state_of(theirs))};
  }
  return {};
}

std::string sending_interface(const Inventory& host, const std::string& name) {
  for (const Interface& interface : host.interfaces) {
    if (interface.name != name)
      continue;
    for (const Address& own : interface.addresses) {
      if (own.ipv6)
        continue;  // link-local addresses carry their interface with them
      const Interface* way = route(host, own);
      return way == nullptr ? name : way->name;
    }
  }
  return name;
}

ConnectVerdict judge(ConnectResult result, const ChosenInterface& target, Version version) {
  const std::string peer = to_string(target.address) + "<port>";
  const bool uniform = version >= kUniformRetry;
  const std::string function = version >= Version{2, 30, 0} ? "ncclOsSocket" : "socket";
  const auto exhausted = [&](const char* step, const char* text) {
    return fmt::format(
        "{}{}: connect to {} returned {}, exceeded error retry count after 35 attempts", function,
        step, peer, text);
  };
  switch (result) {
    case ConnectResult::kOk:
      break;
    case ConnectResult::kRefused:
      if (uniform) {
        return {false, exhausted("StartConnect", "Connection refused"),
                "34 retries over 59.5 s, then an error"};
      }
      return {false, "socketStartConnect: exceeded retries (20000)",
              "20000 retries over about 20 s, then an error"};
    case ConnectResult::kTimedOut:
      if (uniform) {
        return {false, exhausted("PollConnect", "Connection timed out"),
                "34 retries over 59.5 s and the kernel's own time, then an error"};
      }
      return {false, "socketPollConnect: exceeded timeouts (3)",
              "3 time-outs of the kernel, then an error"};
    case ConnectResult::kNoRouteToHost:
      if (uniform) {
        return {false, exhausted("PollConnect", "No route to host"),
                "34 retries over 59.5 s and the kernel's own time, then an error"};
      }
      return {true,
              fmt::format("socketStartConnect: Connect to {} failed : No route to host", peer), ""};
    case ConnectResult::kNetworkUnreachable:
      return {true,
              fmt::format("{}StartConnect: {} to {} failed : Network is unreachable", function,
                          uniform ? "connect" : "Connect", peer),
              ""};
  }
  return {};
}

}  // namespace busbw::nccl
