// See measured_player.h. Lanes wait for slots, data and each other; messages become flows.
#include "scenarios/measured_player.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "models/collectives/connections.h"
#include "scenarios/lanes.h"
#include "sim/core/check.h"

namespace busbw::scenarios {
namespace {

using collectives::Op;
using collectives::Schedule;
using collectives::Step;

enum EventKind : std::int64_t { kStart = 1, kArrival = 2, kLaneEnd = 3 };

struct Message {
  Bytes bytes;
  SimTime ready;           // when it was posted, or what comes before its bytes was done
  bool requested = false;  // what comes before its bytes is done
};

/// One connection: a FIFO of messages and the counters of its slots. Each counter counts messages
/// from the first on and is not above the one before it.
struct Wire {
  transport::MeasuredConnection connection;
  std::vector<Message> messages;  // all that were posted
  std::size_t prepared = 0;       // by the sender's processor
  std::size_t requested = 0;      // short messages that come before have passed
  std::size_t started = 0;        // handed to the engine
  std::size_t landed = 0;         // all bytes are there
  std::int64_t arrived = 0;       // and the receiver's processor has dealt with it
  std::int64_t consumed = 0;
  bool preparing = false;
  bool busy = false;
  bool receiving = false;
  std::int32_t moving_parts = 0;                 // flows of the message under way
  SimTime last_start;                            // of a message's bytes
  std::int32_t blocked_sender = Lanes::kNone;    // lane
  std::int32_t blocked_receiver = Lanes::kNone;  // lane
};

/// A short piece of work for a processor.
struct Turn {
  Duration time;
  std::function<void()> done;
};

class MeasuredPlayer {
 public:
  MeasuredPlayer(engine::Engine& engine, const Schedule& schedule,
                 const MeasuredPlayOptions& options, Fingerprint& fingerprint)
      : engine_(engine),
        schedule_(schedule),
        options_(options),
        fingerprint_(fingerprint),
        lanes_(schedule, [this](std::int32_t lane) { run_lane(lane); }) {
    resolve_wires();
  }

  Playback play() {
    const SimTime begin = engine_.now();
    end_ = begin;
    engine_.after(Duration(), [this] {
      lanes_.enqueue_all();
      lanes_.run();
    });
    engine_.run();
    if (!result_.failure) {
      lanes_.check_all_done();
    }
    if (engine_.now() < end_) {  // the next play starts when this one is over
      engine_.after(end_ - engine_.now(), [] {});
      engine_.run();
    }
    result_.time = end_ - begin;
    result_.period = result_.time;
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
    wires_of_ = std::move(connections.of_step);
  }

  void run_lane(std::int32_t id) {
    const std::vector<Step>& steps = schedule_.lanes[static_cast<std::size_t>(id)].steps;
    const std::size_t before = lanes_.done(id);
    std::size_t done = before;
    while (done < steps.size() && try_step(id, done)) {
      ++done;
    }
    if (done == before) {
      return;
    }
    if (done == steps.size()) {
      end_ = std::max(end_, engine_.now());
      record(kLaneEnd, id);
    }
    lanes_.advance(id, done);
  }

  /// Does one step if it can be done now; otherwise registers the lane with what it waits for.
  bool try_step(std::int32_t id, std::size_t index) {
    const Step& step = schedule_.lanes[static_cast<std::size_t>(id)].steps[index];
    if (!lanes_.waited_for(id, step)) {
      return false;
    }
    const std::int32_t wire_id = wires_of_[static_cast<std::size_t>(id)][index];
    if (wire_id == Lanes::kNone) {
      return true;  // reduce, copy: in the processors' rates or in no time
    }
    Wire& wire = wires_[static_cast<std::size_t>(wire_id)];
    if (step.op == Op::kSend) {
      if (static_cast<std::int64_t>(wire.messages.size()) - wire.consumed >= options_.slots) {
        wire.blocked_sender = id;
        return false;
      }
      wire.messages.push_back({step.bytes, engine_.now(), false});
      prepare_next(wire_id);
      return true;
    }
    if (wire.arrived <= wire.consumed) {
      wire.blocked_receiver = id;
      return false;
    }
    ++wire.consumed;
    end_ = std::max(end_, engine_.now() + wire.connection.settle);
    lanes_.wake(wire.blocked_sender);
    return true;
  }

  static Bytes work_of(Duration time) {
    return Bytes(detail::divide_rounded(time.ps(), 1000));  // transport::kWorkPerSecond
  }

  /// Keeps a processor busy for `time` of its own, then calls back. Shares it with other work.
  template <class Done>
  void work(engine::LinkId processor, Duration time, Done done) {
    engine::FlowSpec flow;
    flow.path = {processor};
    flow.size = work_of(time);
    flow.rate_cap = transport::kWorkPerSecond;
    engine_.start_flow(std::move(flow), [done](engine::FlowEnd /*end*/) { done(); });
  }

  /// The same for a short piece of work, which is done in one go: after those that came before.
  void work_in_turn(engine::LinkId processor, Duration time, std::function<void()> done) {
    std::deque<Turn>& turns = turns_[processor];
    turns.push_back({time, std::move(done)});
    if (turns.size() == 1) {
      begin_turn(processor);
    }
  }

  void begin_turn(engine::LinkId processor) {
    work(processor, turns_[processor].front().time, [this, processor] {
      std::deque<Turn>& turns = turns_[processor];
      const std::function<void()> done = std::move(turns.front().done);
      turns.pop_front();
      if (!turns.empty()) {
        begin_turn(processor);
      }
      done();
    });
  }

  /// The sender's processor deals with one message of a connection after the other.
  void prepare_next(std::int32_t wire_id) {
    Wire& wire = wires_[static_cast<std::size_t>(wire_id)];
    if (wire.preparing || wire.prepared == wire.messages.size()) {
      return;
    }
    const std::optional<transport::Work>& send_work = wire.connection.send_work;
    if (!send_work || send_work->each == Duration()) {
      request(wire_id, wire.prepared++, 0);
      return;
    }
    wire.preparing = true;
    work_in_turn(send_work->processor, send_work->each, [this, wire_id] {
      Wire& prepared = wires_[static_cast<std::size_t>(wire_id)];
      prepared.preparing = false;
      prepared.messages[prepared.prepared].ready = engine_.now();
      request(wire_id, prepared.prepared++, 0);
      prepare_next(wire_id);
    });
  }

  /// What has to come before the bytes of a message, from the `trip`-th short message on: each
  /// waits for what is queued on its way. Those of several messages are under way at the same time.
  void request(std::int32_t wire_id, std::size_t message, std::size_t trip) {
    Wire& wire = wires_[static_cast<std::size_t>(wire_id)];
    const auto& trips = wire.connection.requests;
    if (trip < trips.size()) {
      Duration wait;
      for (const auto& queue : trips[trip]) {
        wait = std::max(wait, queue->wait(engine_));
      }
      engine_.after(wait, [this, wire_id, message, trip] { request(wire_id, message, trip + 1); });
      return;
    }
    wire.messages[message].requested = true;
    for (const auto& queue : wire.connection.queues) {
      queue->add(wire.messages[message].bytes);
    }
    if (!trips.empty()) {
      wire.messages[message].ready = engine_.now();
    }
    while (wire.requested < wire.prepared && wire.messages[wire.requested].requested) {
      ++wire.requested;
    }
    start_next(wire_id);
  }

  void start_next(std::int32_t wire_id) {
    Wire& wire = wires_[static_cast<std::size_t>(wire_id)];
    if (wire.busy || wire.started == wire.requested) {
      return;
    }
    const transport::MeasuredConnection& connection = wire.connection;
    const Message& message = wire.messages[wire.started];
    const bool follows = wire.started > 0;
    ++wire.started;
    wire.busy = true;
    ++result_.messages;
    record(kStart, wire_id);
    // What is left of the latency after waiting for the messages before it.
    Duration delay = connection.latency - (engine_.now() - message.ready);
    if (connection.staging) {
      delay += message.bytes / *connection.staging;
    }
    if (follows) {
      delay = std::max(delay, connection.gap - (engine_.now() - wire.last_start));
    }
    delay = std::max(delay, Duration());
    wire.last_start = engine_.now() + delay;
    engine_.after(delay, [this, wire_id] { move(wire_id); });
  }

  void start_flow(std::int32_t wire_id, Bytes size) {
    Wire& wire = wires_[static_cast<std::size_t>(wire_id)];
    engine::FlowSpec flow;
    flow.path = wire.connection.path;
    flow.size = size;
    flow.rate_cap = wire.connection.rate_cap;
    ++wire.moving_parts;
    engine_.start_flow(std::move(flow),
                       [this, wire_id](engine::FlowEnd end) { on_end(wire_id, end); });
  }

  /// The bytes of a message whose latency is over: what finds tokens passes at once, the rest
  /// moves, and both processors work on the bytes meanwhile.
  void move(std::int32_t wire_id) {
    Wire& wire = wires_[static_cast<std::size_t>(wire_id)];
    const Message& message = wire.messages[wire.started - 1];
    const Bytes size = message.bytes;
    Bytes at_once = wire.connection.buckets.empty() ? Bytes() : size;
    for (const auto& bucket : wire.connection.buckets) {
      at_once = std::min(at_once, bucket->available(engine_));
    }
    for (const auto& bucket : wire.connection.buckets) {
      bucket->take(at_once);
    }
    for (const auto& queue : wire.connection.queues) {
      queue->add(Bytes() - at_once);  // it does not cross the link
    }
    start_flow(wire_id, size - at_once);
    for (const auto& one : {wire.connection.send_work, wire.connection.receive_work}) {
      if (one && one->rate) {
        ++wire.moving_parts;
        work(one->processor, size / *one->rate,
             [this, wire_id] { on_end(wire_id, engine::FlowEnd::kDone); });
      }
    }
  }

  void on_end(std::int32_t wire_id, engine::FlowEnd end) {
    Wire& wire = wires_[static_cast<std::size_t>(wire_id)];
    if (end != engine::FlowEnd::kDone) {
      if (!result_.failure) {
        result_.failure = wire.connection.name;
      }
      return;
    }
    if (--wire.moving_parts > 0) {
      return;
    }
    wire.busy = false;
    ++wire.landed;
    record(kArrival, wire_id);
    start_next(wire_id);
    receive_next(wire_id);
  }

  /// The receiver's processor deals with one message of a connection after the other.
  void receive_next(std::int32_t wire_id) {
    Wire& wire = wires_[static_cast<std::size_t>(wire_id)];
    const std::optional<transport::Work>& receive_work = wire.connection.receive_work;
    const bool waits = static_cast<std::size_t>(wire.arrived) < wire.landed;
    if (wire.receiving || !waits) {
      return;
    }
    if (receive_work && receive_work->each > Duration()) {
      wire.receiving = true;
      work_in_turn(receive_work->processor, receive_work->each,
                   [this, wire_id] { on_received(wire_id); });
      return;
    }
    on_received(wire_id);
  }

  void on_received(std::int32_t wire_id) {
    Wire& wire = wires_[static_cast<std::size_t>(wire_id)];
    wire.receiving = false;
    ++wire.arrived;
    receive_next(wire_id);
    lanes_.wake(wire.blocked_receiver);
    lanes_.run();
  }

  void record(EventKind kind, std::int32_t id) {
    fingerprint_.add(engine_.now().ps());
    fingerprint_.add(static_cast<std::int64_t>(kind));
    fingerprint_.add(static_cast<std::int64_t>(id));
  }

  engine::Engine& engine_;
  const Schedule& schedule_;
  const MeasuredPlayOptions& options_;
  Fingerprint& fingerprint_;
  std::vector<Wire> wires_;
  std::vector<std::vector<std::int32_t>> wires_of_;  // per lane and step, else Lanes::kNone
  Lanes lanes_;
  std::map<engine::LinkId, std::deque<Turn>> turns_;  // by processor; the first is being done
  SimTime end_;
  Playback result_;
};

}  // namespace

Playback play_measured(engine::Engine& engine, const Schedule& schedule,
                       const MeasuredPlayOptions& options, Fingerprint& fingerprint) {
  CHECK(options.slots > 0, "slots {}", options.slots);
  CHECK(!schedule.needs_switch(), "{} on ranks alone", to_string(schedule.algorithm));
  return MeasuredPlayer(engine, schedule, options, fingerprint).play();
}

}  // namespace busbw::scenarios
