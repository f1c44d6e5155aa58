// The way of a byte from GPU to GPU: every link that it crosses and everything else that limits it,
// as NCCL sends point to point and as the simulator plays it (models/transport/wiring.h).
//
// Layers are those of the stack from the framework down: "collective" is what NCCL's own threads
// do, "protocol" what the network's protocol does in software or in the adapter, "physical" the
// wires. Rates: `rate` of the medium after line coding, `payload` what protocol headers and known
// losses leave of it. Latencies are those of an idle system for one small message with the protocol
// Simple: each link's own, and at the end what posting a message and noticing it takes.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "scenarios/simulate.h"
#include "scenarios/spec/scenario.h"
#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace busbw::scenarios {

struct PathHop {
  std::string layer;
  std::string from;  // nodes of the fabric: "node0/gpu3"; empty: no link, a limit on the way
  std::string to;
  std::string over;                  // medium, as "PCIe"; of a limit what it is
  std::string carrier;               // who moves the byte: "GPU kernel of rank 0", "RDMA by mlx5_0"
  std::optional<Bandwidth> rate;     // nothing: of limits and latencies
  std::optional<Bandwidth> payload;  // nothing: no limit
  Duration latency;
};

struct BytePath {
  std::string transport;  // "nvlink", "pcie-p2p", "shm", "ib", "roce", "socket"
  std::vector<PathHop> hops;
  Bandwidth payload;  // the smallest
  Duration latency;   // the sum
};

struct BytePathEnds {
  RankId from;
  RankId to;
  ChannelId channel;
};

/// Throws InputError when the job does not run or the two cannot reach each other. The two ranks
/// must exist and differ.
BytePath byte_path(const Variant& variant, const Context& context, const BytePathEnds& ends);

}  // namespace busbw::scenarios
