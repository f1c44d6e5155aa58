// An engine and a readable log of what happened in it, for the tests of this folder.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/engine.h"

namespace busbw::engine {

constexpr Bandwidth gbps(std::int64_t n) {
  return Bandwidth::gigabits_per_second(n);
}
constexpr Duration us(std::int64_t n) {
  return Duration::microseconds(n);
}
constexpr Bytes kb(std::int64_t n) {
  return Bytes(n * 1000);
}

inline FlowSpec flow_over(std::vector<LinkId> path, Bytes size) {
  FlowSpec spec;
  spec.path = std::move(path);
  spec.size = size;
  return spec;
}

using Log = std::vector<std::string>;

/// One line an event: "time_ps name", and " down" behind it when a flow failed.
class Recorder {
 public:
  explicit Recorder(Kind kind) : engine_(make_engine(kind)) {}
  [[nodiscard]] Engine& engine() { return *engine_; }
  LinkId link(std::int64_t gbit) {
    return engine_->add_link("l" + std::to_string(engine_->link_count()), gbps(gbit));
  }
  FlowId flow(std::string name, std::vector<LinkId> path, Bytes size) {
    return flow(std::move(name), flow_over(std::move(path), size));
  }
  FlowId flow(std::string name, FlowSpec spec) {
    return engine_->start_flow(std::move(spec), [this, name = std::move(name)](FlowEnd end) {
      note(name + (end == FlowEnd::kDone ? "" : " down"));
    });
  }
  void at(Duration delay, Engine::TimerCallback callback) {
    engine_->after(delay, std::move(callback));
  }
  void note(const std::string& what) {
    log_.push_back(std::to_string(engine_->now().ps()) + " " + what);
  }
  /// Runs to the end and returns the lines since the last call.
  Log run() {
    engine_->run();
    return std::exchange(log_, {});
  }

 private:
  std::unique_ptr<Engine> engine_;
  Log log_;
};

inline const char* name_of(Kind kind) {
  return kind == Kind::kFluid ? "fluid" : "reference";
}

}  // namespace busbw::engine
