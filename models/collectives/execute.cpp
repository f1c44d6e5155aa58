// Executor on int64 arrays. See execute.h. A message keeps a copy of its bytes and where they came
// from, so that the receive can check that a transport without copies would have seen the same.
#include "models/collectives/execute.h"

#include <array>
#include <deque>

#include "models/collectives/connections.h"
#include "sim/core/check.h"
#include "sim/core/random.h"

namespace busbw::collectives {
namespace {

/// Elements [begin, begin + size) of the data; an element is empty until it is first written.
struct Memory {
  std::size_t begin = 0;
  Numbers values;
  std::vector<bool> written;

  void reset(std::size_t first, std::size_t size) {
    begin = first;
    values.assign(size, 0);
    written.assign(size, false);
  }
};

/// One send; a message is a run of joined ones and the one after them.
struct Piece {
  Numbers values;
  std::size_t rank = 0;  // source
  Buffer buffer = Buffer::kInput;
  std::size_t first = 0;  // index in the source's memory
};

struct Queue {
  std::deque<Piece> pieces;
  std::int32_t messages = 0;  // in flight
};

struct Range {
  std::size_t first = 0;
  std::size_t count = 0;
};

class Executor {
 public:
  Executor(const Schedule& schedule, const std::vector<Numbers>& inputs,
           const ExecuteOptions& options)
      : schedule_(schedule),
        options_(options),
        connections_(connections_of(schedule)),
        queues_(connections_.list.size()),
        next_(schedule.lanes.size(), 0),
        random_(options.order_seed) {
    CHECK(options.slots > 0, "slots {}", options.slots);
    CHECK(static_cast<std::int64_t>(inputs.size()) == schedule.ranks, "{} inputs", inputs.size());
    CHECK(options.slots <= schedule.max_slots, "slots {}, the schedule allows {}", options.slots,
          schedule.max_slots);
    CHECK(!options.in_place || allows_in_place(schedule.collective), "{} in place",
          to_string(schedule.collective));
    const std::size_t nodes = inputs.size() + schedule.switches.size();
    memory_.resize(nodes);
    pending_.resize(nodes);
    result_.sent.assign(nodes, std::vector<Bytes>(nodes));
    for (std::size_t node = 0; node < nodes; ++node) {
      reset(node, Buffer::kScratch, extent(node, Buffer::kScratch));
      pending_[node].assign(memory(node, Buffer::kScratch).values.size(), false);
      if (node < inputs.size()) {
        fill(node, inputs[node]);
      }
    }
  }

  Execution run() {
    while (options_.order_seed == 0 ? turn_in_order() : turn_at_random()) {
    }
    for (std::size_t lane = 0; lane < next_.size(); ++lane) {
      CHECK(next_[lane] == steps(lane).size(), "deadlock: {} cannot proceed",
            describe_step(schedule_, lane, next_[lane]));
    }
    for (std::int32_t rank = 0; rank < schedule_.ranks; ++rank) {
      result_.output.push_back(take_output(static_cast<std::size_t>(rank)));
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] Extent extent(std::size_t node, Buffer buffer) const {
    return extent_of(schedule_, RankId(static_cast<std::int32_t>(node)), buffer);
  }
  void reset(std::size_t node, Buffer buffer, const Extent& extent) {
    const Range range = this->range(extent.begin, extent.size);
    memory(node, buffer).reset(range.first, range.count);
  }
  /// Gives a rank its input and room for its output.
  void fill(std::size_t rank, const Numbers& values) {
    const Extent input = extent(rank, Buffer::kInput);
    const Extent output = extent(rank, Buffer::kOutput);
    const Range range = this->range(input.begin, input.size);
    CHECK(values.size() == range.count, "rank {} has {} elements", rank, values.size());
    if (options_.in_place) {  // one memory: the larger extent, which holds the other
      reset(rank, Buffer::kInput, input.size < output.size ? output : input);
    } else {
      reset(rank, Buffer::kInput, input);
      reset(rank, Buffer::kOutput, output);
    }
    Memory& memory = this->memory(rank, Buffer::kInput);
    for (std::size_t i = 0; i < range.count; ++i) {
      memory.values[range.first - memory.begin + i] = values[i];
      memory.written[range.first - memory.begin + i] = true;
    }
  }
  Numbers take_output(std::size_t rank) {
    const Extent output = extent(rank, Buffer::kOutput);
    const Range range = this->range(output.begin, output.size);
    const Memory& memory = this->memory(rank, Buffer::kOutput);
    Numbers values;
    for (std::size_t i = 0; i < range.count; ++i) {
      const std::size_t at = range.first - memory.begin + i;
      CHECK(memory.written[at], "rank {}: output element {} was never written", rank, i);
      values.push_back(reduces(schedule_.collective)
                           ? finish(options_.reduction, memory.values[at], schedule_.ranks)
                           : memory.values[at]);
    }
    return values;
  }

  [[nodiscard]] const std::vector<Step>& steps(std::size_t lane) const {
    return schedule_.lanes[lane].steps;
  }
  Memory& memory(std::size_t rank, Buffer buffer) {
    // In place, the output is the input.
    const bool output = buffer == Buffer::kOutput && !options_.in_place;
    return memory_[rank][output ? 1 : (buffer == Buffer::kScratch ? 2 : 0)];
  }
  [[nodiscard]] Range range(Bytes offset, Bytes bytes) const {
    return {static_cast<std::size_t>(offset / schedule_.element),
            static_cast<std::size_t>(bytes / schedule_.element)};
  }
  /// The part of `memory` at `offset` of the data.
  [[nodiscard]] Range range_in(const Memory& memory, Bytes offset, Bytes bytes) const {
    const Range data = range(offset, bytes);
    return {data.first - memory.begin, data.count};
  }

  /// Each lane as far as it gets; false when none moved.
  bool turn_in_order() {
    bool moved = false;
    for (std::size_t lane = 0; lane < next_.size(); ++lane) {
      while (can_step(lane)) {
        step(lane);
        moved = true;
      }
    }
    return moved;
  }
  /// One step of a lane drawn at random, or of the next after it that can go on.
  bool turn_at_random() {
    const std::size_t first = next_.empty() ? 0 : random_.below(next_.size());
    for (std::size_t turn = 0; turn < next_.size(); ++turn) {
      const std::size_t lane = (first + turn) % next_.size();
      if (can_step(lane)) {
        step(lane);
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool can_step(std::size_t lane) const {
    const std::size_t number = next_[lane];
    if (number == steps(lane).size()) {
      return false;
    }
    const Step& step = steps(lane)[number];
    if (step.wait_lane >= 0 && next_[static_cast<std::size_t>(step.wait_lane)] <=
                                   static_cast<std::size_t>(step.wait_step)) {
      return false;
    }
    const std::int32_t connection = connections_.of_step[lane][number];
    if (connection < 0) {
      return true;
    }
    const Queue& queue = queues_[static_cast<std::size_t>(connection)];
    return step.op == Op::kReceive ? !queue.pieces.empty() : queue.messages < options_.slots;
  }

  void step(std::size_t lane) {
    const Step& step = steps(lane)[next_[lane]];
    switch (step.op) {
      case Op::kSend:
        send(lane, step);
        break;
      case Op::kReceive:
        receive(lane, step);
        break;
      case Op::kReduce:
        reduce(lane, step);
        break;
      case Op::kAccumulate:
        accumulate(lane, step);
        break;
      case Op::kCopy:
        copy(lane, step);
        break;
    }
    ++next_[lane];
    ++result_.steps;
  }

  [[nodiscard]] std::size_t rank_of(std::size_t lane) const {
    return schedule_.lanes[lane].rank.index();
  }
  [[nodiscard]] std::size_t queue_of(std::size_t lane) const {
    return static_cast<std::size_t>(connections_.of_step[lane][next_[lane]]);
  }
  [[nodiscard]] std::string here(std::size_t lane) const {
    return describe_step(schedule_, lane, next_[lane]);
  }

  /// A value that must have been written.
  [[nodiscard]] std::int64_t read(std::size_t lane, const Memory& from, std::size_t index) const {
    CHECK(from.written[index], "{}: element {} was never written", here(lane), from.begin + index);
    return from.values[index];
  }
  /// Takes a received value out of its scratch slot.
  std::int64_t take(std::size_t lane, std::size_t index) {
    const std::size_t node = rank_of(lane);
    CHECK(pending_[node][index], "{}: scratch element {} was not received", here(lane), index);
    pending_[node][index] = false;
    return memory(node, Buffer::kScratch).values[index];
  }

  void send(std::size_t lane, const Step& step) {
    const std::size_t rank = rank_of(lane);
    const Memory& from = memory(rank, step.buffer);
    const Range range = range_in(from, step.offset, step.bytes);
    Piece piece;
    piece.rank = rank;
    piece.buffer = step.buffer;
    piece.first = range.first;
    for (std::size_t i = range.first; i < range.first + range.count; ++i) {
      piece.values.push_back(read(lane, from, i));
      if (step.buffer == Buffer::kScratch) {
        pending_[rank][i] = false;  // what arrives next finds out whether this was received
      }
    }
    result_.sent[rank][step.peer.index()] += step.bytes;
    Queue& queue = queues_[queue_of(lane)];
    queue.pieces.push_back(std::move(piece));
    queue.messages += step.joined ? 0 : 1;
  }

  void receive(std::size_t lane, const Step& step) {
    Queue& queue = queues_[queue_of(lane)];
    const Piece piece = std::move(queue.pieces.front());
    queue.pieces.pop_front();
    queue.messages -= step.joined ? 0 : 1;
    Memory& to = memory(rank_of(lane), step.buffer);
    const Range range = range_in(to, step.offset, step.bytes);
    const Memory& from = memory(piece.rank, piece.buffer);
    for (std::size_t i = 0; i < range.count; ++i) {
      CHECK(from.values[piece.first + i] == piece.values[i],
            "{}: rank {} changed element {} between the send and this receive", here(lane),
            piece.rank, from.begin + piece.first + i);
      if (step.buffer == Buffer::kScratch) {
        CHECK(!pending_[rank_of(lane)][range.first + i], "{}: scratch element {} is still in use",
              here(lane), range.first + i);
        pending_[rank_of(lane)][range.first + i] = true;
      }
      to.values[range.first + i] = piece.values[i];
      to.written[range.first + i] = true;
    }
  }

  void reduce(std::size_t lane, const Step& step) {
    const Memory& own = memory(rank_of(lane), step.buffer);
    Memory& output = memory(rank_of(lane), Buffer::kOutput);
    const Range from = range_in(own, step.offset, step.bytes);
    const Range to = range_in(output, step.offset, step.bytes);
    const Range slot = range(step.source_offset, step.bytes);
    for (std::size_t i = 0; i < to.count; ++i) {
      const std::int64_t value = read(lane, own, from.first + i);
      output.values[to.first + i] = combine(options_.reduction, value, take(lane, slot.first + i));
      output.written[to.first + i] = true;
    }
  }

  void accumulate(std::size_t lane, const Step& step) {
    const std::size_t node = rank_of(lane);
    const Memory& own = memory(node, step.buffer);
    Memory& scratch = memory(node, Buffer::kScratch);
    const Range from = range_in(own, step.offset, step.bytes);
    const Range slot = range(step.source_offset, step.bytes);
    for (std::size_t i = 0; i < slot.count; ++i) {
      const std::int64_t value = step.buffer == Buffer::kScratch ? take(lane, from.first + i)
                                                                 : read(lane, own, from.first + i);
      const std::int64_t sum = combine(options_.reduction, value, take(lane, slot.first + i));
      scratch.values[slot.first + i] = sum;
      pending_[node][slot.first + i] = true;
    }
  }

  void copy(std::size_t lane, const Step& step) {
    const Memory& from = memory(rank_of(lane), step.buffer);
    Memory& output = memory(rank_of(lane), Buffer::kOutput);
    const Range source = range_in(from, step.source_offset, step.bytes);
    const Range to = range_in(output, step.offset, step.bytes);
    for (std::size_t i = 0; i < to.count; ++i) {
      output.values[to.first + i] = read(lane, from, source.first + i);
      output.written[to.first + i] = true;
    }
  }

  const Schedule& schedule_;
  const ExecuteOptions& options_;
  Connections connections_;
  std::vector<Queue> queues_;                  // per connection
  std::vector<std::size_t> next_;              // per lane: its next step
  std::vector<std::array<Memory, 3>> memory_;  // per node: input, output, scratch
  std::vector<std::vector<bool>>
      pending_;  // per node: scratch elements received and not yet reduced or sent on
  Random random_;
  Execution result_;
};

}  // namespace

Execution execute(const Schedule& schedule, const std::vector<Numbers>& inputs,
                  const ExecuteOptions& options) {
  validate(schedule);
  return Executor(schedule, inputs, options).run();
}

}  // namespace busbw::collectives
