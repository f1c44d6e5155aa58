// How the switches of a network treat packets, as a scenario says it: plain values.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.h"

namespace busbw::params {

/// How a network spreads what it carries over equal ways.
enum class Balance {
  kDestination,  // one way to each port: a forwarding table of InfiniBand
  kFlow,         // ECMP: a hash of addresses and ports
  kFlowlet,      // each burst of a flow anew
  kPacket,       // packet by packet over all: spraying, adaptive routing
};

/// What a hash of ECMP is taken of: "5-tuple" (kFlow), "flowlet", "packet".
const std::vector<std::string>& hash_words();
/// Nothing for another word.
std::optional<Balance> parse_hash(const std::string& word);

/// Of one network.
struct Traffic {
  std::optional<Balance> balance;   // nothing: by destination on InfiniBand, by flow on Ethernet
  bool adaptive_routing = false;    // kPacket because of it
  std::uint64_t seed = 1;           // of hashes and draws
  bool pfc = true;                  // RoCE: switches pause senders before a buffer overflows
  bool ecn = true;                  // RoCE: and mark packets before that, DCQCN slows senders
  std::optional<std::int64_t> mtu;  // of the switches; nothing: as large as the ends'
  std::optional<Duration> reroute;  // from a lost link to new routes; nothing: the catalogue's

  /// Packets are lost or paused where several senders meet.
  [[nodiscard]] bool unfair() const { return !pfc || !ecn; }
};

}  // namespace busbw::params
