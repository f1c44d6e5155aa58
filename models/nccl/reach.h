// Can one host open a TCP connection to an address of another, and what does NCCL make of it if
// not?
//
// Assumes that equal subnets are one layer-2 network and that ports are not filtered. A link-local
// IPv6 address is sent with the interface index of its owner, which the other host reads as its own
// index. Source: Linux routing (connected routes only); NCCL 2.18 to 2.30, src/misc/socket.cc for
// retries.
#pragma once
#include <optional>
#include <string>

#include "models/nccl/interfaces.h"

namespace busbw::nccl {

enum class ConnectResult { kOk, kRefused, kTimedOut, kNoRouteToHost, kNetworkUnreachable };

struct Reach {
  ConnectResult result = ConnectResult::kOk;
  std::string why;  // empty when kOk
};

/// `from` connects to `target`, an interface that `to` has chosen.
Reach reach(const Inventory& from, const Inventory& to, const ChosenInterface& target);

/// The interface by which the kernel of `host` sends to neighbours of its interface `name`: another
/// one when that stands before it in the same subnet. `name` itself when it has no IPv4 address.
std::string sending_interface(const Inventory& host, const std::string& name);

/// What a failed connect means to the job: an error at once (with NCCL's line), or no progress
/// (with how it ends).
struct ConnectVerdict {
  bool error = false;
  std::string line;    // NCCL's line, at once or after the retries
  std::string course;  // "34 retries over 59.5 s, then an error"; empty when it fails at once
};
ConnectVerdict judge(ConnectResult result, const ChosenInterface& target, Version version);

}  // namespace busbw::nccl
