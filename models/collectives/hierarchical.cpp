// Hierarchical all-reduce: reduce-scatter inside each host, ring all-reduce across hosts among the
// ranks of equal local index, all-gather inside each host.
//
// With L ranks a host and H hosts a loop of a channel is L x H chunks: H rounds of L chunks. In
// round j of the reduce-scatter local index p gets the host's sum of chunk (j, p); across hosts the
// chunks (0, p) ... (H-1, p) are one ring loop; round j of the all-gather passes the sums around.
// Each phase is a lane; the rounds are walked in the order in which the next phase needs them, and
// a chunk waits for its own predecessor only, so phases overlap within a loop. Traffic: each rank
// sends 2(H-1)/H S/L to other hosts and 2(L-1)/L S inside. Source: the scheme is Jia et al.,
// "Highly scalable deep learning training system with mixed-precision: training ImageNet in four
// minutes", arXiv 1807.11205, with reduce-scatter in place of reduce, as in BlueConnect (Cho et
// al., MLSys 2019). NCCL has no such algorithm.
#include "models/collectives/host_ranks.h"
#include "models/collectives/ring_walk.h"
#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

/// The three lanes of one rank on one channel.
class HierarchicalLanes {
 public:
  struct Place {
    std::int64_t host = 0;
    std::int64_t local = 0;
    std::int32_t first_lane = 0;  // index of the rank's first lane of this channel
  };
  HierarchicalLanes(const HostRanks& hosts, const Place& place, const Partition& partition,
                    const std::vector<SlotRing>& slots)
      : hosts_(static_cast<std::int64_t>(hosts.size())),
        locals_(static_cast<std::int64_t>(hosts[0].size())),
        place_(place),
        scatter_(hosts[static_cast<std::size_t>(place.host)], {place.local, Buffer::kInput, 0, -1},
                 partition, slots[0]),
        across_(column(hosts, static_cast<std::size_t>(place.local)),
                {place.host, locals_ > 1 ? Buffer::kOutput : Buffer::kInput, 0, place.first_lane},
                partition, slots[1]),
        gather_(hosts[static_cast<std::size_t>(place.host)],
                {place.local, Buffer::kOutput, 1, place.first_lane + (hosts_ > 1 ? 1 : 0)},
                partition, slots[1]) {}

  /// Adds the loop over [begin, end) with chunks of `size`, numbered from `chunk`.
  void add_loop(Piece loop, std::int64_t size, std::int32_t chunk) {
    ready_.assign(static_cast<std::size_t>(hosts_), -1);
    const auto local = static_cast<std::size_t>(place_.local);
    for (std::int64_t step = 1; step <= hosts_; ++step) {  // rounds host-1, host-2, ..., host
      const std::int64_t round = (place_.host - step + hosts_) % hosts_;
      scatter_.begin_loop(round_shares(loop, size, chunk, round));
      scatter_.reduce_scatter(/*pass_sum=*/false);
      ready_[static_cast<std::size_t>(round)] = scatter_.sum_step(place_.local);
    }
    if (hosts_ > 1) {
      std::vector<Share> shares;
      for (std::int64_t round = 0; round < hosts_; ++round) {
        shares.push_back(round_shares(loop, size, chunk, round)[local]);
        shares.back().wait_step = ready_[static_cast<std::size_t>(round)];
      }
      across_.begin_loop(shares);
      across_.reduce_scatter(/*pass_sum=*/true);
      across_.all_gather(/*send_own=*/false);
    }
    for (std::int64_t step = 0; step < hosts_; ++step) {  // rounds host, host-1, ..., host+1
      const std::int64_t round = (place_.host - step + hosts_) % hosts_;
      std::vector<Share> shares = round_shares(loop, size, chunk, round);
      shares[local].wait_step =
          hosts_ > 1 ? across_.sum_step(round) : ready_[static_cast<std::size_t>(round)];
      gather_.begin_loop(shares);
      gather_.all_gather(/*send_own=*/true);
    }
  }

  void append_to(std::vector<Lane>* lanes, RankId rank, ChannelId channel) {
    lanes->push_back({rank, channel, "reduce_scatter", scatter_.take_steps()});
    if (hosts_ > 1) {
      lanes->push_back({rank, channel, "across_hosts", across_.take_steps()});
    }
    lanes->push_back({rank, channel, "all_gather", gather_.take_steps()});
  }

 private:
  [[nodiscard]] std::vector<Share> round_shares(Piece loop, std::int64_t size, std::int32_t chunk,
                                                std::int64_t round) const {
    std::vector<Share> shares;
    for (std::int64_t local = 0; local < locals_; ++local) {
      const std::int64_t index = round * locals_ + local;
      shares.push_back({chunk_of(loop.begin, size, index, loop.begin + loop.size),
                        chunk + static_cast<std::int32_t>(index), -1});
    }
    return shares;
  }

  std::int64_t hosts_;
  std::int64_t locals_;
  Place place_;
  RingWalk scatter_;
  RingWalk across_;
  RingWalk gather_;
  std::vector<std::int32_t> ready_;  // per round: reduce-scatter step that made this rank's sum
};

void add_rank(Schedule* schedule, const HostRanks& hosts, const Partition& partition,
              HierarchicalLanes lanes, const Lane& place) {
  const auto ranks = static_cast<std::int64_t>(hosts.size() * hosts[0].size());
  const Piece part = partition.channel_part(place.channel.value());
  const std::int64_t end = part.begin + part.size;
  std::int32_t chunk = 0;
  for (std::int64_t at = part.begin; at < end;) {
    const std::int64_t size = partition.chunk_size(end - at, ranks);
    const Piece loop = {at, std::min(end - at, size * ranks)};
    lanes.add_loop(loop, size, chunk);
    chunk += static_cast<std::int32_t>(ranks);
    at += loop.size;
  }
  lanes.append_to(&schedule->lanes, place.rank, place.channel);
}

}  // namespace

Schedule hierarchical_all_reduce(const Shape& shape, const Options& options) {
  if (shape.ranks == 1) {
    Schedule schedule = ring_all_reduce(shape, options);
    schedule.algorithm = Algorithm::kHierarchical;
    return schedule;
  }
  const auto channels = static_cast<std::int32_t>(shape.rings.size());
  const Partition partition(Collective::kAllReduce, shape, options, channels);
  Schedule schedule =
      empty_schedule({Collective::kAllReduce, Algorithm::kHierarchical}, shape, options, channels);
  for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
    std::int64_t scratch = 0;
    for (std::int32_t channel = 0; channel < channels; ++channel) {
      const RingOrder& order = shape.rings[static_cast<std::size_t>(channel)];
      ring_positions(order, shape.ranks);
      const HostRanks hosts = host_ranks(shape.host_of, order);
      HierarchicalLanes::Place place;
      place.host = shape.host_of[static_cast<std::size_t>(rank)];
      const RingOrder& mates = hosts[static_cast<std::size_t>(place.host)];
      while (mates[static_cast<std::size_t>(place.local)] != RankId(rank)) {
        ++place.local;
      }
      place.first_lane = static_cast<std::int32_t>(schedule.lanes.size());
      std::vector<SlotRing> slots;
      for (int phase = 0; phase < 2; ++phase) {
        slots.emplace_back(scratch, partition.slot_size(), options.slots);
        scratch = slots.back().end();
      }
      add_rank(&schedule, hosts, partition, HierarchicalLanes(hosts, place, partition, slots),
               {RankId(rank), ChannelId(channel), "", {}});
    }
    schedule.scratch_bytes = Bytes(scratch);
  }
  return schedule;
}

}  // namespace busbw::collectives
