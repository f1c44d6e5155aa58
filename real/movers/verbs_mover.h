// Messages over reliable connected queue pairs, in three interchangeable ways.
//
// WRITE: the sender writes into the slot of the receiver, RDMA WRITE with immediate; the slots'
//   address and key are exchanged once. READ: the sender sends where the bytes lie, the receiver
//   pulls them into its slot. SEND: the bytes land in receive buffers that the receiver has posted.
// In all three the immediate carries sequence number and part, and a SEND with immediate carries
// credits back: the number of messages popped so far.
//
// One completion queue per rank; one shared receive queue per rank unless shared_receives is off
// (fewer requests are posted and one pool of buffers serves all peers). Sends are signalled every
// n, READs always; short messages are inlined. Left out: atomics, UD, device memory registration by
// DMA-BUF (Buffers of the executor is the seam for it).
#pragma once
#include <memory>
#include <optional>

#include "models/nccl/connection_settings.h"
#include "real/movers/mover.h"
#include "real/verbs/resources.h"

namespace busbw::real {

enum class VerbsMethod { kWrite, kRead, kSend };
std::string to_string(VerbsMethod method);  // "WRITE", "READ", "SEND"
std::optional<VerbsMethod> parse_verbs_method(const std::string& name);

struct VerbsMoverOptions {
  int port = 1;
  int gid_index = 0;
  VerbsMethod method = VerbsMethod::kWrite;
  nccl::ConnectionSettings settings;
  std::int32_t signal_every = 8;    // sends per signalled one, 1 to 64
  std::uint32_t inline_bytes = 64;  // messages up to this are inlined if the QP can
  bool shared_receives = true;      // one SRQ for all queue pairs
  std::optional<int> completions;   // entries of the CQ; nothing: enough that it cannot overflow
};

/// A mover over one port of `device`.
std::unique_ptr<Mover> make_verbs_mover(std::shared_ptr<verbs::Device> device,
                                        const VerbsMoverOptions& options);

}  // namespace busbw::real
