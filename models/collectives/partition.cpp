// Channel parts and the checks of the generators' options. See partition.h.
#include "models/collectives/partition.h"

#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

/// 16 bytes, the width of NCCL's copies, where elements divide it; else one element.
std::int64_t unit_of(std::int64_t element) {
  return 16 % element == 0 ? 16 : element;
}

}  // namespace

Partition::Partition(Collective collective, const Shape& shape, const Options& options,
                     std::int32_t channels)
    : total_(0),
      channel_bytes_(options.channel_bytes),
      unit_(0),
      chunk_(options.chunk.count()),
      channels_(channels),
      slices_(options.slices) {
  const std::int64_t element = options.element.count();
  CHECK(element > 0 && element <= 16, "element {}", element);
  CHECK(shape.ranks > 0, "{} ranks", shape.ranks);
  CHECK(options.bytes >= Bytes() &&
            options.bytes == rounded_bytes(collective, options.bytes, options.element, shape.ranks),
        "bytes {}, element {}, ranks {}", options.bytes.count(), element, shape.ranks);
  const Bytes total = cut_bytes(collective, options.bytes, shape.ranks);
  total_ = total.count();
  CHECK(chunk_ >= element, "chunk {}, element {}", chunk_, element);
  CHECK(options.slices > 0 && options.slots > 0 && channels > 0);
  Bytes sum;
  for (const Bytes bytes : channel_bytes_) {
    CHECK(bytes >= Bytes() && bytes % options.element == Bytes(), "channel of {} bytes",
          bytes.count());
    sum += bytes;
  }
  CHECK(channel_bytes_.empty() ||
            (static_cast<std::int64_t>(channel_bytes_.size()) == channels && sum == total),
        "{} channels have {} bytes, not {} channels {} bytes", channel_bytes_.size(), sum.count(),
        channels, total_);
  // A chunk below the copy width keeps whole elements only.
  unit_ = std::min(unit_of(element), chunk_ / element * element);
  chunk_ = chunk_ / unit_ * unit_;
}

Piece Partition::channel_part(std::int32_t channel) const {
  if (!channel_bytes_.empty()) {
    Bytes begin;
    for (std::int32_t before = 0; before < channel; ++before) {
      begin += channel_bytes_[static_cast<std::size_t>(before)];
    }
    return {begin.count(), channel_bytes_[static_cast<std::size_t>(channel)].count()};
  }
  const std::int64_t units = divide_up(total_, unit_);
  const std::int64_t begin = std::min(total_, units * channel / channels_ * unit_);
  const std::int64_t end = std::min(total_, units * (channel + 1) / channels_ * unit_);
  return {begin, end - begin};
}

Schedule empty_schedule(Kind kind, const Shape& shape, const Options& options,
                        std::int32_t channels) {
  CHECK(shape.ranks > 0, "{} ranks", shape.ranks);
  CHECK(options.root.value() >= 0 && options.root.value() < shape.ranks, "root {} of {}",
        options.root.value(), shape.ranks);
  Schedule schedule;
  schedule.collective = kind.collective;
  schedule.algorithm = kind.algorithm;
  schedule.ranks = shape.ranks;
  schedule.channels = channels;
  schedule.root = options.root;
  schedule.element = options.element;
  schedule.bytes = options.bytes;
  return schedule;
}

}  // namespace busbw::collectives
