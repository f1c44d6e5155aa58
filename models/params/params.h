// Parameters of transports and protocols as plain values. Every number comes from
// topologies/catalog/transports.yaml, with its source beside it; nothing here has a default that is
// a hardware number.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/params/conditions.h"
#include "sim/core/errors.h"
#include "sim/core/units.h"

namespace busbw::params {

/// NCCL's protocols: how a message carries its own "ready" flags.
enum class Protocol { kLowLatency, kLowLatency128, kSimple };
constexpr std::size_t kProtocols = 3;
/// NCCL's spelling: "LL", "LL128", "Simple".
std::string to_string(Protocol protocol);

/// A value per protocol.
template <class T>
using PerProtocol = std::array<T, kProtocols>;

/// How a transport moves bytes between two ranks. Latency: from posting a message to its first byte
/// on the first link, plus what the receiver needs to notice the last; the links' own latency comes
/// on top.
struct Transport {
  PerProtocol<Duration> latency;
  PerProtocol<Duration> tree_latency;  // of a step of Tree, NVLSTree and CollNetChain
  Duration per_message;                // least gap between two messages of a connection
  PerProtocol<Ratio> share;  // payload / bytes moved beyond the protocol's flags; 1 unless said
  std::string source;
};

/// TCP over a socket: what the CPU can do. Bandwidths count payload.
struct SocketCpu {
  Bandwidth proxy_thread;   // one proxy thread without helpers, sum of its sends and receives
  Bandwidth loopback;       // the same where all of it stays in its host
  Bandwidth socket;         // one TCP stream
  Bandwidth helper_thread;  // one helper thread (NCCL_SOCKET_NTHREADS), one direction
  Bandwidth connection;     // all sockets of one connection together
  std::string source;
};

/// What the packets of a network protocol add to their payload.
struct Packet {
  Bytes headers;         // inside the MTU (TCP: IP and TCP headers) or on top of it (RDMA)
  Bytes wire_framing;    // around each packet on a wire: preamble, Ethernet header, FCS, gap
  Bytes shaper_framing;  // what a traffic shaper of the kernel counts of it: the Ethernet header
  Ratio achieved;        // share of the rate less headers that is reached in practice
  std::string source;
};

/// What the threads of a block (a channel) read and write a second, all operands together, with
/// all of ThreadBlocks::threads; for GPUs of compute capability sm and above.
struct BlockSpeed {
  std::int32_t sm = 0;
  PerProtocol<Bandwidth> stream;
  PerProtocol<Ratio> slower{Ratio{1, 1}, Ratio{1, 1}, Ratio{1, 1}};  // steps, against per_primitive
                                                                     // and latency
  Ratio nvls_share;  // of what NVLink carries otherwise, for reductions in the NVSwitch
  std::optional<Ratio> nvlink_share;  // of this generation's NVLink, where it is not nvlink_share
};

struct ThreadBlocks {
  PerProtocol<std::int64_t> threads;  // of a block at full speed
  PerProtocol<Duration> per_primitive;
  PerProtocol<Bytes> round;  // of an operand that a thread moves at once
  Duration host_round_trip;  // of a read of host memory over PCIe
  Ratio spread{0, 1};        // between the fastest and the slowest block of a GPU, of the mean
  Ratio stores_wait{0,
                    1};  // of the stores in its own memory, those that wait for the ones to a peer
  PerProtocol<Ratio> tree_reduce;     // of the block's speed: the lane of a tree's way up
  PerProtocol<Ratio> tree_broadcast;  // and of its way down
  Ratio nvls_lane{1, 1};              // each lane of NVLS and NVLSTree
  std::vector<BlockSpeed> speeds;     // ascending sm
  std::string source;
};

/// What the CPU does for a call. A process hands the kernels of its GPUs over one after the other.
struct HostWork {
  Duration launch;                // of the kernel of one GPU
  Duration per_channel;           // of it, each channel
  Duration per_channel_uploaded;  // the same before NCCL 2.22, which put work into a queue
  Duration timed_alone;           // a framework's own between its events around one call
  Bandwidth flag_check;           // LL lines, flags included, that a proxy thread looks through
  std::string source;
};

/// Payload share of the raw rate of a link inside a host.
struct LinkShare {
  Ratio share;
  std::string source;
};

/// The same of PCIe, where more than the link can be narrow.
struct PcieShare {
  Ratio share;
  Ratio host_both_ways;  // of both directions' payload together, for thread blocks on host memory
  Bandwidth peer_reads;  // of a device that reads another's memory through a root complex
  Bandwidth peers_across_sockets;  // both directions of a device and another beside another socket
  /// Both directions of a root port with address translation, by the requests of DMA engines.
  Bandwidth translated;
  std::int64_t translated_by_blocks = 1;  // requests of thread blocks for one of a DMA engine
  std::string source;
};

struct Transports {
  PerProtocol<Duration> launch;      // from the call to the first step, and the end of the kernel
  PerProtocol<Ratio> payload_share;  // payload / bytes moved
  std::string launch_source;
  Transport nvlink, pcie, shm, nvls, rdma, socket;
  ThreadBlocks blocks;
  HostWork host;
  SocketCpu socket_cpu;
  Packet tcp, infiniband, roce;
  LinkShare nvlink_share, chip_to_chip_share, interconnect_share, memory_share;
  PcieShare pcie_share;
  Recovery recovery;
  Congestion congestion;
};

/// "0.876", "1448/1514" or "1"; nothing for other text or a value above 1 or not above 0.
std::optional<Ratio> parse_share(std::string_view text);

/// Reads directory/transports.yaml. Adds every problem of the file to `problems`.
Transports load_transports(const std::string& directory, Problems& problems);

/// The speed of a block of GPUs of capability `sm`; below the table: its first row.
const BlockSpeed& block_speed(const ThreadBlocks& blocks, std::int32_t sm);

/// TCP payload share of the rate of a wire at `mtu`: (mtu - headers) / (mtu + framing).
Ratio tcp_share(const Packet& tcp, std::int64_t mtu, bool shaped);
/// InfiniBand: path_mtu / (path_mtu + headers), times what is achieved.
Ratio infiniband_share(const Packet& packet, std::int64_t path_mtu);
/// The largest path MTU of 256 ... 4096 that fits with RoCE's headers into an Ethernet MTU. CHECKs
/// that one does.
std::int64_t roce_path_mtu(const Packet& packet, std::int64_t mtu);
/// RoCE v2 over Ethernet at `mtu`: the largest path MTU of 256 ... 4096 that fits, over it, its
/// headers and framing.
Ratio roce_share(const Packet& packet, std::int64_t mtu, bool shaped);

}  // namespace busbw::params
