// Channel, thread, chunk and slice sizes of a call. See chunking.h for the rules and their sources.
#include "models/nccl/chunking.h"

#include <algorithm>

#include "sim/core/check.h"

namespace busbw::nccl {
namespace {

constexpr std::int32_t kWarp = 32;
constexpr std::int32_t kMaxThreads = 640;
/// From this release on work is dealt in cells and chunks are whole grains.
constexpr Version kCells{2, 22, 3};
constexpr Version kLargerCells{2, 29, 2};

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::int32_t floor_log2(std::int32_t n) {
  std::int32_t log = 0;
  while (n > 1) {
    n /= 2;
    ++log;
  }
  return log;
}

bool is_ring_simple(const Call& call) {
  return call.algorithm == Algorithm::kRing && call.protocol == Protocol::kSimple;
}

/// Chunk and slice of Ring Simple, in slots.
struct RingSteps {
  std::int32_t chunk;
  std::int32_t slice;
};
RingSteps ring_steps(Function function) {
  const bool one = function == Function::kBroadcast || function == Function::kReduce;
  return one ? RingSteps{1, 1} : RingSteps{kSteps / 2, kSteps / 4};
}

/// Payload of one slot of the connection's buffer.
std::int64_t slot_payload(const Call& call) {
  switch (call.protocol) {
    case Protocol::kLL:  // 512 KiB; half of each 16-byte line is flags
      return Bytes::kib(512).count() / kSteps / 2;
    case Protocol::kLL128:  // 4.6875 MiB; 15 of 16 words of a line are data
      return std::int64_t{4915200} / kSteps / 16 * 15;
    case Protocol::kSimple:
      return call.buffer.value_or(Bytes::mib(4)).count() / kSteps;
  }
  CHECK(false, "protocol {}", static_cast<int>(call.protocol));
}

/// Since 2.22.3 chunks are whole grains (ncclProtoGrainSize).
std::int64_t grain(Protocol protocol) {
  switch (protocol) {
    case Protocol::kLL:
      return 16;
    case Protocol::kLL128:
      return 1920;
    case Protocol::kSimple:
      return 512;
  }
  CHECK(false, "protocol {}", static_cast<int>(protocol));
}

/// Halves `chunk` while fewer than `least` whole chunks fall to a channel, down to `floor`.
std::int64_t shrink(std::int64_t chunk, std::int64_t bytes, std::int32_t channels, double least,
                    std::int64_t floor) {
  while (chunk > floor) {
    const std::int64_t chunks = bytes / (channels * chunk);
    if (static_cast<double>(chunks) >= least) {
      break;
    }
    chunk /= 2;
  }
  return chunk;
}

/// How often each byte of a rank's count travels (ncclFuncTrafficPerByte); LL counts its flags,
/// fourfold.
std::int64_t traffic_per_byte(const Call& call) {
  std::int64_t traffic = 1;
  if (call.function == Function::kAllReduce) {
    traffic = 2;
  } else if (call.function == Function::kAllGather || call.function == Function::kReduceScatter) {
    traffic = call.ranks;
  }
  return call.protocol == Protocol::kLL ? 4 * traffic : traffic;
}

/// Bytes of one rank's count: nBytes less the factor that NCCL multiplies for gathered sizes.
std::int64_t count_bytes(const Call& call) {
  const bool gathered =
      call.function == Function::kAllGather || call.function == Function::kReduceScatter;
  return gathered ? call.bytes.count() / call.ranks : call.bytes.count();
}

/// Cells of each channel: `per_channel` each and the rest on the last, spread again when more than
/// `limit` channels would be needed.
std::vector<std::int64_t> deal_cells(std::int64_t cells, std::int64_t per_channel,
                                     std::int32_t limit) {
  per_channel = std::min(cells, per_channel);
  const std::int64_t low = limit == 1 ? cells : per_channel;
  std::int64_t middle_channels = (cells - low) / per_channel;
  std::int64_t high = (cells - low) % per_channel;
  std::int64_t middle = per_channel;
  if (1 + middle_channels + (high != 0 ? 1 : 0) > limit) {
    middle_channels = limit - 2;
    middle = (cells - low) / (middle_channels + 1);
    high = middle + (cells - low) % (middle_channels + 1);
  }
  std::vector<std::int64_t> dealt = {low};
  dealt.insert(dealt.end(), static_cast<std::size_t>(middle_channels), middle);
  if (high != 0) {
    dealt.push_back(high);
  }
  return dealt;
}

/// Bytes of each channel since 2.22.3, when `channels` are wanted.
std::vector<std::int64_t> dealt_bytes(const Call& call, std::int32_t channels) {
  const bool large = call.version >= kLargerCells;
  const std::int64_t element = call.element.count();
  const std::int64_t bytes = count_bytes(call);
  const std::int64_t least = Bytes::kib(large ? 32 : 16).count();
  const std::int64_t traffic = std::max(least, bytes * traffic_per_byte(call));
  const std::int64_t per_channel =
      large ? divide_up(traffic / channels, 16) * 16 : std::max(least, traffic / channels);
  const std::int64_t cell = divide_up(divide_up(least, traffic_per_byte(call)), 16) * 16;
  const std::int64_t cell_bytes = cell / element * element;
  const std::int64_t cells = divide_up(bytes, cell_bytes);
  std::vector<std::int64_t> dealt =
      deal_cells(cells, divide_up(per_channel, cell * traffic_per_byte(call)), call.channels);
  for (std::int64_t& share : dealt) {
    share *= cell_bytes;
  }
  dealt.back() -= cells * cell_bytes - bytes;
  return dealt;
}

}  // namespace

std::string to_string(Algorithm algorithm) {
  return algorithm == Algorithm::kTree ? "Tree" : "Ring";
}

std::string to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::kLL:
      return "LL";
    case Protocol::kLL128:
      return "LL128";
    case Protocol::kSimple:
      return "Simple";
  }
  CHECK(false, "protocol {}", static_cast<int>(protocol));
}

Threads threads_of(const Call& call) {
  CHECK(call.channels > 0 && call.ranks > 0, "channels {} ranks {}", call.channels, call.ranks);
  std::int32_t threads = 512;
  std::int64_t threshold = 8;
  if (call.protocol == Protocol::kSimple) {
    threshold = 64;
    if (is_ring_simple(call) && call.ring_bandwidth <= Bandwidth::gigabytes_per_second(12)) {
      threads = 256;
    }
  } else if (call.protocol == Protocol::kLL128) {
    threads = kMaxThreads;
  } else if (call.algorithm == Algorithm::kRing) {
    threshold *= call.ranks;
  }
  threads = call.most_threads.value_or(threads);
  std::int32_t channels = call.channels;
  const auto too_many = [&] { return call.bytes.count() < threshold * channels * threads; };
  while (too_many() && channels >= 2) {
    --channels;
  }
  while (too_many() && threads % 128 == 0) {
    threads /= 2;
  }
  if (call.protocol == Protocol::kSimple) {
    threads += (call.algorithm == Algorithm::kRing ? 1 : 4) * kWarp;
  }
  threads = std::max(threads, 3 * kWarp);
  return {channels, call.algorithm == Algorithm::kTree ? kMaxThreads : threads};
}

Bytes chunk_size(const Call& call, Bytes bytes, std::int32_t channels) {
  CHECK(channels > 0 && call.nodes > 0, "channels {} nodes {}", channels, call.nodes);
  std::int64_t chunk = slot_payload(call);
  if (is_ring_simple(call)) {
    chunk *= ring_steps(call.function).chunk;
  }
  const std::int64_t size = bytes.count();
  if (call.algorithm == Algorithm::kTree && call.protocol == Protocol::kLL128) {
    const double per_node = static_cast<double>(call.ranks) / call.nodes;
    const double steps = 1 + floor_log2(call.nodes) + 0.1 * per_node;
    chunk = shrink(chunk, size, channels, steps * 64 / per_node, 131072);
    chunk = shrink(chunk, size, channels, steps * 16 / per_node, 32768);
  } else if (call.algorithm == Algorithm::kTree && call.protocol == Protocol::kSimple &&
             call.function == Function::kAllReduce && call.version < kCells) {
    const std::int32_t depth = call.ranks / call.nodes - 1 + floor_log2(call.nodes);
    chunk = shrink(chunk, size, channels, depth * 8, 131072);
    chunk = shrink(chunk, size, channels, depth * 4, 65536);
    chunk = shrink(chunk, size, channels, depth, 32768);
  }
  if (call.version >= kCells) {
    chunk = chunk / grain(call.protocol) * grain(call.protocol);
  }
  return Bytes(chunk);
}

std::vector<ChannelWork> channel_works(const Call& call) {
  CHECK(call.bytes >= Bytes() && call.element > Bytes(), "bytes {} element {}", call.bytes.count(),
        call.element.count());
  const std::int32_t channels = threads_of(call).channels;
  std::vector<std::int64_t> shares;
  if (call.bytes == Bytes()) {
    shares = {0};
  } else if (call.version < kCells) {
    const std::int64_t elements = count_bytes(call) / call.element.count();
    for (std::int32_t channel = 0; channel < channels; ++channel) {
      shares.push_back((elements * (channel + 1) / channels - elements * channel / channels) *
                       call.element.count());
    }
  } else {
    shares = dealt_bytes(call, channels);
  }
  const bool gathered = count_bytes(call) != call.bytes.count();
  std::vector<ChannelWork> works;
  for (const std::int64_t share : shares) {
    const Bytes chunk = call.version < kCells
                            ? chunk_size(call, call.bytes, channels)
                            : chunk_size(call, Bytes(share * (gathered ? call.ranks : 1)), 1);
    const RingSteps steps = ring_steps(call.function);
    const Bytes slice = is_ring_simple(call) ? chunk / steps.chunk * steps.slice : chunk;
    works.push_back({Bytes(share), chunk, slice});
  }
  return works;
}

}  // namespace busbw::nccl
