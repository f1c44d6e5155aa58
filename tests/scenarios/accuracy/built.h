// Systems built from records, and what the tests look at.
#pragma once
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenarios/accuracy/build_system.h"
#include "tests/scenarios/accuracy/library.h"

namespace busbw::scenarios::accuracy {

using Texts = std::vector<std::string>;

inline BuiltSystem build(const std::string& system, const std::string& more = "") {
  return build_system(record_of(system, more), library());
}

inline const topologies::Machine& host(const BuiltSystem& built) {
  EXPECT_TRUE(built.modelled) << built.reason;
  return built.variant.cluster.hosts.at(0);
}

inline Texts places(const topologies::Machine& machine) {
  Texts list;
  for (const topologies::MachineGpu& gpu : machine.gpus) {
    list.push_back(gpu.attach);
  }
  return list;
}

inline std::string nic_of(const std::string& type, int count, int gbps, const std::string& link) {
  return fmt::format(R"j({{"type": "{}", "count": {}, "Gbps": {}, "link": "{}"}})j", type, count,
                     gbps, link);
}

/// The system of `gpus` H100 a node on NVSwitch with this NIC object.
inline std::string hopper(int gpus, int nodes, const std::string& nic,
                          const std::string& more = "") {
  return fmt::format(R"j({{"gpu": "H100-SXM5-80GB", "gpus_per_node": {}, "nodes": {},
      "intra": {{"nvlink": "NVLink4", "switch": "NVSwitch3"}}, "nic": {}{}}})j",
                     gpus, nodes, nic, more);
}

inline const std::string kEight = nic_of("ConnectX-7", 8, 400, "InfiniBand NDR");

}  // namespace busbw::scenarios::accuracy
