// The life of SimGrid inside this process: one instance at a time, always the same options.
//
// SimGrid 3.32 keeps global state: option values, a clock that is never set back, signals that
// cannot be disconnected. Instances one after the other work when the options never change, which
// is why the options here serve both engines, and when nobody reads the clock as an absolute time.
#pragma once
#include <memory>

namespace simgrid::s4u {
class Engine;
}

namespace busbw::engine {

class SimGridSession {
 public:
  /// CHECK failure when another session is alive.
  SimGridSession();
  ~SimGridSession();
  SimGridSession(const SimGridSession&) = delete;
  SimGridSession& operator=(const SimGridSession&) = delete;

  [[nodiscard]] simgrid::s4u::Engine& simgrid() const { return *simgrid_; }

 private:
  std::unique_ptr<simgrid::s4u::Engine> simgrid_;
};

}  // namespace busbw::engine
