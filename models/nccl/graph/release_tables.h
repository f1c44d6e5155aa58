// Numbers that NCCL changed from release to release: speeds of the search, latencies and bandwidth
// caps of the tuning model. Units: GB/s (1e9 bytes/s) and microseconds.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "models/nccl/version.h"

namespace busbw::nccl::graph {

enum class Algorithm : std::uint8_t {
  kTree,
  kRing,
  kCollNetDirect,
  kCollNetChain,
  kNvls,
  kNvlsTree,
  kPat
};
constexpr std::size_t kAlgorithms = 7;
enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
constexpr std::size_t kProtocols = 3;

/// Speeds per channel that the search tries, high to low. sm: smallest compute capability.
const std::vector<float>& search_speeds(int sm, bool inter, Version version);

struct TuningTables {
  std::array<std::array<double, kProtocols>, kAlgorithms> base_us{};
  /// [NVLink, PCI, network][algorithm][protocol]
  std::array<std::array<std::array<double, kProtocols>, kAlgorithms>, 3> hardware_us{};
  // Caps: [Volta and older, Ampere, Hopper, Blackwell][1, 2, more nodes]
  std::array<std::array<double, 3>, 4> ll_cap{};          // of all channels together
  std::array<std::array<double, 3>, 4> ring_ll128_cap{};  // per channel, as the following
  std::array<std::array<double, 3>, 4> tree_ll128_cap{};
  std::array<std::array<double, 3>, 4> tree_cap{};
  std::array<std::array<double, 3>, 4> nvls_tree_cap{};
  /// [protocol][floor(log2(bytes / 64))]: what is left of a tree's bandwidth
  std::array<std::array<float, 24>, kProtocols> tree_correction{};
};
TuningTables tuning_tables(Version version);

}  // namespace busbw::nccl::graph
