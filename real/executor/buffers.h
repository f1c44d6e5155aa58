// The three buffers of a rank (input, output, scratch) behind an interface: host memory here, the
// seam for GPU memory.
//
// The executor never touches bytes itself. An implementation on a GPU returns device addresses from
// view() for movers that can read them (RDMA with peer memory), and copies and reduces by kernels.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "models/collectives/schedule.h"
#include "real/executor/element.h"
#include "real/movers/mover.h"

namespace busbw::real {

class Buffers {
 public:
  Buffers() = default;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  virtual ~Buffers() = default;

  /// Tells the mover what it may be asked to send.
  virtual void add_to(Mover& mover) = 0;
  /// Bytes for a mover to read.
  [[nodiscard]] virtual std::span<const std::byte> view(collectives::Buffer buffer, Bytes offset,
                                                        Bytes bytes) const = 0;
  /// A received message to its place.
  virtual void store(collectives::Buffer buffer, Bytes offset, const Message& message) = 0;
  /// output[offset] = buffer[offset] op scratch[source_offset].
  virtual void reduce(const collectives::Step& step, ElementType type, Reduction reduction) = 0;
  /// scratch[source_offset] = scratch[source_offset] op buffer[offset].
  virtual void accumulate(const collectives::Step& step, ElementType type, Reduction reduction) = 0;
  /// output[offset] = buffer[source_offset].
  virtual void copy(const collectives::Step& step) = 0;
  /// All of output divided by the number of ranks.
  virtual void divide(ElementType type, std::int32_t ranks) = 0;
};

/// Buffers in host memory. Offsets count in the data of the collective (extent_of). In place, input
/// and output are one memory of the larger extent, which holds the other.
class HostBuffers : public Buffers {
 public:
  HostBuffers(const collectives::Schedule& schedule, RankId rank, bool in_place);

  /// The rank's extents of the data; empty where the collective gives it none.
  [[nodiscard]] std::span<std::byte> input();
  [[nodiscard]] std::span<std::byte> output();

  void add_to(Mover& mover) override;
  [[nodiscard]] std::span<const std::byte> view(collectives::Buffer buffer, Bytes offset,
                                                Bytes bytes) const override;
  void store(collectives::Buffer buffer, Bytes offset, const Message& message) override;
  void reduce(const collectives::Step& step, ElementType type, Reduction reduction) override;
  void accumulate(const collectives::Step& step, ElementType type, Reduction reduction) override;
  void copy(const collectives::Step& step) override;
  void divide(ElementType type, std::int32_t ranks) override;

 private:
  struct Memory {
    Bytes begin;  // of its first byte in the data
    std::vector<std::byte> bytes;
  };
  [[nodiscard]] std::byte* at(collectives::Buffer buffer, Bytes offset, Bytes bytes) const;
  [[nodiscard]] std::span<std::byte> all_of(collectives::Buffer buffer,
                                            const collectives::Extent& extent) const;

  collectives::Extent input_;
  collectives::Extent output_;
  bool in_place_;
  mutable std::array<Memory, 3> memory_;  // input, output, scratch
};

}  // namespace busbw::real
