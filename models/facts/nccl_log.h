// Reads the lines of NCCL's log, of releases 2.3 to 2.30, into facts.
//
// Ranks and hosts may be interleaved; lines may be cut, carry prefixes and colours, or have lost
// their frame. The shapes are a table; a line of another shape only counts as a line of the log.
//
// Facts (fields):
//   nccl.log {level}                       every line, by host
//   nccl.version {version}
//   nccl.bootstrap {interface, address}    what the bootstrap listens on
//   nccl.socket_device {index, interface, address}
//   nccl.hca {index, hca, port, link}      what the network uses; link is IB or RoCE
//   nccl.oob {interface, address}
//   nccl.network {name}                    "IB", "Socket", name of a plugin
//   nccl.env {name, value}                 name with NCCL_
//   nccl.channel {channel, from, to, from_device, to_device, way, net, gdr, direction}
//   nccl.gdr {state, hca, gpu, distance, limit}
//   nccl.completion {status, opcode, vendor, peer, side}
//   nccl.modify_qp {error, errno, hca, local_gid, remote_gid}
//   nccl.rank {rank, ranks, device, phase}
// and others of the table, named for what they say.
#pragma once
#include <memory>
#include <string_view>

#include "models/facts/fact.h"
#include "models/facts/log_line.h"

namespace busbw::facts {

class NcclLogReader {
 public:
  NcclLogReader();
  ~NcclLogReader();
  NcclLogReader(const NcclLogReader&) = delete;
  NcclLogReader& operator=(const NcclLogReader&) = delete;

  /// Takes the facts of one line of the log. `line` is the whole line, for quotes.
  void read(const NcclLine& nccl, std::string_view line, const Location& where, FactStore& facts);

 private:
  struct Table;
  std::unique_ptr<const Table> table_;
};

}  // namespace busbw::facts
