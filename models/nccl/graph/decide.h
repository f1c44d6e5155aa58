// The whole decision of NCCL for a job: systems, paths, graphs, channels, rings, trees, tuning.
//
// Assumes one rank per GPU, ranks numbered host by host, no fusion of NICs, no symmetric-memory
// kernels.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/environment.h"
#include "models/nccl/graph/channels.h"
#include "models/nccl/graph/tuning.h"
#include "models/nccl/graph/xml.h"
#include "models/nccl/version.h"

namespace busbw::nccl::graph {

struct DecideInput {
  std::vector<Element> topologies;
  std::vector<int> hosts;           // topology of each host, in order of rank
  int hosts_per_nvlink_domain = 0;  // 0 or 1: no domain spans hosts
  Environment environment;
  Version version = kNewest;
  bool collnet = false;           // every NIC reduces in the network, whatever `coll` says
  std::optional<Element> graphs;  // the file that NCCL_GRAPH_FILE names
};

struct Decision {
  Version version;
  Switches switches;
  int hosts = 0;
  int gpus_per_host = 0;  // of the first host
  bool mnnvl = false;
  int hosts_per_nvlink_domain = 0;
  Environment environment;
  bool collnet_there = false;  // some NIC reduces in the network
  std::vector<Group> groups;
  std::vector<NodePlace> nodes;
  Communicator comm;
  Rings rings;
  Trees trees;
  Tuning tuning;
};

/// `hosts` equal hosts.
DecideInput equal_hosts(const Element& topology, int hosts);

/// Throws InputError when the job is impossible: no GPU, too many ranks, words that NCCL refuses.
Decision decide(const DecideInput& input);

}  // namespace busbw::nccl::graph
