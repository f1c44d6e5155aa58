// What is queued at a port: a message that follows the bytes of others waits until they have left.
//
// The engine shares links fairly, which is right for long messages; a short one gets through at
// once there. Where that matters (the request of an RDMA READ that follows the port's own data) the
// wait is added from here.
#pragma once
#include "sim/core/units.h"
#include "sim/engine/engine.h"

namespace busbw::transport {

class PortQueue {
 public:
  /// Of `link`, which carries `rate` and has carried nothing yet.
  PortQueue(engine::LinkId link, Bandwidth rate) : link_(link), rate_(rate) {}

  /// Bytes that will cross the link join the queue now; fewer than 0 leave it.
  void add(Bytes bytes) { added_ += bytes; }
  /// How long until all bytes that joined have left.
  [[nodiscard]] Duration wait(const engine::Engine& engine) const {
    return (added_ - engine.usage(link_).carried) / rate_;
  }

 private:
  engine::LinkId link_;
  Bandwidth rate_;
  Bytes added_;
};

}  // namespace busbw::transport
