// Connections from measured parameters (models/params/measured.h) in place of the catalogue's.
//
// Model. The way from end a to end b crosses the sending port of a and the receiving port of b,
// each with the best bandwidth that any way through it had: a port is what several connections
// share, as the single port of a processor in LogGP. A way that was slower than both ports is
// capped. The ranks of a machine with at least as many processors have one each; fewer processors
// are one link that all ranks of the machine share, on which overheads and the work for each byte
// take turns. An end to itself (memory, loopback) has no port: a cap, and the processors. A message
// by RDMA READ asks first: the sender says where the bytes lie, the receiver requests them; both
// follow what is queued at the ports on their way.
// Left out: that acknowledgements and credits take bandwidth of the way back.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/params/measured.h"
#include "models/transport/measured_connection.h"
#include "sim/core/ids.h"
#include "sim/engine/engine.h"

namespace busbw::transport {

struct MeasuredWiringOptions {
  params::MoverKind mover = params::MoverKind::kWrite;
  std::vector<std::string> end_of_rank;
  std::vector<std::int32_t> host_of;  // of each rank
};

/// Adds engine links when a connection first needs them; what it made is kept, so that the same
/// links and buckets serve several plays. Keeps references: engine and parameters must outlive it.
class MeasuredWiring {
 public:
  MeasuredWiring(engine::Engine& engine, const params::Measured& measured,
                 MeasuredWiringOptions options);

  /// Whether connect() knows the way: between hosts always, inside a host when shared memory was
  /// measured.
  [[nodiscard]] bool covers(RankId from, RankId to) const;
  /// Throws InputError when the parameters lack one of the ends.
  MeasuredConnection connect(RankId from, RankId to);

 private:
  struct Port {
    engine::LinkId link;
    Bandwidth rate;
    std::shared_ptr<TokenBucket> bucket;  // nothing: none
    std::shared_ptr<PortQueue> queue;
  };
  enum class Direction { kSend, kReceive };
  [[nodiscard]] const std::string& end_of(RankId rank) const;
  [[nodiscard]] bool inside(RankId from, RankId to) const;
  Port& port_of(const std::string& end, Direction direction, const params::MeasuredLink& link);
  engine::LinkId processor_of(RankId rank);
  void connect_ports(const params::MeasuredLink& link, MeasuredConnection& connection);

  engine::Engine& engine_;
  const params::Measured& measured_;
  MeasuredWiringOptions options_;
  std::map<std::pair<std::string, Direction>, Port> ports_;
  std::map<std::string, engine::LinkId> processors_;  // by name of the link
};

}  // namespace busbw::transport
