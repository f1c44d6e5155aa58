// See executor.h.
#include "real/executor/executor.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "models/collectives/reduction.h"
#include "sim/core/check.h"

namespace busbw::real {
namespace {

using collectives::Op;
using collectives::Step;

LinkId link_of(const collectives::Lane& lane, const Step& step) {
  const bool sends = step.op == Op::kSend;
  return {sends ? lane.rank : step.peer, sends ? step.peer : lane.rank, lane.channel,
          step.connection};
}

bool communicates(const Step& step) {
  return step.op == Op::kSend || step.op == Op::kReceive;
}

template <class T>
void add_once(std::vector<std::pair<LinkId, T*>>& list, const LinkId& id, T* item) {
  const bool known = std::any_of(list.begin(), list.end(),
                                 [&](const auto& entry) { return entry.second == item; });
  if (!known)
    list.emplace_back(id, item);
}

}  // namespace

std::vector<Link> links_of(const std::vector<const collectives::Schedule*>& schedules,
                           std::int32_t slots) {
  struct Need {
    Bytes bytes;                   // of the largest step
    std::int32_t messages = 0;     // that may run ahead
    std::int32_t longest_run = 1;  // steps of a message
  };
  std::map<LinkId, Need> needs;
  for (const collectives::Schedule* schedule : schedules) {
    if (schedule->needs_switch()) {
      throw InputError(fmt::format("{} needs a switch that reduces; real mode has ranks alone",
                                   to_string(schedule->algorithm)));
    }
    const std::int32_t most = std::min(slots, schedule->max_slots);
    for (const collectives::Lane& lane : schedule->lanes) {
      std::map<LinkId, std::int32_t> runs;
      for (const Step& step : lane.steps) {
        if (!communicates(step))
          continue;
        const LinkId id = link_of(lane, step);
        Need& need = needs.try_emplace(id, Need{Bytes(), most, 1}).first->second;
        need.messages = std::min(need.messages, most);
        need.bytes = std::max(need.bytes, step.bytes);
        need.longest_run = std::max(need.longest_run, ++runs[id]);
        if (!step.joined)
          runs[id] = 0;
      }
    }
  }
  std::vector<Link> links;
  links.reserve(needs.size());
  for (const auto& [id, need] : needs)
    links.push_back({id, need.bytes, need.messages * need.longest_run});
  return links;
}

Executor::Executor(const collectives::Schedule& schedule, RankId rank, Mover& mover,
                   Buffers& buffers)
    : schedule_(schedule),
      rank_(rank),
      mover_(mover),
      buffers_(buffers),
      position_of_lane_(schedule.lanes.size(), -1) {
  for (std::size_t index = 0; index < schedule.lanes.size(); ++index) {
    const collectives::Lane& lane = schedule.lanes[index];
    if (lane.rank != rank)
      continue;
    position_of_lane_[index] = static_cast<std::int64_t>(lanes_.size());
    lanes_.push_back({index, 0});
    senders_.emplace_back(lane.steps.size(), nullptr);
    receivers_.emplace_back(lane.steps.size(), nullptr);
    for (std::size_t step = 0; step < lane.steps.size(); ++step) {
      if (!communicates(lane.steps[step]))
        continue;
      const LinkId id = link_of(lane, lane.steps[step]);
      if (lane.steps[step].op == Op::kSend) {
        senders_.back()[step] = &mover.sender(id);
        add_once(all_senders_, id, senders_.back()[step]);
      } else {
        receivers_.back()[step] = &mover.receiver(id);
        add_once(all_receivers_, id, receivers_.back()[step]);
      }
    }
  }
}

ExecutorCounts Executor::run(const ExecutorOptions& options, Waiter& waiter) {
  CHECK(size_of(options.type) == schedule_.element, "elements of {} bytes in a schedule of {}",
        size_of(options.type).count(), schedule_.element.count());
  counts_ = {};
  for (LaneState& state : lanes_)
    state.next = 0;
  for (;;) {
    bool moved = false;
    for (LaneState& state : lanes_)
      moved = step_lane(state, options) || moved;
    moved = mover_.progress() || moved;
    if (finished() && settled())
      break;
    if (moved) {
      waiter.moved();
    } else if (waiter.idle()) {
      give_up(waiter);
    }
  }
  if (options.reduction == Reduction::kAvg && reduces(schedule_.collective))
    buffers_.divide(options.type, schedule_.ranks);
  return counts_;
}

/// As many steps of a lane as possible; true if any.
bool Executor::step_lane(LaneState& state, const ExecutorOptions& options) {
  const std::vector<Step>& steps = schedule_.lanes[state.lane].steps;
  bool moved = false;
  while (state.next < steps.size() && try_step(state, steps[state.next], options)) {
    ++state.next;
    moved = true;
  }
  return moved;
}

bool Executor::waits_for_lane(const Step& step) const {
  if (step.wait_lane < 0)
    return false;
  const std::int64_t position = position_of_lane_[static_cast<std::size_t>(step.wait_lane)];
  return lanes_[static_cast<std::size_t>(position)].next <=
         static_cast<std::size_t>(step.wait_step);
}

bool Executor::try_step(const LaneState& state, const Step& step, const ExecutorOptions& options) {
  if (waits_for_lane(step))
    return false;
  const auto position = static_cast<std::size_t>(position_of_lane_[state.lane]);
  switch (step.op) {
    case Op::kSend: {
      Sender& sender = *senders_[position][state.next];
      if (!sender.ready())
        return false;
      sender.send(buffers_.view(step.buffer, step.offset, step.bytes));
      ++counts_.messages_sent;
      counts_.bytes_sent += step.bytes;
      return true;
    }
    case Op::kReceive: {
      Receiver& receiver = *receivers_[position][state.next];
      const Message* message = receiver.front();
      if (message == nullptr)
        return false;
      if (static_cast<std::int64_t>(message->bytes) != step.bytes.count())
        refuse(state, step, message->bytes);
      buffers_.store(step.buffer, step.offset, *message);
      receiver.pop();
      ++counts_.messages_received;
      counts_.bytes_received += step.bytes;
      return true;
    }
    case Op::kReduce:
      buffers_.reduce(step, options.type, options.reduction);
      return true;
    case Op::kAccumulate:
      buffers_.accumulate(step, options.type, options.reduction);
      return true;
    case Op::kCopy:
      buffers_.copy(step);
      return true;
  }
  CHECK(false, "op {}", static_cast<int>(step.op));
}

/// The peer sends another byte count.
void Executor::refuse(const LaneState& state, const Step& step, std::size_t bytes) const {
  const LinkView view = mover_.look_at(link_of(schedule_.lanes[state.lane], step));
  throw SystemError(
      {"receive",
       fmt::format("a message of {} bytes where {} were expected: the ranks do not run the same "
                   "collective with the same byte count",
                   bytes, step.bytes.count()),
       fmt::format("{}, {}", collectives::describe_step(schedule_, state.lane, state.next),
                   view.object),
       view.peer});
}

bool Executor::finished() const {
  return std::all_of(lanes_.begin(), lanes_.end(), [&](const LaneState& state) {
    return state.next == schedule_.lanes[state.lane].steps.size();
  });
}

bool Executor::settled() {
  bool all = true;
  for (const auto& [id, receiver] : all_receivers_)
    all = receiver->settle() && all;
  for (const auto& [id, sender] : all_senders_)
    all = sender->drained() && all;
  return all;
}

/// Says what the first stuck lane waits for.
void Executor::give_up(Waiter& waiter) const {
  for (const LaneState& state : lanes_) {
    const collectives::Lane& lane = schedule_.lanes[state.lane];
    if (state.next == lane.steps.size() || waits_for_lane(lane.steps[state.next]))
      continue;
    const Step& step = lane.steps[state.next];
    waiter.fail(to_string(step.op), link_of(lane, step),
                collectives::describe_step(schedule_, state.lane, state.next));
  }
  for (const auto& [id, sender] : all_senders_) {
    if (!sender->drained())
      waiter.fail("wait for the last messages to be received", id);
  }
  for (const auto& [id, receiver] : all_receivers_) {
    if (!receiver->settle())
      waiter.fail("wait for the last credits to be sent", id);
  }
  CHECK(false, "rank {} waits for nothing", rank_.value());
}

}  // namespace busbw::real
