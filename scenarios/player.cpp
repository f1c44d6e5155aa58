// Executor in simulated time: lanes wait for slots, data and each other; their primitives and the
// messages that others carry become flows.
#include "scenarios/player.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "models/collectives/connections.h"
#include "scenarios/carrier.h"
#include "scenarios/lanes.h"
#include "scenarios/primitive.h"
#include "sim/core/check.h"

namespace busbw::scenarios {
namespace {

using collectives::Lane;
using collectives::Schedule;
using collectives::Step;

enum EventKind : std::int64_t { kStart = 1, kArrival = 2, kLaneEnd = 3 };

/// One connection: the counters of its slots.
struct Wire {
  std::vector<char> closes;  // per send, where pieces are joined: whether a message ends there
  Message filling;           // the sends since
  std::int64_t posted = 0;
  std::int64_t arrived = 0;
  std::int64_t consumed = 0;
  Bytes outstanding;                             // posted and not arrived
  std::int32_t blocked_sender = Lanes::kNone;    // lane
  std::int32_t blocked_receiver = Lanes::kNone;  // lane
};

struct LaneState {
  std::vector<std::int32_t> wires;  // per step: wire of a send or receive, else Lanes::kNone
  std::optional<LaneSpeed> speed;
  Grouping grouping = Grouping::kSingle;
  Primitive primitive;  // the next one, once parsed
  bool parsed = false;
  int pending = 0;  // flows and timers of the primitive under way
  SimTime first;    // start of the first primitive
  SimTime last;     // end of the last
};

class Player {
 public:
  Player(engine::Engine& engine, const Schedule& schedule, const PlayOptions& options,
         Fingerprint& fingerprint)
      : engine_(engine),
        schedule_(schedule),
        options_(options),
        fingerprint_(fingerprint),
        turns_(schedule, [this](std::int32_t lane) { run_lane(lane); }) {
    resolve_wires();
  }

  Playback play() {
    begin_ = engine_.now();
    end_ = begin_ + options_.launch;
    if (options_.connected) {
      options_.connected();
    }
    if (options_.trouble != nullptr) {
      expect(*options_.trouble);
    }
    engine_.after(options_.launch, [this] {
      turns_.enqueue_all();
      turns_.run();
    });
    engine_.run();
    result_.stuck = open_lanes_ > 0 && !result_.ended;
    if (!result_.failure && !result_.ended && options_.trouble == nullptr) {
      turns_.check_all_done();
    }
    result_.time = end_ - begin_;
    result_.period = options_.launch + longest_part();
    count_bytes();
    return result_;
  }

 private:
  /// Sets the timers of what will go wrong.
  void expect(const Trouble& trouble) {
    for (const Incident& incident : trouble.incidents) {
      engine_.after(incident.at, [this, &incident] {
        incident.happen();
        carrier_->incident(incident);
        for (std::size_t lane = 0; options_.speed && lane < lanes_.size(); ++lane) {
          lanes_[lane].speed = options_.speed(schedule_.lanes[lane]);
        }
      });
    }
    if (trouble.watchdog) {
      engine_.after(*trouble.watchdog, [this] { give_up(); });
    }
  }

  /// The framework ends the call, if it is not over.
  void give_up() {
    if (open_lanes_ > 0 && !result_.ended) {
      result_.ended = engine_.now() - begin_;
      carrier_->stop();
    }
  }

  void on_broken(std::int32_t wire, bool at_once) {
    const std::string& name = connections_[static_cast<std::size_t>(wire)].name;
    if (!result_.failure) {
      result_.failure = name;
    }
    if (options_.trouble == nullptr) {
      return;
    }
    const collectives::Connection& ends = ends_[static_cast<std::size_t>(wire)];
    if (result_.broken.empty() && options_.trouble->notice) {
      engine_.after(*options_.trouble->notice, [this] { give_up(); });
    }
    result_.broken.push_back(
        {ends.source, ends.destination, ends.channel, name, engine_.now() - begin_, at_once});
  }

  void count_bytes() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      const std::vector<Step>& steps = schedule_.lanes[lane].steps;
      const std::size_t done = turns_.done(static_cast<std::int32_t>(lane));
      for (std::size_t step = 0; step < steps.size(); ++step) {
        if (steps[step].op == collectives::Op::kSend) {
          result_.asked += steps[step].bytes;
          result_.lost += step < done ? Bytes() : steps[step].bytes;
        }
      }
    }
    for (const Wire& wire : wires_) {
      result_.lost += wire.outstanding;
    }
    CHECK(result_.asked == result_.arrived + result_.lost, "{} bytes asked, {} arrived, {} lost",
          result_.asked.count(), result_.arrived.count(), result_.lost.count());
  }

  void resolve_wires() {
    collectives::Connections connections = collectives::connections_of(schedule_);
    ends_ = std::move(connections.list);
    wires_.resize(ends_.size());
    connections_.reserve(ends_.size());
    for (const collectives::Connection& ends : ends_) {
      connections_.push_back(options_.connect(ends.source, ends.destination, ends.channel));
    }
    carrier_.emplace(
        engine_, connections_, ends_, options_.connect, options_.trouble,
        Carrier::Events{[this](std::int32_t wire) { record(kStart, wire); },
                        [this](std::int32_t wire, const Message& message) {
                          on_arrival(wire, message.bytes, message.pieces);
                        },
                        [this] { turns_.run(); },
                        [this](std::int32_t wire, bool at_once) { on_broken(wire, at_once); }});
    lanes_.resize(schedule_.lanes.size());
    open_lanes_ = static_cast<std::int64_t>(
        std::count_if(schedule_.lanes.begin(), schedule_.lanes.end(),
                      [](const Lane& lane) { return !lane.steps.empty(); }));
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      lanes_[lane].wires = std::move(connections.of_step[lane]);
      if (options_.speed) {
        lanes_[lane].speed = options_.speed(schedule_.lanes[lane]);
      }
      if (lanes_[lane].speed) {
        lanes_[lane].grouping =
            uses_network(lanes_[lane].wires) ? Grouping::kAcrossLoops : Grouping::kPrimitives;
      }
      if (options_.pieces > 1) {
        join_pieces(schedule_.lanes[lane], lanes_[lane].wires);
      }
    }
  }

  [[nodiscard]] bool uses_network(const std::vector<std::int32_t>& wires) const {
    return std::any_of(wires.begin(), wires.end(), [&](std::int32_t wire) {
      return wire != Lanes::kNone && connections_[static_cast<std::size_t>(wire)].carried;
    });
  }

  /// Whether `next` is a further piece of the slot that `send` is in.
  [[nodiscard]] bool same_slot(const Step& send, const Step& next) const {
    if (options_.piece_per_chunk) {
      return send.chunk / options_.pieces == next.chunk / options_.pieces;
    }
    return send.chunk == next.chunk && send.buffer == next.buffer &&
           send.offset + send.bytes == next.offset;
  }

  void join_pieces(const Lane& lane, const std::vector<std::int32_t>& wires) {
    struct Last {
      const Step* step = nullptr;
      std::int32_t pieces = 0;
    };
    std::map<std::int32_t, Last> last;
    for (std::size_t at = 0; at < lane.steps.size(); ++at) {
      const Step& step = lane.steps[at];
      if (step.op != collectives::Op::kSend || step.joined) {
        continue;
      }
      Wire& wire = wires_[static_cast<std::size_t>(wires[at])];
      Last& before = last[wires[at]];
      const bool goes_on = before.step != nullptr && before.pieces < options_.pieces &&
                           same_slot(*before.step, step);
      if (before.step != nullptr) {
        wire.closes.back() = goes_on ? 0 : 1;
      }
      wire.closes.push_back(1);
      before = {&step, goes_on ? before.pieces + 1 : 1};
    }
  }

  /// From the first primitive of a rank to its last, of the rank where that takes longest.
  [[nodiscard]] Duration longest_part() const {
    std::vector<std::optional<std::pair<SimTime, SimTime>>> parts(
        static_cast<std::size_t>(schedule_.ranks));
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      const std::size_t rank = schedule_.lanes[lane].rank.index();
      if (rank >= parts.size() || schedule_.lanes[lane].steps.empty()) {
        continue;  // a switch
      }
      const LaneState& state = lanes_[lane];
      auto& part = parts[rank];
      part = part
                 ? std::pair{std::min(part->first, state.first), std::max(part->second, state.last)}
                 : std::pair{state.first, state.last};
    }
    Duration longest;
    for (const auto& part : parts) {
      longest = part ? std::max(longest, part->second - part->first) : longest;
    }
    return longest;
  }

  Wire& wire_of(const PrimitiveMessage& message) {
    return wires_[static_cast<std::size_t>(message.wire)];
  }
  const transport::Connection& connection_of(const PrimitiveMessage& message) {
    return connections_[static_cast<std::size_t>(message.wire)];
  }

  void run_lane(std::int32_t id) {
    LaneState& state = lanes_[static_cast<std::size_t>(id)];
    const Lane& lane = schedule_.lanes[static_cast<std::size_t>(id)];
    while (state.pending == 0 && !turns_.at_end(id)) {
      if (!state.parsed) {
        parse_primitive(lane, state.wires, turns_.done(id), state.grouping, state.primitive);
        state.parsed = true;
      }
      if (!ready(id, state)) {
        return;
      }
      if (turns_.done(id) == 0) {
        state.first = engine_.now();
      }
      start(id, state);
      if (state.pending == 0) {
        finish(id, state);
      }
    }
  }

  /// Whether the primitive can start; otherwise the lane is registered with what it waits for.
  bool ready(std::int32_t id, const LaneState& state) {
    const std::vector<Step>& steps = schedule_.lanes[static_cast<std::size_t>(id)].steps;
    for (std::size_t step = state.primitive.begin; step < state.primitive.end; ++step) {
      if (!turns_.waited_for(id, steps[step])) {
        return false;
      }
    }
    for (const PrimitiveMessage& message : state.primitive.receives) {
      Wire& wire = wire_of(message);
      if (wire.arrived <= wire.consumed) {
        wire.blocked_receiver = id;
        return false;
      }
    }
    for (const PrimitiveMessage& message : state.primitive.sends) {
      Wire& wire = wire_of(message);
      if (wire.posted - wire.consumed >= options_.slots) {
        wire.blocked_sender = id;
        return false;
      }
    }
    return true;
  }

  /// Of what the threads do over links: what goes before, and what it takes at least.
  struct PartTime {
    Duration before;
    Duration least;
  };

  /// Starts what the threads of the lane do for the primitive.
  void start(std::int32_t id, LaneState& state) {
    if (!state.speed) {
      return;
    }
    const Primitive& primitive = state.primitive;
    const Duration time =
        std::max(time_of(primitive, *state.speed), host_time_of(primitive, *state.speed));
    for (const PrimitiveMessage& message : primitive.receives) {
      start_part(id, state, message, connection_of(message).drain, {Duration(), time});
    }
    const Duration stores = std::min(time, store_time_of(primitive, *state.speed));
    for (const PrimitiveMessage& message : primitive.sends) {
      const transport::Connection& connection = connection_of(message);
      const bool to_peer = !connection.carried && connection.drain.empty();
      const Duration before = to_peer ? stores : Duration();
      start_part(id, state, message, connection.fill, {before, time - before});
    }
    if (state.pending == 0) {
      ++state.pending;
      engine_.after(state.speed->per_primitive + time, [this, id] { on_part_end(id); });
    }
  }

  /// What the threads need for the primitive, beyond a first round.
  static Duration time_of(const Primitive& primitive, const LaneSpeed& speed) {
    const Bytes rest = primitive.longest - speed.first_round;
    if (rest <= Bytes()) {
      return {};
    }
    const Ratio left{rest.count(), primitive.longest.count()};
    return Bytes(scale(primitive.touched.count(), left)) / speed.stream;
  }

  /// Of that, what adds to the time of a link: stores of a thread leave in order, and so a part of
  /// those in the rank's own output waits with the ones to a peer.
  static Duration store_time_of(const Primitive& primitive, const LaneSpeed& speed) {
    const Bytes rest = primitive.longest - speed.first_round;
    if (rest <= Bytes()) {
      return {};
    }
    const Ratio left{rest.count(), primitive.longest.count()};
    const Bytes waiting(scale(primitive.stored.count(), speed.stores_wait));
    return Bytes(scale(waiting.count(), left)) / speed.stream;
  }

  /// What they need when they read the host's memory, which answers a round trip later: the rounds
  /// one after the other, each followed by what it stores in the host's memory.
  Duration host_time_of(const Primitive& primitive, const LaneSpeed& speed) {
    Duration reads;
    for (const PrimitiveMessage& message : primitive.receives) {
      const Bytes rest = message.bytes - speed.first_round;
      const Duration round_trip = connection_of(message).read_round_trip;
      if (rest > Bytes() && round_trip > Duration()) {
        reads += Duration::picoseconds(
            scale(round_trip.ps(), Ratio{rest.count(), speed.read_round.count()}));
      }
    }
    if (reads == Duration()) {
      return reads;
    }
    Duration stores;
    for (const PrimitiveMessage& message : primitive.sends) {
      if (!connection_of(message).fill.empty()) {
        stores += message.bytes * 2 / speed.stream;  // read and written
      }
    }
    return reads + stores;
  }

  /// Reads or writes `message` over `links`, if there are any, in `time` at least.
  void start_part(std::int32_t id, LaneState& state, const PrimitiveMessage& message,
                  const std::vector<engine::LinkId>& links, PartTime time) {
    if (links.empty()) {
      return;
    }
    ++state.pending;
    engine::FlowSpec flow;
    flow.path = links;
    flow.size = moved(message.bytes, connection_of(message));
    flow.latency = state.speed->per_primitive + time.before;
    flow.rate_cap = flow.size / std::max(time.least, Duration::picoseconds(1));
    const std::int32_t wire = message.wire;
    engine_.start_flow(std::move(flow), [this, id, wire](engine::FlowEnd end) {
      if (end != engine::FlowEnd::kDone) {
        on_broken(wire, true);
        return;
      }
      on_part_end(id);
    });
  }

  void on_part_end(std::int32_t id) {
    LaneState& state = lanes_[static_cast<std::size_t>(id)];
    if (--state.pending > 0) {
      return;
    }
    finish(id, state);
    turns_.enqueue(id);
    turns_.run();
  }

  /// The primitive is done: frees what it received, hands on what it sends.
  void finish(std::int32_t id, LaneState& state) {
    for (const PrimitiveMessage& message : state.primitive.receives) {
      Wire& wire = wire_of(message);
      ++wire.consumed;
      turns_.wake(wire.blocked_sender);
    }
    for (const PrimitiveMessage& message : state.primitive.sends) {
      Wire& wire = wire_of(message);
      ++wire.posted;
      ++result_.messages;
      wire.outstanding += message.bytes;
      if (connection_of(message).carried) {
        post(message);
      } else {
        record(kStart, message.wire);
        engine_.after(connection_of(message).latency, [this, message] {
          on_arrival(message.wire, message.bytes, 1);
          turns_.run();
        });
      }
    }
    state.parsed = false;
    turns_.advance(id, state.primitive.end);
    if (turns_.at_end(id)) {
      state.last = engine_.now();
      end_ = std::max(end_, state.last);
      --open_lanes_;
      record(kLaneEnd, id);
    }
  }

  /// Adds a send to the message that its slot makes, and posts that when it is complete.
  void post(const PrimitiveMessage& send) {
    Wire& wire = wire_of(send);
    wire.filling.bytes += send.bytes;
    ++wire.filling.pieces;
    const auto sent = static_cast<std::size_t>(wire.posted - 1);
    if (!wire.closes.empty() && wire.closes.at(sent) == 0) {
      return;
    }
    wire.filling.posted = engine_.now();
    const Message message = std::exchange(wire.filling, {});
    carrier_->post(send.wire, message, moved(message.bytes, connection_of(send)));
  }

  void on_arrival(std::int32_t wire_id, Bytes bytes, std::int32_t pieces) {
    if (result_.ended) {
      return;
    }
    Wire& wire = wires_[static_cast<std::size_t>(wire_id)];
    wire.arrived += pieces;
    wire.outstanding -= bytes;
    result_.arrived += bytes;
    record(kArrival, wire_id);
    turns_.wake(wire.blocked_receiver);
  }

  /// Payload over bytes moved of a connection's messages.
  [[nodiscard]] Ratio share_of(const transport::Connection& connection) const {
    return {options_.payload_share.numerator * connection.share.numerator,
            options_.payload_share.denominator * connection.share.denominator};
  }
  static Ratio inverse(Ratio ratio) { return {ratio.denominator, ratio.numerator}; }
  [[nodiscard]] Bytes moved(Bytes payload, const transport::Connection& connection) const {
    return Bytes(scale(payload.count(), inverse(share_of(connection))));
  }

  void record(EventKind kind, std::int32_t id) {
    fingerprint_.add(engine_.now().ps());
    fingerprint_.add(static_cast<std::int64_t>(kind));
    fingerprint_.add(static_cast<std::int64_t>(id));
  }

  engine::Engine& engine_;
  const Schedule& schedule_;
  const PlayOptions& options_;
  Fingerprint& fingerprint_;
  std::vector<collectives::Connection> ends_;       // by wire
  std::vector<transport::Connection> connections_;  // by wire
  std::vector<Wire> wires_;
  std::vector<LaneState> lanes_;
  std::optional<Carrier> carrier_;
  Lanes turns_;
  std::int64_t open_lanes_ = 0;  // that have steps left
  SimTime begin_;
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
