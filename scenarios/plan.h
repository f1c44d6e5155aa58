// From NCCL's decision to what is played: rings and trees per channel, the NIC port of each rank on
// each channel, and the algorithm and protocol of each size.
//
// Everything is taken from the graph decision (models/nccl/graph). Algorithms whose switches the
// player does not know (NVLS, CollNet) are passed over with a remark. A workload may ask for an
// algorithm by name, also for Hierarchical, which NCCL does not have.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "models/collectives/generate.h"
#include "models/nccl/chunking.h"
#include "models/nccl/selection.h"
#include "models/params/params.h"
#include "models/transport/wiring.h"
#include "scenarios/job.h"
#include "scenarios/spec/scenario.h"

namespace busbw::scenarios {

/// One way to run a size.
struct Candidate {
  collectives::Algorithm algorithm = collectives::Algorithm::kRing;
  params::Protocol protocol = params::Protocol::kSimple;
};

/// [rank][channel]
using RankPorts = std::vector<std::vector<transport::NetPort>>;

struct Plan {
  collectives::Shape shape;  // rings and trees of all channels
  RankPorts ring_ports;      // empty on one host
  RankPorts tree_ports;
  transport::WiringOptions wiring;  // protocol and ports to be set per candidate
  std::int32_t hosts = 1;           // nodes as NCCL counts them
  nccl::graph::Communicator comm;
  nccl::graph::Tuning tuning;
  nccl::graph::Switches switches;
};

/// What `job`, which runs, means for `variant`. Throws InputError when a chosen device is no NIC of
/// the machine.
Plan make_plan(const Variant& variant, const Job& job);

/// What to play for a size: first what NCCL takes, or what the workload asks for; then, for
/// comparison, the best of the other of Ring and Tree if NCCL may use it.
struct Candidates {
  std::vector<Candidate> list;
  std::optional<std::string> passed_over;  // NCCL's own choice when it is not played: "NVLS/Simple"
};
/// The list is empty when NCCL_ALGO and NCCL_PROTO leave nothing that can be played.
Candidates find_candidates(const Plan& plan, const Variant& variant, Bytes bytes);
/// The same. Throws InputError for an empty list.
Candidates candidates_of(const Plan& plan, const Variant& variant, Bytes bytes);

/// How the collective is cut with this candidate: generator options, channels in use, and messages
/// of a connection that may be ahead of the receiver.
struct Cut {
  collectives::Options options;
  std::int32_t channels = 1;
  std::int32_t slots = 8;
};
Cut cut_of(const Plan& plan, const Variant& variant, Candidate candidate, Bytes bytes);

/// As NCCL logs it: "0 3 2 1".
std::string ring_text(const collectives::RingOrder& ring);

}  // namespace busbw::scenarios
