// What is asked of a system, and the bandwidth of NVLinks. Source of each bandwidth: NCCL 2.18 to
// 2.30.7, src/graph/topo.h.
#include <algorithm>

#include "models/nccl/graph/system.h"

namespace busbw::nccl::graph {

const char* to_string(NodeType type) {
  static constexpr std::array<const char*, kNodeTypes> kNames{"GPU", "PCI", "NVS", "CPU",
                                                              "NIC", "NET", "DEV"};
  return kNames.at(static_cast<std::size_t>(type));
}

int System::smallest_sm() const {
  int smallest = 1'000'000;
  for (const int gpu : all(NodeType::kGpu))
    smallest = std::min(smallest, nodes[static_cast<std::size_t>(gpu)].gpu.sm);
  return smallest;
}

int System::reverse(int link) const {
  const Link& forward = links[static_cast<std::size_t>(link)];
  for (const int back : nodes[static_cast<std::size_t>(forward.to)].links) {
    const Link& candidate = links[static_cast<std::size_t>(back)];
    if (candidate.to == forward.from && candidate.kind == forward.kind)
      return back;
  }
  return -1;
}

int whole(float value) {
  constexpr auto kLargest = static_cast<float>(1 << 30);
  return static_cast<int>(std::min(kLargest, std::max(-kLargest, value)));
}

float nvlink_bandwidth(int sm, const Switches& switches) {
  if (sm >= 100) {
    return switches.version >= Version{2, 27, 5} ? 40.1F
           : switches.version >= Version{2, 25, 1}
               ? 40.0F
               : (switches.version >= Version{2, 20, 3} ? 20.6F : 20.0F);
  }
  if (sm >= 90)
    return switches.version >= Version{2, 20, 3} ? 20.6F : 20.0F;
  if (sm == 86)
    return 12.0F;
  if (sm >= 80)
    return 20.0F;
  if (sm >= 70)
    return 20.0F;
  if (sm >= 60)
    return 18.0F;
  return 20.0F;
}

}  // namespace busbw::nccl::graph
