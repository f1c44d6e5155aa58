// From NCCL's decision to what is played: rings and trees per channel, the NIC port of each rank on
// each channel, and the algorithm and protocol of each size.
//
// Everything is taken from the graph decision (models/nccl/graph). What has no schedule (all-gather
// and reduce-scatter that need the network's switch) is passed over with a remark. A workload may
// ask for an algorithm by name, also for Hierarchical, which NCCL does not have.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/collectives/generate.h"
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

/// Measured parameters in place of the catalogue's: how the ranks are found in them.
struct MeasuredNetwork {
  const params::Measured* parameters = nullptr;  // of the variant, which outlives the plan
  params::MoverKind mover = params::MoverKind::kWrite;
  std::vector<std::string> end_of_rank;
};

struct Plan {
  collectives::Shape shape;  // rings and trees of all channels
  /// NCCL's node of each rank: a host, or all hosts of an NVLink domain.
  std::vector<std::int32_t> node_of;
  RankPorts ring_ports;  // empty on one host
  RankPorts tree_ports;
  RankPorts nvls_ports;  // of heads, the same on each channel
  /// Of what goes point to point; nothing on one host.
  std::function<transport::PortPair(RankId from, RankId to, ChannelId channel)> pair_ports;
  transport::WiringOptions wiring;  // protocol and ports to be set per candidate
  std::int32_t hosts = 1;           // nodes as NCCL counts them
  bool equal_hosts = true;          // one topology, NICs of the same rates, no fabric file
  nccl::graph::Communicator comm;
  nccl::graph::Tuning tuning;
  nccl::graph::Switches switches;
  std::optional<MeasuredNetwork> measured;
  std::vector<std::string> addresses;  // by which the hosts know each other, empty ones unknown
};

/// What `job`, which runs, means for `variant`. Throws InputError when a chosen device is no NIC of
/// the machine, or when the variant's parameters do not know an end or the mover.
Plan make_plan(const Variant& variant, const Job& job);

/// What to play for a size: first what NCCL takes, or what the workload asks for; then, for
/// comparison, the best of each of Ring and Tree that NCCL may use. Point to point for
/// alltoall, sendrecv, gather and scatter.
struct Candidates {
  std::vector<Candidate> list;
  std::optional<std::string> passed_over;  // NCCL's own choice when it is not played: "NVLS/Simple"
};
/// The list is empty when NCCL_ALGO and NCCL_PROTO leave nothing that can be played.
Candidates find_candidates(const Plan& plan, const Variant& variant, Bytes bytes);
/// The same. Throws InputError for an empty list.
Candidates candidates_of(const Plan& plan, const Variant& variant, Bytes bytes);

/// As NCCL logs it: "0 3 2 1".
std::string ring_text(const collectives::RingOrder& ring);

}  // namespace busbw::scenarios
