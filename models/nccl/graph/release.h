// What differs between the releases of NCCL in topology, search, channels and tuning.
//
// One flag for each rule, true from the named release on; the comment says what held before.
// Source: the NCCL releases themselves, src/graph/{topo,paths,search,connect,tuning}.cc and
// src/init.cc of the tags v2.18.1 to v2.30.7.
#pragma once
#include "models/nccl/version.h"

namespace busbw::nccl::graph {

struct Switches {
  Version version = kNewest;

  // 2.30.7
  bool better_path_by_type;     // before: larger bandwidth and not more hops
  bool local_cpu_by_bandwidth;  // before: fewest hops
  bool device_number_modulo;    // NIC of a GPU by dev mod GPUs of the NIC; before: by dev
  bool nvb_peers_by_links;      // p2p channels of NVB peers; before: 2
  // 2.30.3
  bool device_nodes;     // a physical GPU has its own node; before: the GPU carries the links
  bool owner_needs_gdr;  // PXN asks whether the relay may read by GPU Direct
  bool nvls_by_nic;      // NVLS channels of Blackwell by NIC bandwidth; before: 24 or 32
  // 2.29.2
  bool p2c_local_only;         // before: for every NIC
  bool gdr_to_p2c;             // GPU Direct level P2C; before: PXB, where P2C counts as C2C
  bool inter_limit_by_age;     // typeInter up to SYS before Hopper; before: largest existing
  bool fallback_own_nics;      // the simple order ends at the NICs of its GPUs; before: first NIC
  bool nvls_tree_factor;       // size correction of NVLSTree on Blackwell
  bool p2p_channels_by_speed;  // p2p channels from the NIC bandwidth
  // 2.28
  bool nvls_with_two;  // 2.28.9: NVLS with two GPUs; before: more than two
  bool nvls_model;     // 2.28.3: NVLS bandwidth by efficiency
  bool trim_nets;      // 2.28.3: unused NICs leave the document
  bool raise_to_nvls;  // 2.20 to 2.27: channels raised to the NVLS channels
  // 2.27
  bool owner_first;      // 2.27.6: start GPU is the owner of the NIC; before: the nearest ones
  bool p2c;              // 2.27.3: paths over C2C and the CPU, PXN up to P2C
  bool keep_nets;        // 2.27.3: NICs stay when all ranks are on one host
  bool interleave_nets;  // 2.27.3: NICs of an NVLink domain taken host by host
  // 2.26
  bool c2c;              // 2.26.2: C2C is a path type
  bool split_nvlink;     // 2.26.2: two NVLink domains need two rings
  bool largest_pattern;  // 2.26.2: the pattern is merged over the nodes
  bool intel_classes;    // 2.26.2: Sapphire and Emerald Rapids
  // 2.25
  bool existing_types;   // 2.25.1: the search starts at path types that exist
  bool chunk_all_pairs;  // 2.25.1: NVLink chunk only when all pairs have NVLink
  // 2.23.4
  bool cross_nic_pairs;  // odd channels leave where the even one entered; before: see search
  bool p2p_level_pxb;    // P2P up to PXB everywhere; before: SYS on AMD and POWER
  bool pat;              // PAT exists
  // 2.22.3
  bool rank_views;         // merge of the views of all ranks; before: one document
  bool nvls_unique_heads;  // before: a head may serve two channels, only the first NIC is tried
  // 2.21
  bool single_gpu_total;    // a GPU alone has 5000 GB/s; before: 0
  bool ring_ll_half;        // Ring LL: half the bandwidth; before: a quarter or a third
  bool unreachable_is_net;  // GPUs that only the network joins: type NET; before: DIS
  // 2.20
  bool cross_nic_rules;    // NICs of odd channels; before: a penalty of 15 %
  bool collnet_gather;     // CollNetDirect has AllGather and ReduceScatter
  bool reroute_below_phb;  // GPU Direct refused: detour only below PHB; before: always
  bool p2p_by_nic_count;   // p2p channels to remote peers by NICs; before: 2
  // 2.19
  bool second_ring_pass;     // rings are raised after the search, doubling comes before that
  bool nvls_min_model;       // NVLS: the smaller of both speeds; before: as other algorithms
  bool owner_is_near;        // the owner of a NIC is one of its nearest GPUs; before: any GPU
  bool nvswitch_neighbours;  // with NVSwitch only neighbours are tried, NICs rotate by channel
  bool amd_links;            // AMD sockets 16 GB/s; before: no limit
};

Switches switches_of(Version version);

}  // namespace busbw::nccl::graph
