// Cuts a collective for one algorithm and protocol. See cut.h.
#include "scenarios/cut.h"

#include <algorithm>
#include <optional>

#include "models/nccl/chunking.h"
#include "sim/core/check.h"
#include "sim/core/text.h"

namespace busbw::scenarios {
namespace {

using collectives::Algorithm;
using collectives::Collective;
using params::Protocol;

constexpr std::int64_t kKib = 1024;
constexpr std::int32_t kPieces = 4;  // of a slot of LL and LL128
constexpr std::int64_t kLeastPiece = 256;
constexpr std::int32_t kThreads = 640;  // of the algorithms that always take all

nccl::Function function_of(Collective collective) {
  switch (collective) {
    case Collective::kBroadcast:
      return nccl::Function::kBroadcast;
    case Collective::kReduce:
      return nccl::Function::kReduce;
    case Collective::kAllGather:
      return nccl::Function::kAllGather;
    case Collective::kReduceScatter:
      return nccl::Function::kReduceScatter;
    default:
      return nccl::Function::kAllReduce;
  }
}

/// Halves `chunk` to the floor of the first row, then the next, as long as fewer than its number of
/// bytes per (channel x head x chunk) are there.
struct Shrink {
  std::int64_t least = 0;
  std::int64_t floor = 0;
};
std::int64_t shrunk(std::int64_t chunk, std::int64_t bytes, std::int64_t at_once,
                    std::initializer_list<Shrink> rows) {
  for (const Shrink& row : rows) {
    while (chunk > row.floor && bytes < row.least * at_once * chunk) {
      chunk /= 2;
    }
  }
  return chunk;
}

std::int64_t floor_log2(std::int64_t value) {
  std::int64_t log = 0;
  while (value > 1) {
    value /= 2;
    ++log;
  }
  return log;
}

class Cutter {
 public:
  Cutter(const Plan& plan, const Variant& variant, Candidate candidate, Bytes bytes)
      : plan_(plan),
        workload_(variant.workload),
        environment_(variant.environment),
        candidate_(candidate) {
    cut_.options.bytes = bytes;
    cut_.options.element = workload_.element;
    cut_.options.root = RankId(0);
    version_ = variant.version;
  }

  Cut cut() {
    switch (candidate_.algorithm) {
      case Algorithm::kRing:
      case Algorithm::kTree:
      case Algorithm::kHierarchical:
        rings_or_trees();
        break;
      case Algorithm::kNvls:
      case Algorithm::kNvlsTree:
        nvls();
        break;
      case Algorithm::kCollNetDirect:
      case Algorithm::kCollNetChain:
        collnet();
        break;
      case Algorithm::kPat:
        pat();
        break;
      case Algorithm::kDirect:
        point_to_point();
        break;
    }
    return std::move(cut_);
  }

 private:
  [[nodiscard]] std::int64_t bytes() const { return cut_.options.bytes.count(); }
  [[nodiscard]] std::int64_t slot() const {
    return plan_.comm.buffer_bytes[static_cast<std::size_t>(Protocol::kSimple)] / nccl::kSteps;
  }

  void rings_or_trees() {
    const bool tree = candidate_.algorithm == Algorithm::kTree;
    nccl::Call call;
    call.version = version_;
    call.function = function_of(workload_.collective);
    call.algorithm = tree ? nccl::Algorithm::kTree : nccl::Algorithm::kRing;
    // Both enumerations list LL, LL128, Simple.
    call.protocol = static_cast<nccl::Protocol>(candidate_.protocol);
    call.bytes = cut_.options.bytes;
    call.element = workload_.element;
    call.channels = plan_.switches.rank_views ? plan_.comm.channels : plan_.comm.coll_channels;
    call.ranks = plan_.shape.ranks;
    call.nodes = plan_.hosts;
    call.most_threads = plan_.tuning.most_threads[static_cast<std::size_t>(
        tree ? nccl::graph::Algorithm::kTree : nccl::graph::Algorithm::kRing)]
                                                 [static_cast<std::size_t>(candidate_.protocol)];
    call.buffer = Bytes(plan_.comm.buffer_bytes[static_cast<std::size_t>(Protocol::kSimple)]);
    const std::vector<nccl::ChannelWork> works = nccl::channel_works(call);
    cut_.threads = nccl::threads_of(call).threads;
    cut_.channels = static_cast<std::int32_t>(works.size());
    for (const nccl::ChannelWork& work : works) {
      cut_.options.channel_bytes.push_back(work.bytes);
    }
    const bool sliced = works.front().slice < works.front().chunk;
    // Ring/Simple cuts a chunk of four slots into two messages of two slots each. Hierarchical has
    // no slices: its chunk is such a message.
    const bool ours = candidate_.algorithm == Algorithm::kHierarchical;
    cut_.options.chunk = ours ? works.front().slice : works.front().chunk;
    cut_.options.slices = sliced && !ours ? 2 : 1;
    cut_.slots = nccl::kSteps / (sliced ? 2 : 1);
    cut_.options.slots = cut_.slots;
    stream_lines();
  }

  /// LL and LL128 carry a flag in every line of 16 or 128 bytes: a receiver works on the first
  /// lines while the last are being written. Messages of a quarter stand for that.
  void stream_lines() {
    if (candidate_.protocol == Protocol::kSimple) {
      return;
    }
    if (candidate_.algorithm == Algorithm::kRing) {
      cut_.options.slices = kPieces;
    } else {
      const std::int64_t message =
          std::min(cut_.options.chunk, cut_.options.channel_bytes.front()).count();
      cut_.options.chunk = Bytes(std::max(message / kPieces / 16 * 16, kLeastPiece));
    }
    cut_.pieces = kPieces;
    cut_.slots *= kPieces;
    cut_.options.slots = cut_.slots;
  }

  void nvls() {
    const bool tree = candidate_.algorithm == Algorithm::kNvlsTree;
    const std::int64_t heads = plan_.shape.heads.empty()
                                   ? plan_.shape.ranks / std::max(1, plan_.hosts)
                                   : static_cast<std::int64_t>(plan_.shape.heads.front().size());
    set_channels(plan_.comm.nvls_channels);
    const std::int64_t at_once = heads * cut_.channels;
    std::int64_t chunk = 0;
    if (tree) {
      chunk = shrunk(most_of_nvls_tree(), bytes(), at_once,
                     {{32, 256 * kKib}, {16, 128 * kKib}, {4, 64 * kKib}, {1, 32 * kKib}});
    } else {
      chunk = shrunk(most_of_nvls(), bytes(), at_once,
                     {{64, 64 * kKib}, {8, 32 * kKib}, {2, 16 * kKib}});
    }
    cut_.options.chunk = Bytes(chunk);
    cut_.threads = kThreads;
  }

  /// A positive number of the environment, or `otherwise`.
  [[nodiscard]] std::int64_t bytes_set(const char* name, std::int64_t otherwise) const {
    const auto found = environment_.find(name);
    const std::optional<std::int64_t> number =
        found == environment_.end() ? std::nullopt : parse_integer(found->second);
    return number && *number > 0 ? *number : otherwise;
  }

  /// Slot of NVLS: its own from 2.21 on, before that of all others.
  [[nodiscard]] std::int64_t nvls_slot() const {
    constexpr nccl::Version kOwnSlots{2, 21, 5};
    return version_ < kOwnSlots ? slot() : bytes_set("NCCL_NVLS_CHUNKSIZE", 128 * kKib);
  }

  /// Largest chunk of NVLS; between hosts a small one where NCCL believes little of it. Source:
  /// NCCL 2.20 to 2.28, src/enqueue.cc, calcCollChunking.
  [[nodiscard]] std::int64_t most_of_nvls() const {
    constexpr float kSlow = 150;  // GB/s
    const float believed = plan_.tuning
                               .cost(nccl::graph::Collective::kAllReduce,
                                     nccl::graph::Algorithm::kNvls, nccl::graph::Protocol::kSimple)
                               .bandwidth;
    return plan_.hosts > 1 && believed < kSlow
               ? 32 * kKib
               : std::min(slot(), bytes_set("NCCL_NVLS_CHUNKSIZE", 128 * kKib));
  }

  /// The same of NVLSTree, whose slots are NVLS's; small on many nodes since 2.19.3.
  [[nodiscard]] std::int64_t most_of_nvls_tree() const {
    constexpr nccl::Version kCapped{2, 19, 3};
    constexpr std::int32_t kManyNodes = 4;
    const std::int64_t most = plan_.hosts >= kManyNodes ? 64 * kKib : nvls_slot();
    return version_ < kCapped
               ? nvls_slot()
               : std::min(nvls_slot(), bytes_set("NCCL_NVLSTREE_MAX_CHUNKSIZE", most));
  }

  void collnet() {
    set_channels(plan_.comm.collnet_channels);
    const bool direct = candidate_.algorithm == Algorithm::kCollNetDirect;
    const std::int64_t heads = direct ? std::max(1, plan_.comm.collnet_heads) : 1;
    const std::int64_t depth = 1 + floor_log2(plan_.hosts);
    cut_.options.chunk =
        Bytes(shrunk(slot(), bytes(), heads * cut_.channels,
                     {{depth * 64, 128 * kKib}, {depth * 8, 64 * kKib}, {depth * 8, 32 * kKib}}));
    cut_.threads = kThreads;
  }

  void pat() {
    set_channels(plan_.comm.channels);
    const std::int64_t depth = floor_log2(plan_.shape.ranks);
    cut_.options.chunk = Bytes(shrunk(slot(), bytes(), cut_.channels, {{depth * 2, 64 * kKib}}));
    cut_.threads = kThreads;
  }

  /// The channels that share a peer's data: one channel an operation at first, and more where a
  /// channel's part would be too large (NCCL 2.28, src/enqueue.cc, scheduleP2pTasksToPlan and
  /// addP2pToPlan). Of a number that is no power of two the next lower one. The limit of four
  /// operations a channel is in copies from before 2.19's kernel tables; the bound is inferred.
  void point_to_point() {
    constexpr nccl::Version kAsManyOperations{2, 19, 0};
    const std::int64_t to_a_peer =
        collectives::cut_bytes(workload_.collective, cut_.options.bytes, plan_.shape.ranks).count();
    const std::int32_t channels = std::max(1, plan_.comm.p2p_channels);
    std::int32_t most = std::max(1, plan_.comm.p2p_channels_per_peer);
    std::int32_t now = most;
    while (now > 1 && static_cast<std::int64_t>(now) * plan_.shape.ranks > channels) {
      now /= 2;
    }
    while (version_ < kAsManyOperations && most > 1 &&
           static_cast<std::int64_t>(most) * plan_.shape.ranks > 4L * channels) {
      most /= 2;
    }
    const bool by_ll = candidate_.protocol == Protocol::kLowLatency && parts_by_protocol(version_);
    const std::int64_t step =
        by_ll ? plan_.comm.buffer_bytes[static_cast<std::size_t>(Protocol::kLowLatency)] /
                    nccl::kSteps
              : plan_.comm.p2p_chunk_bytes;
    const std::int64_t least_part = plan_.hosts > 1 ? step / 2 : step / 8;
    const std::int64_t most_part = plan_.hosts > 1 ? step : step * 32;
    while (now > 1 && (now - 1) * least_part >= to_a_peer) {
      now /= 2;
    }
    while (to_a_peer > now * most_part && now <= most / 2) {
      now *= 2;
    }
    set_channels(channels);
    cut_.options.channels_per_peer = std::min(now, channels);
    cut_.options.chunk = Bytes(plan_.comm.p2p_chunk_bytes);
    cut_.threads = kThreads;
  }

  void set_channels(std::int32_t channels) {
    cut_.channels = std::max(1, channels);
    cut_.options.channels = cut_.channels;
    cut_.slots = nccl::kSteps;
    cut_.options.slots = cut_.slots;
  }

  const Plan& plan_;
  const Workload& workload_;
  const nccl::Environment& environment_;
  Candidate candidate_;
  nccl::Version version_;
  Cut cut_;
};

}  // namespace

Cut cut_of(const Plan& plan, const Variant& variant, Candidate candidate, Bytes bytes) {
  return Cutter(plan, variant, candidate, bytes).cut();
}

bool parts_by_protocol(nccl::Version version) {
  return version >= nccl::Version{2, 22, 0} && version < nccl::Version{2, 28, 0};
}

Ratio lane_share(const params::ThreadBlocks& blocks, Candidate candidate,
                 const collectives::Lane& lane, std::int32_t lanes) {
  const auto protocol = static_cast<std::size_t>(candidate.protocol);
  switch (candidate.algorithm) {
    case Algorithm::kTree:
      if (lane.role == "reduce") {
        return blocks.tree_reduce[protocol];
      }
      return lane.role == "broadcast" ? blocks.tree_broadcast[protocol] : Ratio{1, 1};
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
      return blocks.nvls_lane;
    case Algorithm::kHierarchical:
      return {1, 1};
    default:
      return {1, std::max(1, lanes)};
  }
}

}  // namespace busbw::scenarios
