// Messages over TCP, one connection per link: the baseline of the wrong network card, and what
// works everywhere.
//
// The sending rank connects. Both ends bind to the address of one interface, and to the interface
// itself (SO_BINDTODEVICE) where that is permitted, so that traffic leaves by it and not by a
// cheaper route. Wire: 4 bytes length and the message one way, 4 bytes "popped so far" the other.
// Nothing blocks after connect(); a queue of at most `slots` messages per link waits in this
// process. Left out: several sockets per link (NCCL_NSOCKS_PERTHREAD), encryption.
#pragma once
#include <memory>
#include <string>

#include "real/movers/mover.h"

namespace busbw::real {

struct TcpMoverOptions {
  std::string address;    // of the interface to use: "10.0.0.1", "fe80::1%eth1"; never a name
  std::string interface;  // to bind to as well; empty: by address only
};

std::unique_ptr<Mover> make_tcp_mover(const TcpMoverOptions& options);

}  // namespace busbw::real
