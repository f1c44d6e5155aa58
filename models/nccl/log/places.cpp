// Where each rank stands.
#include <algorithm>

#include "models/nccl/log/lines.h"

namespace busbw::nccl::log {

std::vector<Place> places(const graph::Decision& decision) {
  std::vector<Place> all(static_cast<std::size_t>(decision.comm.ranks));
  for (std::size_t n = 0; n < decision.nodes.size(); n++) {
    const graph::NodePlace& node = decision.nodes[n];
    const graph::System& system = decision.groups[static_cast<std::size_t>(node.group)].system;
    const int gpus = system.count(graph::NodeType::kGpu);
    std::vector<int> ranks;
    ranks.reserve(static_cast<std::size_t>(gpus));
    for (int gpu = 0; gpu < gpus; gpu++)
      ranks.push_back(system.node(graph::NodeType::kGpu, gpu).gpu.rank);
    std::vector<int> sorted = ranks;
    std::sort(sorted.begin(), sorted.end());
    for (int gpu = 0; gpu < gpus; gpu++) {
      const int rank = ranks[static_cast<std::size_t>(gpu)];
      const auto position = std::find(sorted.begin(), sorted.end(), rank);
      const int global = node.first_rank + rank;
      all[static_cast<std::size_t>(global)] = {
          static_cast<int>(n), node.group, gpu, static_cast<int>(position - sorted.begin()), gpus};
    }
  }
  return all;
}

std::string cut(std::string text, std::size_t most) {
  if (text.size() > most)
    text.resize(most);
  return text;
}

}  // namespace busbw::nccl::log
