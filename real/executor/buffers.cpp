// See buffers.h.
#include "real/executor/buffers.h"

#include <cstring>

#include "sim/core/check.h"

namespace busbw::real {
namespace {

std::size_t index_of(collectives::Buffer buffer, bool in_place) {
  const bool shared = buffer == collectives::Buffer::kOutput && in_place;
  return shared ? 0 : static_cast<std::size_t>(buffer);
}

}  // namespace

HostBuffers::HostBuffers(const collectives::Schedule& schedule, RankId rank, bool in_place)
    : input_(extent_of(schedule, rank, collectives::Buffer::kInput)),
      output_(extent_of(schedule, rank, collectives::Buffer::kOutput)),
      in_place_(in_place) {
  CHECK(!in_place || allows_in_place(schedule.collective), "{} is not done in place",
        to_string(schedule.collective));
  const auto make = [&](collectives::Buffer buffer, const collectives::Extent& extent) {
    Memory& memory = memory_.at(static_cast<std::size_t>(buffer));
    memory.begin = extent.begin;
    memory.bytes.resize(static_cast<std::size_t>(extent.size.count()));
  };
  make(collectives::Buffer::kInput, in_place && output_.size > input_.size ? output_ : input_);
  make(collectives::Buffer::kOutput, in_place ? collectives::Extent() : output_);
  make(collectives::Buffer::kScratch, extent_of(schedule, rank, collectives::Buffer::kScratch));
}

void HostBuffers::add_to(Mover& mover) {
  for (Memory& memory : memory_) {
    if (!memory.bytes.empty())
      mover.add_memory(memory.bytes.data(), memory.bytes.size());
  }
}

std::byte* HostBuffers::at(collectives::Buffer buffer, Bytes offset, Bytes bytes) const {
  Memory& memory = memory_.at(index_of(buffer, in_place_));
  const Bytes from = offset - memory.begin;
  CHECK(from >= Bytes() && bytes >= Bytes() &&
            (from + bytes).count() <= static_cast<std::int64_t>(memory.bytes.size()),
        "{} bytes at {} of {} with {} from {}", bytes.count(), offset.count(), to_string(buffer),
        memory.bytes.size(), memory.begin.count());
  return memory.bytes.data() + from.count();
}

std::span<std::byte> HostBuffers::all_of(collectives::Buffer buffer,
                                         const collectives::Extent& extent) const {
  if (extent.size == Bytes())
    return {};
  return {at(buffer, extent.begin, extent.size), static_cast<std::size_t>(extent.size.count())};
}

std::span<std::byte> HostBuffers::input() {
  return all_of(collectives::Buffer::kInput, input_);
}

std::span<std::byte> HostBuffers::output() {
  return all_of(collectives::Buffer::kOutput, output_);
}

std::span<const std::byte> HostBuffers::view(collectives::Buffer buffer, Bytes offset,
                                             Bytes bytes) const {
  return {at(buffer, offset, bytes), static_cast<std::size_t>(bytes.count())};
}

void HostBuffers::store(collectives::Buffer buffer, Bytes offset, const Message& message) {
  std::byte* to = at(buffer, offset, Bytes(static_cast<std::int64_t>(message.bytes)));
  for (const std::span<const std::byte> part : message.parts) {
    std::memcpy(to, part.data(), part.size());
    to += part.size();
  }
}

void HostBuffers::reduce(const collectives::Step& step, ElementType type, Reduction reduction) {
  Operands operands;
  operands.to = at(collectives::Buffer::kOutput, step.offset, step.bytes);
  operands.a = at(step.buffer, step.offset, step.bytes);
  operands.b = at(collectives::Buffer::kScratch, step.source_offset, step.bytes);
  operands.count = static_cast<std::size_t>(step.bytes / size_of(type));
  real::reduce(type, reduction, operands);
}

void HostBuffers::accumulate(const collectives::Step& step, ElementType type, Reduction reduction) {
  Operands operands;
  operands.to = at(collectives::Buffer::kScratch, step.source_offset, step.bytes);
  operands.a = operands.to;
  operands.b = at(step.buffer, step.offset, step.bytes);
  operands.count = static_cast<std::size_t>(step.bytes / size_of(type));
  real::reduce(type, reduction, operands);
}

void HostBuffers::copy(const collectives::Step& step) {
  std::byte* to = at(collectives::Buffer::kOutput, step.offset, step.bytes);
  const std::byte* from = at(step.buffer, step.source_offset, step.bytes);
  // In place there is nothing to move, and a send of this place may be under way: even the same
  // bytes must not be written over it.
  if (to != from) {
    std::memmove(to, from, static_cast<std::size_t>(step.bytes.count()));
  }
}

void HostBuffers::divide(ElementType type, std::int32_t ranks) {
  const std::span<std::byte> all = output();
  real::divide(type, all.data(), all.size() / static_cast<std::size_t>(size_of(type).count()),
               ranks);
}

}  // namespace busbw::real
