// The event engine: links, flows over explicit lists of links, timers, a clock.
//
// Two implementations stand behind it, both inside SimGrid's event loop (see make_engine):
//   fluid      our max-min fair model, incremental; the default
//   reference  SimGrid's own network model over the same explicit paths, latency paid by timers
// They agree to 1e-8. Events at one instant are delivered in order of (time, sequence number).
// Callbacks run on the engine's thread and may start flows, set timers and change capacities.
//
// One engine at a time: SimGrid has global state. Create the next one after the last is destroyed.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace busbw::engine {

using LinkId = Id<struct EngineLinkTag>;
using FlowId = std::int64_t;  // counts from 0 in order of start

enum class Kind { kFluid, kReference };

/// How a flow ended.
enum class FlowEnd {
  kDone,      // all bytes arrived
  kLinkDown,  // a link of its path had or got capacity 0
};

/// A transfer over an explicit path. Its rate is max-min fair over the links of `path`.
struct FlowSpec {
  std::vector<LinkId> path;           // may be empty: then only latency and rate_cap count
  Bytes size;                         // >= 0
  Duration latency;                   // paid once, before the first byte
  std::optional<Bandwidth> rate_cap;  // upper limit of this flow alone, > 0
  std::int64_t weight = 1;  // share relative to other flows, >= 1; kReference accepts 1 only
};

/// What a link carried so far.
struct LinkUsage {
  Bytes carried;  // whole bytes, rounded down
  Duration busy;  // time with at least one flow on it
};

class Engine {
 public:
  using FlowCallback = std::function<void(FlowEnd)>;
  using TimerCallback = std::function<void()>;

  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  /// Adds a one-way link. Capacity 0 means down.
  virtual LinkId add_link(std::string name, Bandwidth capacity) = 0;
  /// Changes a capacity now. 0 takes the link down: flows on it end with kLinkDown at this instant.
  virtual void set_capacity(LinkId link, Bandwidth capacity) = 0;
  [[nodiscard]] virtual Bandwidth capacity(LinkId link) const = 0;
  [[nodiscard]] virtual const std::string& name(LinkId link) const = 0;
  [[nodiscard]] virtual std::size_t link_count() const = 0;
  /// Starts a flow now. The callback comes later, never from inside this call; over a link that is
  /// down (now or when the latency is paid) it comes at that instant with kLinkDown.
  virtual FlowId start_flow(FlowSpec spec, FlowCallback on_end) = 0;
  /// Inside a callback with kLinkDown: whole bytes of that flow that had passed, rounded down.
  [[nodiscard]] virtual Bytes moved_when_cut() const = 0;
  /// Calls back after `delay` >= 0 (at the same instant, later in order, for 0).
  virtual void after(Duration delay, TimerCallback callback) = 0;
  [[nodiscard]] virtual SimTime now() const = 0;
  /// Runs until nothing is left to happen. May be called again after more was started. What a
  /// callback throws comes out of here; the engine can then only be destroyed.
  virtual void run() = 0;
  [[nodiscard]] virtual LinkUsage usage(LinkId link) const = 0;
  /// Events delivered so far (flow ends and timers): a measure of work.
  [[nodiscard]] virtual std::int64_t event_count() const = 0;
};

std::unique_ptr<Engine> make_engine(Kind kind);

}  // namespace busbw::engine
