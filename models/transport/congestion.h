// Steady states of networks that lose or pause packets, as shares of a link's rate. The engine
// itself shares links max-min fairly: that is a lossless network with fair congestion control (RoCE
// with PFC and ECN, InfiniBand). Worked numbers: docs/models/ethernet.md.
#pragma once
#include <cstdint>

#include "models/params/conditions.h"
#include "sim/core/units.h"

namespace busbw::transport {

/// Packets under way at `rate`: 1 + rate x round trip / packet.
double window_packets(Bandwidth rate, Duration round_trip, Bytes packet);

/// Goodput over rate of a queue pair whose adapters go back to a lost packet and send all after it
/// again: (1 - p) / (1 - p + W p) for a loss p from 0 to 1 and W packets under way, W p of them
/// sent twice. Source: Bertsekas and Gallager, "Data Networks", 2nd ed., 2.4.1; that adapters do
/// so: Mittal et al., "Revisiting network support for RDMA", SIGCOMM 2018.
double go_back_n_share(double loss, double window);

/// Largest rate of a TCP stream that loses a share p of its segments: segment / round trip x
/// sqrt(3/2) / sqrt(p). Source: Mathis et al., "The macroscopic behavior of the TCP congestion
/// avoidance algorithm", ACM CCR 27(3), 1997. p above 0.
Bandwidth mathis_rate(Bytes segment, Duration round_trip, double loss);

/// Payload share of a port into which `senders` queue pairs send at full rate without PFC and
/// without ECN: of each sender's packets 1 - 1/n are dropped, so go_back_n_share() of n senders
/// together, n / (1 + W (n - 1)).
double lossy_incast_share(std::int64_t senders, double window);

/// Whether ECN alone keeps the buffer of a port from overflowing when `senders` begin at once: what
/// they send in excess until the first marks slow them fits. 50 us: least time between two
/// congestion notifications of a flow. Source: Zhu et al., "Congestion control for large-scale RDMA
/// deployments", SIGCOMM 2015, 5 (DCQCN parameters).
bool marks_in_time(std::int64_t senders, Bandwidth rate, const params::Congestion& congestion);

/// The same of TCP, where each sender has `block` bytes to send before any goes on: 1 while their
/// least windows fit the buffer; beyond that every block waits for a time-out, t / (t + time-out)
/// with t = senders x block / rate. Source: Phanishayee et al., "Measurement and analysis of TCP
/// throughput collapse in cluster-based storage systems", FAST 2008.
struct TcpIncast {
  std::int64_t senders = 0;
  Bytes block;
  Bytes segment;
  Bandwidth rate;    // of the port that all send to
  Duration timeout;  // of TCP's first retransmission
};
double tcp_incast_share(const TcpIncast& incast, const params::Congestion& congestion);

/// As a fraction of millionths, at least one.
Ratio share_of(double value);

}  // namespace busbw::transport
