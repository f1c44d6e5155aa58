// Executor in simulated time: lanes wait for slots, data and each other; messages become flows.
#include "scenarios/player.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/collectives/connections.h"
#include "sim/core/check.h"

namespace busbw::scenarios {
namespace {

using collectives::Lane;
using collectives::Op;
using collectives::Schedule;
using collectives::Step;

constexpr std::int32_t kNone = -1;

enum EventKind : std::int64_t { kStart = 1, kArrival = 2, kLaneEnd = 3 };

struct Message {
  Bytes bytes;
  SimTime posted;
};

/// One connection: a FIFO of messages and the counters of its slots.
struct Wire {
  transport::Connection connection;
  std::vector<Message> messages;  // all that were posted
  std::size_t started = 0;        // of messages: handed to the engine
  std::int64_t arrived = 0;
  std::int64_t consumed = 0;
  bool busy = false;
  std::int32_t blocked_sender = kNone;    // lane
  std::int32_t blocked_receiver = kNone;  // lane
};

struct Waiter {
  std::int32_t lane = kNone;
  std::size_t step = 0;  // waits until this many steps of the other lane are done
};

struct LaneState {
  std::size_t done = 0;             // steps completed
  std::vector<std::int32_t> wires;  // per step: wire of a send or receive, else kNone
  std::vector<Waiter> waiters;      // other lanes that wait for this one
  bool queued = false;
};

class Player {
 public:
  Player(engine::Engine& engine, const Schedule& schedule, const PlayOptions& options,
         Fingerprint& fingerprint)
      : engine_(engine), schedule_(schedule), options_(options), fingerprint_(fingerprint) {
    resolve_wires();
  }

  Playback play() {
    const SimTime begin = engine_.now();
    end_ = begin + options_.launch;
    engine_.after(options_.launch, [this] {
      for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        enqueue(static_cast<std::int32_t>(lane));
      }
      run_lanes();
    });
    engine_.run();
    if (!result_.failure) {
      check_all_done();
    }
    result_.time = end_ - begin;
    return result_;
  }

 private:
  void resolve_wires() {
    collectives::Connections connections = collectives::connections_of(schedule_);
    wires_.reserve(connections.list.size());
    for (const collectives::Connection& connection : connections.list) {
      wires_.emplace_back();
      wires_.back().connection =
          options_.connect(connection.source, connection.destination, connection.channel);
    }
    lanes_.resize(schedule_.lanes.size());
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      lanes_[lane].wires = std::move(connections.of_step[lane]);
    }
  }

  void enqueue(std::int32_t lane) {
    LaneState& state = lanes_[static_cast<std::size_t>(lane)];
    if (!state.queued) {
      state.queued = true;
      runnable_.push_back(lane);
    }
  }

  void run_lanes() {
    // FIFO, not recursion: a chain of lanes that wake each other may be as long as the
    // communicator.
    for (std::size_t next = 0; next < runnable_.size(); ++next) {
      const std::int32_t lane = runnable_[next];
      lanes_[static_cast<std::size_t>(lane)].queued = false;
      run_lane(lane);
    }
    runnable_.clear();
  }

  void run_lane(std::int32_t id) {
    LaneState& state = lanes_[static_cast<std::size_t>(id)];
    const std::vector<Step>& steps = schedule_.lanes[static_cast<std::size_t>(id)].steps;
    const std::size_t before = state.done;
    while (state.done < steps.size() && try_step(id, steps[state.done])) {
      ++state.done;
    }
    if (state.done == before) {
      return;
    }
    if (state.done == steps.size()) {
      end_ = std::max(end_, engine_.now());
      record(kLaneEnd, id);
    }
    wake_waiters(state);
  }

  /// Does one step if it can be done now; otherwise registers the lane with what it waits for.
  bool try_step(std::int32_t id, const Step& step) {
    if (step.wait_lane != kNone && !waited_for(id, step)) {
      return false;
    }
    const std::int32_t wire_id =
        lanes_[static_cast<std::size_t>(id)].wires[lanes_[static_cast<std::size_t>(id)].done];
    if (wire_id == kNone) {
      return true;  // reduce, copy: fused with the receive and send around them
    }
    Wire& wire = wires_[static_cast<std::size_t>(wire_id)];
    if (step.op == Op::kSend) {
      if (static_cast<std::int64_t>(wire.messages.size()) - wire.consumed >= options_.slots) {
        wire.blocked_sender = id;
        return false;
      }
      wire.messages.push_back({step.bytes, engine_.now()});
      start_next(wire_id);
      return true;
    }
    if (wire.arrived <= wire.consumed) {
      wire.blocked_receiver = id;
      return false;
    }
    ++wire.consumed;
    wake(wire.blocked_sender);
    return true;
  }

  bool waited_for(std::int32_t id, const Step& step) {
    LaneState& other = lanes_[static_cast<std::size_t>(step.wait_lane)];
    const auto needed = static_cast<std::size_t>(step.wait_step) + 1;
    if (other.done >= needed) {
      return true;
    }
    other.waiters.push_back({id, needed});
    return false;
  }

  void wake(std::int32_t& lane) {
    if (lane != kNone) {
      enqueue(std::exchange(lane, kNone));
    }
  }

  void wake_waiters(LaneState& state) {
    std::erase_if(state.waiters, [&](const Waiter& waiter) {
      if (state.done < waiter.step) {
        return false;
      }
      enqueue(waiter.lane);
      return true;
    });
  }

  void start_next(std::int32_t wire_id) {
    Wire& wire = wires_[static_cast<std::size_t>(wire_id)];
    if (wire.busy || wire.started == wire.messages.size()) {
      return;
    }
    const Message& message = wire.messages[wire.started];
    const bool follows = wire.started > 0;
    ++wire.started;
    wire.busy = true;
    ++result_.messages;
    record(kStart, wire_id);
    // What is left of the latency after waiting for the messages before it.
    Duration delay = wire.connection.latency - (engine_.now() - message.posted);
    if (wire.connection.staged_copies > 0) {
      delay += message.bytes / wire.connection.staging * wire.connection.staged_copies;
    }
    delay = std::max(delay, follows ? wire.connection.per_message : Duration());
    engine::FlowSpec flow;
    flow.path = wire.connection.path;
    flow.size = Bytes(scale(message.bytes.count(), Ratio{options_.payload_share.denominator,
                                                         options_.payload_share.numerator}));
    flow.latency = delay;
    flow.rate_cap = wire.connection.rate_cap;
    engine_.start_flow(std::move(flow),
                       [this, wire_id](engine::FlowEnd end) { on_end(wire_id, end); });
  }

  void on_end(std::int32_t wire_id, engine::FlowEnd end) {
    Wire& wire = wires_[static_cast<std::size_t>(wire_id)];
    wire.busy = false;
    if (end != engine::FlowEnd::kDone) {
      if (!result_.failure) {
        result_.failure = wire.connection.name;
      }
      return;
    }
    ++wire.arrived;
    record(kArrival, wire_id);
    start_next(wire_id);
    wake(wire.blocked_receiver);
    run_lanes();
  }

  void record(EventKind kind, std::int32_t id) {
    fingerprint_.add(engine_.now().ps());
    fingerprint_.add(static_cast<std::int64_t>(kind));
    fingerprint_.add(static_cast<std::int64_t>(id));
  }

  void check_all_done() const {
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      const Lane& lane = schedule_.lanes[l];
      CHECK(lanes_[l].done == lane.steps.size(),
            "the schedule deadlocks: rank {} channel {} lane '{}' stands at step {} of {}",
            lane.rank.value(), lane.channel.value(), lane.role, lanes_[l].done, lane.steps.size());
    }
  }

  engine::Engine& engine_;
  const Schedule& schedule_;
  const PlayOptions& options_;
  Fingerprint& fingerprint_;
  std::vector<Wire> wires_;
  std::vector<LaneState> lanes_;
  std::vector<std::int32_t> runnable_;
  SimTime end_;
  Playback result_;
};

}  // namespace

Playback play(engine::Engine& engine, const Schedule& schedule, const PlayOptions& options,
              Fingerprint& fingerprint) {
  CHECK(options.slots > 0, "slots {}", options.slots);
  return Player(engine, schedule, options, fingerprint).play();
}

}  // namespace busbw::scenarios
