// Messages inside a host, through shared memory: one copy into a slot of the receiver.
//
// Each rank owns a segment (shm_open) with the slots of its incoming links; its name is gone as
// soon as all ranks have mapped it, so that nothing is left behind however a rank ends. Who sleeps
// says so in its segment and is woken by a datagram to a socket without a file name; who polls is
// never woken. The death of a rank shows through the Watch only: memory does not tell. Assumes one
// IPC and network name space (host_identity()).
#pragma once
#include <memory>

#include "real/movers/mover.h"

namespace busbw::real {

std::unique_ptr<Mover> make_shm_mover();

}  // namespace busbw::real
