// Plain values of the verbs interface, free of libibverbs: what its structs say, in busbw's words.
//
// Numbers of codes (work completion status, port state) follow the InfiniBand Architecture
// Specification and rdma-core 44 infiniband/verbs.h, so that a cast is all a translation needs.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace busbw::real::verbs {

using Gid = std::array<std::uint8_t, 16>;
/// "fe80::1" or, for an IPv4-mapped one, "::ffff:10.0.0.1".
std::string to_string(const Gid& gid);

/// How packets of a GID table entry travel.
enum class GidType { kInfiniBand, kRoceV1, kRoceV2, kUnknown };

struct GidEntry {
  Gid gid{};
  GidType type = GidType::kUnknown;
};

struct DeviceLimits {
  int max_queue_pairs = 0;
  int max_work_requests = 0;    // per queue of a QP
  int max_completions = 0;      // per CQ
  int max_shared_requests = 0;  // per SRQ; 0: no SRQ
  int max_reads = 0;            // RDMA READs outstanding per QP, as responder
  int max_reads_initiated = 0;  // and as initiator
  int ports = 0;
  std::uint64_t guid = 0;         // system image
  std::uint32_t vendor_part = 0;  // vendor_part_id
};

struct PortFacts {
  int state = 0;            // IBV_PORT_*: 1 down, 2 init, 3 armed, 4 active
  int physical_state = 0;   // 5 LinkUp
  bool ethernet = false;    // link layer
  bool infiniband = false;  // link layer
  int active_mtu = 0;       // bytes
  std::uint16_t lid = 0;
  int gid_entries = 0;
  std::int64_t speed_mbit = 0;  // lane rate x lanes
  std::uint32_t max_message = 0;
};

// Opaque objects of an implementation. Distinct types, so that a CQ is never passed for a QP.
template <class Tag>
struct Handle {
  void* object = nullptr;
};
using ContextHandle = Handle<struct ContextTag>;
using DomainHandle = Handle<struct DomainTag>;
using RegionHandle = Handle<struct RegionTag>;
using ChannelHandle = Handle<struct ChannelTag>;
using CompletionQueueHandle = Handle<struct CompletionQueueTag>;
using SharedQueueHandle = Handle<struct SharedQueueTag>;
using QueuePairHandle = Handle<struct QueuePairTag>;

/// A registered range and its keys.
struct Region {
  RegionHandle handle;
  std::uint32_t local_key = 0;
  std::uint32_t remote_key = 0;
};

struct QueuePairOptions {
  CompletionQueueHandle completions;  // of sends and receives
  SharedQueueHandle shared_queue;     // none: its own receive queue
  std::uint32_t send_depth = 1;
  std::uint32_t receive_depth = 1;  // ignored with a shared queue
  std::uint32_t inline_bytes = 0;   // wanted; the QP may offer more
};
struct CreatedQueuePair {
  QueuePairHandle handle;
  std::uint32_t number = 0;
  std::uint32_t inline_bytes = 0;
};

/// Where a QP connects to, and how hard it tries (RESET to INIT, RTR, RTS).
struct ConnectOptions {
  int port = 1;
  int pkey_index = 0;
  int mtu = 1024;  // bytes
  std::uint32_t peer_number = 0;
  std::uint32_t peer_sequence = 0;  // first packet sequence number of the peer
  std::uint32_t own_sequence = 0;
  std::uint16_t peer_lid = 0;
  bool global = false;  // with GRH: always on Ethernet
  Gid peer_gid{};
  int gid_index = 0;
  int service_level = 0;
  int traffic_class = 0;
  int timeout = 20;     // exponent: 4.096 us x 2^timeout; 0 for ever
  int retry_count = 7;  // 0 to 7
  int reads = 1;        // RDMA READs outstanding each way
};

enum class Opcode { kSend, kWriteWithImmediate, kRead };
std::string to_string(Opcode opcode);  // "SEND", "RDMA WRITE with immediate", "RDMA READ"

struct SendRequest {
  Opcode opcode = Opcode::kSend;
  std::uint64_t id = 0;
  const std::byte* local = nullptr;  // READ writes to it
  std::uint32_t length = 0;
  std::uint32_t local_key = 0;
  std::uint64_t remote_address = 0;  // WRITE and READ
  std::uint32_t remote_key = 0;
  std::uint32_t immediate = 0;  // WRITE and SEND; host order
  bool signalled = false;
  bool inlined = false;
};

struct ReceiveRequest {
  std::uint64_t id = 0;
  std::byte* local = nullptr;  // none: takes notifications only
  std::uint32_t length = 0;
  std::uint32_t local_key = 0;
};

/// A polled work completion. After a failure only id, status, queue pair and vendor code count.
struct Completion {
  std::uint64_t id = 0;
  int status = 0;  // IBV_WC_*, 0 success
  std::uint32_t queue_pair = 0;
  std::uint32_t bytes = 0;      // receives and READ
  std::uint32_t immediate = 0;  // receives; host order
  std::uint32_t vendor_code = 0;
};

/// What registering memory has cost: it pins pages and fills the device's tables.
struct Registration {
  std::int64_t regions = 0;
  std::int64_t bytes = 0;
  double us = 0;  // of all calls together
};

/// Something happened to a device outside any work request.
struct AsyncEvent {
  int type = 0;              // IBV_EVENT_*
  std::uint32_t number = 0;  // QP number or port, 0 if neither
};

}  // namespace busbw::real::verbs
