// First releases of the rules. Source: the tags of NCCL named in the header.
#include "models/nccl/graph/release.h"

namespace busbw::nccl::graph {
namespace {

void newer_half(Switches& s, Version v) {
  const bool v2_30_7 = v >= Version{2, 30, 7};
  const bool v2_30_3 = v >= Version{2, 30, 3};
  const bool v2_29_2 = v >= Version{2, 29, 2};
  const bool v2_28_3 = v >= Version{2, 28, 3};
  const bool v2_27_3 = v >= Version{2, 27, 3};
  s.better_path_by_type = v2_30_7;
  s.local_cpu_by_bandwidth = v2_30_7;
  s.device_number_modulo = v2_30_7;
  s.nvb_peers_by_links = v2_30_7;
  s.device_nodes = v2_30_3;
  s.owner_needs_gdr = v2_30_3;
  s.nvls_by_nic = v2_30_3;
  s.p2c_local_only = v2_29_2;
  s.gdr_to_p2c = v2_29_2;
  s.inter_limit_by_age = v2_29_2;
  s.fallback_own_nics = v2_29_2;
  s.nvls_tree_factor = v2_29_2;
  s.p2p_channels_by_speed = v2_29_2;
  s.nvls_with_two = v >= Version{2, 28, 9};
  s.nvls_model = v2_28_3;
  s.trim_nets = v2_28_3;
  s.raise_to_nvls = v >= Version{2, 20, 3} && !v2_28_3;
  s.owner_first = v >= Version{2, 27, 6};
  s.p2c = v2_27_3;
  s.keep_nets = v2_27_3;
  s.interleave_nets = v2_27_3;
}

void older_half(Switches& s, Version v) {
  const bool v2_26_2 = v >= Version{2, 26, 2};
  const bool v2_25_1 = v >= Version{2, 25, 1};
  const bool v2_23_4 = v >= Version{2, 23, 4};
  const bool v2_22_3 = v >= Version{2, 22, 3};
  const bool v2_21_5 = v >= Version{2, 21, 5};
  const bool v2_20_3 = v >= Version{2, 20, 3};
  s.c2c = v2_26_2;
  s.split_nvlink = v2_26_2;
  s.largest_pattern = v2_26_2;
  s.intel_classes = v2_26_2;
  s.existing_types = v2_25_1;
  s.chunk_all_pairs = v2_25_1;
  s.cross_nic_pairs = v2_23_4;
  s.p2p_level_pxb = v2_23_4;
  s.pat = v2_23_4;
  s.rank_views = v2_22_3;
  s.nvls_unique_heads = v2_22_3;
  s.single_gpu_total = v2_21_5;
  s.ring_ll_half = v2_21_5;
  s.unreachable_is_net = v2_21_5;
  s.cross_nic_rules = v2_20_3;
  s.collnet_gather = v2_20_3;
  s.reroute_below_phb = v2_20_3;
  s.p2p_by_nic_count = v2_20_3;
  s.second_ring_pass = v >= Version{2, 19, 1};
  s.nvls_min_model = v >= Version{2, 19, 1};
  s.owner_is_near = v >= Version{2, 19, 1};
  s.nvswitch_neighbours = v >= Version{2, 19, 1};
  s.amd_links = v >= Version{2, 19, 1};
}

}  // namespace

Switches switches_of(Version version) {
  Switches s{};
  s.version = version;
  newer_half(s, version);
  older_half(s, version);
  return s;
}

}  // namespace busbw::nccl::graph
