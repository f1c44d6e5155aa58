// A mapped shared-memory segment and the layout of a rank's segment. Internal to the shm mover.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace busbw::real {

/// Memory that several processes map. The creator's name is removed by unlink() or the destructor.
class SharedSegment {
 public:
  /// A new segment of zeros; the memory is there, not only promised. Throws SystemError.
  static SharedSegment create(std::size_t bytes);
  static SharedSegment open(const std::string& name, std::size_t bytes, const std::string& peer);
  SharedSegment() = default;
  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&& other) noexcept;
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;
  ~SharedSegment();
  [[nodiscard]] std::byte* at(std::size_t offset) const { return memory_ + offset; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  void unlink();

 private:
  std::string name_;
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  bool named_ = false;
};

/// Start of a rank's segment.
struct alignas(64) SegmentHead {
  std::atomic<std::uint32_t> asleep;  // 1: wake me
};
/// One incoming link: counters that only grow, then the sizes and the slots.
struct alignas(64) LinkHead {
  alignas(64) std::atomic<std::uint64_t> sent;    // by the sender
  alignas(64) std::atomic<std::uint64_t> popped;  // by the receiver
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Bytes of one link in a segment: head, sizes, slots, all in cache lines.
struct LinkLayout {
  std::size_t slots = 1;
  std::size_t slot_bytes = 1;
  [[nodiscard]] std::size_t sizes_at() const { return sizeof(LinkHead); }
  [[nodiscard]] std::size_t stride() const { return (slot_bytes + 63) / 64 * 64; }
  [[nodiscard]] std::size_t slots_at() const {
    return sizes_at() + (slots * sizeof(std::uint64_t) + 63) / 64 * 64;
  }
  [[nodiscard]] std::size_t bytes() const { return slots_at() + slots * stride(); }
};

}  // namespace busbw::real
