// From NCCL's decision to what is played: rings and trees per channel, the NIC port of each channel
// on each host, and which algorithms and protocols come into question.
//
// Stands in for NCCL's graph search: inside a host the ring runs 0, L-1, ..., 1 and the tree chain
// 0, 1, ..., L-1, what NCCL finds for GPUs that are all equally near to each other (directly joined
// or two of them), each channel turned so that a GPU next to its NIC comes first. NVLink wirings
// where not all pairs are joined (pairs, hybrid cube mesh) come out too slow: the order takes links
// that a search would avoid. The algorithm with the smallest simulated time is taken, not the one
// of NCCL's own cost table; a workload may ask for one by name.
#pragma once
#include <string>
#include <vector>

#include "models/collectives/generate.h"
#include "models/nccl/chunking.h"
#include "models/nccl/selection.h"
#include "models/params/params.h"
#include "models/transport/wiring.h"
#include "scenarios/spec/scenario.h"

namespace busbw::scenarios {

struct Candidate {
  collectives::Algorithm algorithm = collectives::Algorithm::kRing;
  params::Protocol protocol = params::Protocol::kSimple;
};

struct Plan {
  collectives::Shape shape;           // rings and trees of all channels
  std::vector<Candidate> candidates;  // in NCCL's order: Tree, Ring; LL, LL128, Simple
  transport::WiringOptions wiring;    // protocol to be set per candidate
  std::int32_t hosts = 1;
  Bandwidth ring_bandwidth;  // of all searched ring channels, for the number of threads
};

/// What `decision` means for `variant`. Throws InputError when a chosen device is no NIC of the
/// machine, and for words in NCCL_ALGO or NCCL_PROTO that leave nothing to run.
Plan make_plan(const Variant& variant, const nccl::Decision& decision);

/// Algorithms and protocols that the environment leaves, for the collective on `hosts` hosts; none
/// when it asks only for what is not modelled (NVLS, CollNet) or for nothing that exists.
std::vector<Candidate> admitted_candidates(const nccl::Environment& environment,
                                           std::int32_t hosts);
/// The same. Throws InputError for none.
std::vector<Candidate> candidates_of(const nccl::Environment& environment, std::int32_t hosts);

/// `algorithm` with the protocols that the environment leaves, whatever NCCL_ALGO says.
/// Hierarchical, which NCCL does not have, is cut and played as a ring with LL or Simple is.
std::vector<Candidate> candidates_of(collectives::Algorithm algorithm,
                                     const nccl::Environment& environment, std::int32_t hosts);

/// How the collective is cut with this candidate: generator options, channels in use, and messages
/// of a connection that may be ahead of the receiver.
struct Cut {
  collectives::Options options;
  std::int32_t channels = 1;
  std::int32_t slots = 8;
};
Cut cut_of(const Plan& plan, const Variant& variant, Candidate candidate, Bytes bytes);

/// As NCCL logs them: "0 3 2 1", and the tree of one rank "1/-1/-1->0->4".
std::string ring_text(const collectives::RingOrder& ring);
std::string tree_text(const collectives::TreeParents& tree, RankId rank);

}  // namespace busbw::scenarios
