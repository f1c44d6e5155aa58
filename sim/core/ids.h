// Distinct integer types for things that are counted from zero and must not be mixed up.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>

namespace busbw {

/// Id<struct RankTag> and Id<struct PortTag> do not convert into each other.
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::int32_t value) : value_(value) {}
  [[nodiscard]] constexpr std::int32_t value() const { return value_; }
  [[nodiscard]] constexpr std::size_t index() const { return static_cast<std::size_t>(value_); }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  std::int32_t value_ = 0;
};

using RankId = Id<struct RankTag>;        // rank in the communicator
using ChannelId = Id<struct ChannelTag>;  // NCCL channel
using HostId = Id<struct HostTag>;        // host (node) in the cluster, in rank order

}  // namespace busbw
