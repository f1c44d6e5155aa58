// Structural checks of a schedule and the numbering of its connections. See schedule.h,
// connections.h.
#include <algorithm>

#include <fmt/format.h>

#include "models/collectives/connections.h"
#include "models/collectives/schedule.h"
#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

Connection connection_of(const Lane& lane, const Step& step) {
  const bool sends = step.op == Op::kSend;
  return {sends ? lane.rank : step.peer, sends ? step.peer : lane.rank, lane.channel,
          step.connection};
}

bool communicates(const Step& step) {
  return step.op == Op::kSend || step.op == Op::kReceive;
}

Bytes buffer_size(const Schedule& schedule, Buffer buffer) {
  switch (buffer) {
    case Buffer::kInput:
      return schedule.input_bytes;
    case Buffer::kOutput:
      return schedule.output_bytes;
    case Buffer::kScratch:
      return schedule.scratch_bytes;
  }
  CHECK(false, "buffer {}", static_cast<int>(buffer));
}

/// Whether [offset, offset + bytes) lies in `buffer` on element boundaries.
bool fits(const Schedule& schedule, Buffer buffer, Bytes offset, Bytes bytes) {
  return offset >= Bytes() && offset + bytes <= buffer_size(schedule, buffer) &&
         offset % schedule.element == Bytes();
}

/// What is wrong with the ranges of a step, or nullptr.
const char* range_error(const Schedule& schedule, const Step& step) {
  if (step.bytes <= Bytes() || step.bytes % schedule.element != Bytes()) {
    return "size is no positive number of elements";
  }
  if (communicates(step)) {
    if (step.peer.value() < 0 || step.peer.value() >= schedule.ranks) {
      return "peer is no rank";
    }
    if (step.op == Op::kReceive && step.buffer == Buffer::kInput) {
      return "input is only read";
    }
    return fits(schedule, step.buffer, step.offset, step.bytes) ? nullptr : "outside its buffer";
  }
  if (!fits(schedule, Buffer::kOutput, step.offset, step.bytes)) {
    return "outside the output";
  }
  if (step.op == Op::kReduce) {
    return step.buffer != Buffer::kScratch &&
                   fits(schedule, step.buffer, step.offset, step.bytes) &&
                   fits(schedule, Buffer::kScratch, step.source_offset, step.bytes)
               ? nullptr
               : "operand outside its buffer";
  }
  return fits(schedule, step.buffer, step.source_offset, step.bytes) ? nullptr
                                                                     : "source outside its buffer";
}

const char* wait_error(const Schedule& schedule, std::size_t lane, const Step& step) {
  if (step.wait_lane < 0) {
    return nullptr;
  }
  const auto other = static_cast<std::size_t>(step.wait_lane);
  if (other >= schedule.lanes.size() || other == lane) {
    return "waits for no other lane";
  }
  if (schedule.lanes[other].rank != schedule.lanes[lane].rank) {
    return "waits for another rank's lane";
  }
  const bool exists = step.wait_step >= 0 &&
                      static_cast<std::size_t>(step.wait_step) < schedule.lanes[other].steps.size();
  return exists ? nullptr : "waits for no step";
}

/// The steps of one end of a connection.
struct End {
  std::int64_t lane = -1;
  std::vector<Bytes> sizes;
};

void add_to_end(End* end, const Schedule& schedule, std::size_t lane, std::size_t step) {
  CHECK(end->lane < 0 || end->lane == static_cast<std::int64_t>(lane),
        "{}: lane {} uses the same end of this connection", describe_step(schedule, lane, step),
        end->lane);
  end->lane = static_cast<std::int64_t>(lane);
  end->sizes.push_back(schedule.lanes[lane].steps[step].bytes);
}

void check_matches(const Schedule& schedule) {
  const Connections connections = connections_of(schedule);
  std::vector<End> sends(connections.list.size());
  std::vector<End> receives(connections.list.size());
  for (std::size_t lane = 0; lane < schedule.lanes.size(); ++lane) {
    for (std::size_t step = 0; step < schedule.lanes[lane].steps.size(); ++step) {
      const std::int32_t connection = connections.of_step[lane][step];
      if (connection >= 0) {
        const bool is_send = schedule.lanes[lane].steps[step].op == Op::kSend;
        add_to_end(&(is_send ? sends : receives)[static_cast<std::size_t>(connection)], schedule,
                   lane, step);
      }
    }
  }
  for (std::size_t i = 0; i < connections.list.size(); ++i) {
    const Connection& connection = connections.list[i];
    const std::string name =
        fmt::format("rank {} to rank {} channel {} connection {}", connection.source.value(),
                    connection.destination.value(), connection.channel.value(), connection.index);
    CHECK(sends[i].sizes.size() == receives[i].sizes.size(), "{}: {} sends, {} receives", name,
          sends[i].sizes.size(), receives[i].sizes.size());
    for (std::size_t k = 0; k < sends[i].sizes.size(); ++k) {
      CHECK(sends[i].sizes[k] == receives[i].sizes[k], "{}: send {} has {} bytes, receive {}", name,
            k, sends[i].sizes[k].count(), receives[i].sizes[k].count());
    }
  }
}

}  // namespace

Connections connections_of(const Schedule& schedule) {
  Connections connections;
  for (const Lane& lane : schedule.lanes) {
    // Neighbouring steps repeat a lane's few connections: keep one of each per lane before sorting.
    std::vector<Connection> own;
    for (const Step& step : lane.steps) {
      if (communicates(step)) {
        const Connection connection = connection_of(lane, step);
        if (std::find(own.begin(), own.end(), connection) == own.end()) {
          own.push_back(connection);
        }
      }
    }
    connections.list.insert(connections.list.end(), own.begin(), own.end());
  }
  std::sort(connections.list.begin(), connections.list.end());
  connections.list.erase(std::unique(connections.list.begin(), connections.list.end()),
                         connections.list.end());
  connections.of_step.resize(schedule.lanes.size());
  for (std::size_t lane = 0; lane < schedule.lanes.size(); ++lane) {
    const std::vector<Step>& steps = schedule.lanes[lane].steps;
    connections.of_step[lane].assign(steps.size(), -1);
    for (std::size_t step = 0; step < steps.size(); ++step) {
      if (communicates(steps[step])) {
        const auto found = std::lower_bound(connections.list.begin(), connections.list.end(),
                                            connection_of(schedule.lanes[lane], steps[step]));
        connections.of_step[lane][step] =
            static_cast<std::int32_t>(found - connections.list.begin());
      }
    }
  }
  return connections;
}

std::string describe_step(const Schedule& schedule, std::size_t lane, std::size_t step) {
  const Lane& at = schedule.lanes[lane];
  return fmt::format("rank {} channel {} lane {} ({}) step {} ({})", at.rank.value(),
                     at.channel.value(), lane, at.role, step, to_string(at.steps[step].op));
}

void validate(const Schedule& schedule) {
  CHECK(schedule.ranks > 0 && schedule.channels > 0 && schedule.element > Bytes(),
        "ranks {} channels {} element {}", schedule.ranks, schedule.channels,
        schedule.element.count());
  for (std::size_t lane = 0; lane < schedule.lanes.size(); ++lane) {
    const Lane& at = schedule.lanes[lane];
    CHECK(at.rank.value() >= 0 && at.rank.value() < schedule.ranks && at.channel.value() >= 0 &&
              at.channel.value() < schedule.channels,
          "lane {} has rank {} channel {}", lane, at.rank.value(), at.channel.value());
    if (lane > 0) {
      const Lane& before = schedule.lanes[lane - 1];
      CHECK(before.rank < at.rank || (before.rank == at.rank && before.channel <= at.channel),
            "lane {} is out of the order of ranks and channels", lane);
    }
    for (std::size_t step = 0; step < at.steps.size(); ++step) {
      const char* range = range_error(schedule, at.steps[step]);
      CHECK(range == nullptr, "{}: {}", describe_step(schedule, lane, step), range);
      const char* wait = wait_error(schedule, lane, at.steps[step]);
      CHECK(wait == nullptr, "{}: {}", describe_step(schedule, lane, step), wait);
    }
  }
  check_matches(schedule);
}

}  // namespace busbw::collectives
