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

/// Elements of one buffer; an element is empty until it is first written.
struct Memory {
  Numbers values;
  std::vector<bool> written;

  void resize(std::size_t size) {
    values.assign(size, 0);
    written.assign(size, false);
  }
};

struct Message {
  Numbers values;
  std::size_t rank = 0;  // source
  Buffer buffer = Buffer::kInput;
  std::size_t first = 0;
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
    const auto ranks = static_cast<std::size_t>(schedule.ranks);
    memory_.resize(ranks);
    pending_.resize(ranks);
    result_.sent.assign(ranks, std::vector<Bytes>(ranks));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto elements = static_cast<std::size_t>(schedule.input_bytes / schedule.element);
      CHECK(inputs[rank].size() == elements, "rank {} has {} elements", rank, inputs[rank].size());
      memory(rank, Buffer::kOutput)
          .resize(static_cast<std::size_t>(schedule.output_bytes / schedule.element));
      memory(rank, Buffer::kScratch)
          .resize(static_cast<std::size_t>(schedule.scratch_bytes / schedule.element));
      pending_[rank].assign(memory(rank, Buffer::kScratch).values.size(), false);
      Memory& input = memory(rank, Buffer::kInput);
      CHECK(!options.in_place || schedule.input_bytes == schedule.output_bytes);
      input.values = inputs[rank];
      input.written.assign(elements, true);
    }
  }

  Execution run() {
    while (options_.order_seed == 0 ? turn_in_order() : turn_at_random()) {
    }
    for (std::size_t lane = 0; lane < next_.size(); ++lane) {
      CHECK(next_[lane] == steps(lane).size(), "deadlock: {} cannot proceed",
            describe_step(schedule_, lane, next_[lane]));
    }
    for (std::size_t rank = 0; rank < memory_.size(); ++rank) {
      result_.output.push_back(std::move(memory(rank, Buffer::kOutput).values));
    }
    return std::move(result_);
  }

 private:
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
  bool turn_at_random() {
    std::vector<std::size_t> ready;
    for (std::size_t lane = 0; lane < next_.size(); ++lane) {
      if (can_step(lane)) {
        ready.push_back(lane);
      }
    }
    if (!ready.empty()) {
      step(ready[random_.below(ready.size())]);
    }
    return !ready.empty();
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
    const std::size_t waiting = queues_[static_cast<std::size_t>(connection)].size();
    return step.op == Op::kReceive ? waiting > 0
                                   : waiting < static_cast<std::size_t>(options_.slots);
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

  void send(std::size_t lane, const Step& step) {
    const std::size_t rank = rank_of(lane);
    const Range range = this->range(step.offset, step.bytes);
    const Memory& from = memory(rank, step.buffer);
    Message message;
    message.rank = rank;
    message.buffer = step.buffer;
    message.first = range.first;
    for (std::size_t i = range.first; i < range.first + range.count; ++i) {
      CHECK(from.written[i], "{}: element {} was never written", here(lane), i);
      message.values.push_back(from.values[i]);
    }
    result_.sent[rank][step.peer.index()] += step.bytes;
    queues_[queue_of(lane)].push_back(std::move(message));
  }

  void receive(std::size_t lane, const Step& step) {
    std::deque<Message>& queue = queues_[queue_of(lane)];
    const Message message = std::move(queue.front());
    queue.pop_front();
    const Range range = this->range(step.offset, step.bytes);
    Memory& to = memory(rank_of(lane), step.buffer);
    const Memory& from = memory(message.rank, message.buffer);
    for (std::size_t i = 0; i < range.count; ++i) {
      CHECK(from.values[message.first + i] == message.values[i],
            "{}: rank {} changed element {} between the send and this receive", here(lane),
            message.rank, message.first + i);
      if (step.buffer == Buffer::kScratch) {
        CHECK(!pending_[rank_of(lane)][range.first + i], "{}: scratch element {} is still in use",
              here(lane), range.first + i);
        pending_[rank_of(lane)][range.first + i] = true;
      }
      to.values[range.first + i] = message.values[i];
      to.written[range.first + i] = true;
    }
  }

  void reduce(std::size_t lane, const Step& step) {
    const Range sum = range(step.offset, step.bytes);
    const Range slot = range(step.source_offset, step.bytes);
    const Memory& own = memory(rank_of(lane), step.buffer);
    const Memory& scratch = memory(rank_of(lane), Buffer::kScratch);
    Memory& output = memory(rank_of(lane), Buffer::kOutput);
    for (std::size_t i = 0; i < sum.count; ++i) {
      CHECK(own.written[sum.first + i], "{}: element {} was never written", here(lane),
            sum.first + i);
      CHECK(pending_[rank_of(lane)][slot.first + i], "{}: scratch element {} was not received",
            here(lane), slot.first + i);
      pending_[rank_of(lane)][slot.first + i] = false;
      output.values[sum.first + i] = own.values[sum.first + i] + scratch.values[slot.first + i];
      output.written[sum.first + i] = true;
    }
  }

  void copy(std::size_t lane, const Step& step) {
    const Range to = range(step.offset, step.bytes);
    const Range source = range(step.source_offset, step.bytes);
    const Memory& from = memory(rank_of(lane), step.buffer);
    Memory& output = memory(rank_of(lane), Buffer::kOutput);
    for (std::size_t i = 0; i < to.count; ++i) {
      CHECK(from.written[source.first + i], "{}: element {} was never written", here(lane),
            source.first + i);
      output.values[to.first + i] = from.values[source.first + i];
      output.written[to.first + i] = true;
    }
  }

  const Schedule& schedule_;
  const ExecuteOptions& options_;
  Connections connections_;
  std::vector<std::deque<Message>> queues_;    // per connection
  std::vector<std::size_t> next_;              // per lane: its next step
  std::vector<std::array<Memory, 3>> memory_;  // per rank: input, output, scratch
  std::vector<std::vector<bool>>
      pending_;  // per rank: scratch elements received and not yet reduced
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
