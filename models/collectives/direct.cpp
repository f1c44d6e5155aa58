// Point to point: alltoall, sendrecv, gather and scatter in the rounds of NCCL's p2p schedule.
//
// In a round every rank sends to one peer and receives from another, both the same distance away,
// so no round has two senders to one rank. Distances between hosts are the outer loop, between
// ranks of a host the inner; either runs through 0, 1, 3, 6, 10, ... (triangular numbers modulo the
// next power of two, those that are no distance left out), so that neighbouring rounds use links
// far apart. Round 0 is the rank itself. A peer's data is cut over channels_per_peer neighbouring
// channels, starting from one that the round gives, bit-reversed, so that rounds lie far apart
// (earlier releases the other way round, which shares out the same way). A thread block moves up to
// eight peers each way at a time, each in its own lane here; a lane goes on to its next peer
// without waiting for the other seven. Source: NCCL 2.20 to 2.29, src/init.cc (p2pSchedule),
// src/include/channel.h (ncclP2pChannelBaseForRound, ncclP2pChannelForPart), src/include/device.h
// (NCCL_MAX_DEV_WORK_P2P_PER_BATCH). Earlier releases walk the same pairs in another order.
#include <array>

#include "models/collectives/generate.h"
#include "models/collectives/partition.h"
#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

constexpr std::size_t kPeersAtOnce = 8;

std::int32_t log2_up(std::int32_t value) {
  std::int32_t bits = 0;
  while ((std::int32_t{1} << bits) < value) {
    ++bits;
  }
  return bits;
}

std::int32_t reversed_bits(std::int32_t value, std::int32_t bits) {
  std::int32_t reversed = 0;
  for (std::int32_t bit = 0; bit < bits; ++bit) {
    reversed |= ((value >> bit) & 1) << (bits - 1 - bit);
  }
  return reversed;
}

/// The distances below `count` in the order of rounds.
std::vector<std::int32_t> distances(std::int32_t count) {
  const std::int32_t size = std::int32_t{1} << log2_up(count);
  std::vector<std::int32_t> order;
  std::int32_t distance = 0;
  for (std::int32_t round = 1; round <= size; ++round) {
    if (distance < count) {
      order.push_back(distance);
    }
    distance = (distance + round) & (size - 1);
  }
  return order;
}

/// Who sends to whom in which round.
class Rounds {
 public:
  /// Hosts of unequal size count as one.
  explicit Rounds(const Shape& shape) : index_(static_cast<std::size_t>(shape.ranks)) {
    CHECK(shape.host_of.empty() || static_cast<std::int64_t>(shape.host_of.size()) == shape.ranks,
          "host_of has {} of {} ranks", shape.host_of.size(), shape.ranks);
    std::vector<std::vector<RankId>> hosts;
    for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
      const std::int32_t host =
          shape.host_of.empty() ? 0 : shape.host_of[static_cast<std::size_t>(rank)];
      CHECK(host >= 0 && host < shape.ranks, "rank {} on host {}", rank, host);
      hosts.resize(std::max(hosts.size(), static_cast<std::size_t>(host) + 1));
      hosts[static_cast<std::size_t>(host)].emplace_back(rank);
    }
    bool equal = true;
    for (const std::vector<RankId>& host : hosts) {
      equal = equal && host.size() == hosts[0].size();
    }
    if (!equal) {
      hosts.assign(1, {});
      for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
        hosts[0].emplace_back(rank);
      }
    }
    several_hosts_ = !shape.host_of.empty() && (!equal || hosts.size() > 1);
    hosts_ = std::move(hosts);
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
      for (std::size_t local = 0; local < hosts_[host].size(); ++local) {
        index_[hosts_[host][local].index()] = {static_cast<std::int32_t>(host),
                                               static_cast<std::int32_t>(local)};
      }
    }
    const std::vector<std::int32_t> between_hosts = distances(host_count());
    const std::vector<std::int32_t> inside = distances(locals());
    for (const std::int32_t host : between_hosts) {
      for (const std::int32_t local : inside) {
        rounds_.push_back({host, local});
      }
    }
  }

  [[nodiscard]] std::int32_t count() const { return static_cast<std::int32_t>(rounds_.size()); }
  /// The peer `rank` sends to (side 1) or receives from (side -1).
  [[nodiscard]] RankId peer(RankId rank, std::int32_t round, std::int32_t side) const {
    const Place distance = rounds_[static_cast<std::size_t>(round)];
    const Place from = index_[rank.index()];
    const std::int32_t host = wrap(from.host + side * distance.host, host_count());
    const std::int32_t local = wrap(from.local + side * distance.local, locals());
    return hosts_[static_cast<std::size_t>(host)][static_cast<std::size_t>(local)];
  }
  /// The channel of the first part of the round's data.
  [[nodiscard]] std::int32_t first_channel(std::int32_t round, std::int32_t channels) const {
    std::int32_t base = round;
    if (several_hosts_) {  // rounds that one thread block can run at a time share a channel
      const auto at_once = static_cast<std::int32_t>(kPeersAtOnce);
      base = round / locals() * ((locals() + at_once - 1) / at_once) + round % locals() / at_once;
    }
    return reversed_bits(base & (channels - 1), log2_up(channels));
  }

 private:
  struct Place {
    std::int32_t host = 0;
    std::int32_t local = 0;
  };
  static std::int32_t wrap(std::int32_t value, std::int32_t count) {
    return (value % count + count) % count;
  }
  [[nodiscard]] std::int32_t host_count() const { return static_cast<std::int32_t>(hosts_.size()); }
  [[nodiscard]] std::int32_t locals() const { return static_cast<std::int32_t>(hosts_[0].size()); }

  std::vector<std::vector<RankId>> hosts_;
  std::vector<Place> index_;   // of each rank
  std::vector<Place> rounds_;  // distances
  bool several_hosts_ = false;
};

/// Whether `from` has data for `to`.
bool exchanges(Collective collective, const Options& options, std::int32_t ranks, RankId from,
               RankId to) {
  switch (collective) {
    case Collective::kAllToAll:
      return true;
    case Collective::kSendRecv:
      return to.value() == (from.value() + 1) % ranks;
    case Collective::kGather:
      return to == options.root;
    case Collective::kScatter:
      return from == options.root;
    default:
      return false;
  }
}

/// Offset in its own buffer of what goes to or comes from `other`.
std::int64_t offset_of(Collective collective, std::int64_t block, RankId from, RankId to,
                       bool at_sender) {
  switch (collective) {
    case Collective::kAllToAll:
      return block * (at_sender ? to : from).value();
    case Collective::kGather:
      return block * from.value();
    case Collective::kScatter:
      return block * to.value();
    default:
      return 0;
  }
}

/// The lanes of one rank: per channel up to eight that send and eight that receive.
class DirectLanes {
 public:
  DirectLanes(RankId rank, Collective collective, const Partition& partition, std::int64_t block,
              std::int32_t channels)
      : rank_(rank),
        collective_(collective),
        partition_(partition),
        block_(block),
        channels_(static_cast<std::size_t>(channels)) {}

  /// `part` of what goes from `from` to `to`; one of them is this rank.
  void add(std::int32_t channel, RankId from, RankId to, Piece part) {
    ChannelLanes& lanes = channels_[static_cast<std::size_t>(channel)];
    const bool sends = from == rank_;
    std::size_t& count = sends ? lanes.sends : lanes.receives;
    std::vector<Step>& steps = (sends ? lanes.send : lanes.receive).at(count++ % kPeersAtOnce);
    const std::int64_t own = offset_of(collective_, block_, from, to, sends);
    const std::int64_t end = part.begin + part.size;
    std::int32_t chunk = 0;
    for (std::int64_t at = part.begin; at < end;) {
      const Piece piece = chunk_of(at, partition_.chunk_size(end - at, 1), 0, end);
      Move move;
      move.offset = Bytes(own + piece.begin);
      move.bytes = piece.size;
      if (from == to) {
        move.op = Op::kCopy;
        move.buffer = Buffer::kInput;
        move.source_offset = move.offset;
      } else {
        move.op = sends ? Op::kSend : Op::kReceive;
        move.buffer = sends ? Buffer::kInput : Buffer::kOutput;
        move.peer = sends ? to : from;
      }
      steps.push_back(make_step(move, chunk++));
      at += piece.size;
    }
  }

  void append_to(std::vector<Lane>* lanes) {
    for (std::size_t channel = 0; channel < channels_.size(); ++channel) {
      const ChannelId id(static_cast<std::int32_t>(channel));
      for (std::vector<Step>& steps : channels_[channel].send) {
        if (!steps.empty()) {
          lanes->push_back({rank_, id, "send", std::move(steps)});
        }
      }
      for (std::vector<Step>& steps : channels_[channel].receive) {
        if (!steps.empty()) {
          lanes->push_back({rank_, id, "receive", std::move(steps)});
        }
      }
    }
  }

 private:
  struct ChannelLanes {
    std::array<std::vector<Step>, kPeersAtOnce> send;
    std::array<std::vector<Step>, kPeersAtOnce> receive;
    std::size_t sends = 0;
    std::size_t receives = 0;
  };

  RankId rank_;
  Collective collective_;
  const Partition& partition_;
  std::int64_t block_;
  std::vector<ChannelLanes> channels_;
};

bool is_power_of_two(std::int32_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

Schedule direct_schedule(Collective collective, const Shape& shape, const Options& options) {
  const std::int32_t channels = options.channels;
  CHECK(options.slices == 1, "slices {}", options.slices);
  CHECK(is_power_of_two(channels) && is_power_of_two(options.channels_per_peer) &&
            options.channels_per_peer <= channels,
        "{} channels, {} of them a peer", channels, options.channels_per_peer);
  const Partition partition(collective, shape, options, options.channels_per_peer);
  Schedule schedule = empty_schedule({collective, Algorithm::kDirect}, shape, options, channels);
  const std::int64_t block = cut_bytes(collective, options.bytes, shape.ranks).count();
  const Rounds rounds(shape);
  for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
    const RankId self(rank);
    DirectLanes lanes(self, collective, partition, block, channels);
    for (std::int32_t round = 0; round < rounds.count(); ++round) {
      const std::int32_t first = rounds.first_channel(round, channels);
      const RankId to = rounds.peer(self, round, 1);
      const RankId from = rounds.peer(self, round, -1);
      for (std::int32_t part = 0; part < options.channels_per_peer; ++part) {
        const std::int32_t channel = (first + part) & (channels - 1);
        const Piece piece = partition.channel_part(part);
        if (exchanges(collective, options, shape.ranks, self, to)) {
          lanes.add(channel, self, to, piece);
        }
        if (from != self && exchanges(collective, options, shape.ranks, from, self)) {
          lanes.add(channel, from, self, piece);
        }
      }
    }
    lanes.append_to(&schedule.lanes);
  }
  return schedule;
}

}  // namespace

Schedule direct_all_to_all(const Shape& shape, const Options& options) {
  return direct_schedule(Collective::kAllToAll, shape, options);
}

Schedule direct_send_recv(const Shape& shape, const Options& options) {
  return direct_schedule(Collective::kSendRecv, shape, options);
}

Schedule direct_gather(const Shape& shape, const Options& options) {
  return direct_schedule(Collective::kGather, shape, options);
}

Schedule direct_scatter(const Shape& shape, const Options& options) {
  return direct_schedule(Collective::kScatter, shape, options);
}

}  // namespace busbw::collectives
