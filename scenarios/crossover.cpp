// Crossover of tree and ring by linear interpolation between simulated sizes.
#include "scenarios/crossover.h"

namespace busbw::scenarios {
namespace {

/// Ring less tree; positive where the tree is faster.
std::optional<Duration> lead_of_tree(const SizeResult& size) {
  std::optional<Duration> ring;
  std::optional<Duration> tree;
  for (const Run& run : size.runs) {
    std::optional<Duration>& fastest = run.algorithm == collectives::Algorithm::kTree ? tree : ring;
    const bool counts = run.algorithm != collectives::Algorithm::kHierarchical && !run.failure;
    if (counts && (!fastest || run.time < *fastest)) {
      fastest = run.time;
    }
  }
  return ring && tree ? std::optional(*ring - *tree) : std::nullopt;
}

}  // namespace

std::optional<Bytes> tree_to_ring(const std::vector<SizeResult>& sizes) {
  std::optional<Bytes> crossover;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const std::optional<Duration> below = lead_of_tree(sizes[i - 1]);
    const std::optional<Duration> above = lead_of_tree(sizes[i]);
    if (below && above && *below > Duration() && *above <= Duration()) {
      const Bytes span = sizes[i].bytes - sizes[i - 1].bytes;
      crossover =
          sizes[i - 1].bytes + Bytes(scale(span.count(), {below->ps(), (*below - *above).ps()}));
    }
  }
  return crossover;
}

}  // namespace busbw::scenarios
