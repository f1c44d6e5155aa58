// Structural checks of a schedule and the numbering of its connections. See schedule.h,
// connections.h.
#include <algorithm>
#include <array>

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

/// Number of ranks and switches.
std::int32_t nodes_of(const Schedule& schedule) {
  return schedule.ranks + static_cast<std::int32_t>(schedule.switches.size());
}

/// The extents of a lane's node, looked up once a lane.
class Ranges {
 public:
  Ranges(const Schedule& schedule, RankId node) : schedule_(schedule) {
    for (const Buffer buffer : {Buffer::kInput, Buffer::kOutput, Buffer::kScratch}) {
      extents_.at(static_cast<std::size_t>(buffer)) = extent_of(schedule, node, buffer);
    }
  }

  /// What is wrong with the ranges of a step, or nullptr.
  [[nodiscard]] const char* error(const Step& step) const {
    if (step.bytes <= Bytes() || step.bytes % schedule_.element != Bytes()) {
      return "size is no positive number of elements";
    }
    switch (step.op) {
      case Op::kSend:
      case Op::kReceive:
        return message_error(step);
      case Op::kReduce:
        if (!fits(Buffer::kOutput, step.offset, step.bytes)) {
          return "outside the output";
        }
        return operands_fit(step) && step.buffer != Buffer::kScratch ? nullptr
                                                                     : "operand outside its buffer";
      case Op::kAccumulate:
        return operands_fit(step) && step.buffer != Buffer::kOutput ? nullptr
                                                                    : "operand outside its buffer";
      case Op::kCopy:
        if (!fits(Buffer::kOutput, step.offset, step.bytes)) {
          return "outside the output";
        }
        return fits(step.buffer, step.source_offset, step.bytes) ? nullptr
                                                                 : "source outside its buffer";
    }
    return "no such operation";
  }

 private:
  [[nodiscard]] const char* message_error(const Step& step) const {
    if (step.peer.value() < 0 || step.peer.value() >= nodes_of(schedule_)) {
      return "peer is no rank";
    }
    if (step.op == Op::kReceive && step.buffer == Buffer::kInput) {
      return "input is only read";
    }
    return fits(step.buffer, step.offset, step.bytes) ? nullptr : "outside its buffer";
  }
  [[nodiscard]] bool operands_fit(const Step& step) const {
    return fits(step.buffer, step.offset, step.bytes) &&
           fits(Buffer::kScratch, step.source_offset, step.bytes);
  }
  /// Whether [offset, offset + bytes) lies in `buffer` on element boundaries.
  [[nodiscard]] bool fits(Buffer buffer, Bytes offset, Bytes bytes) const {
    const Extent& extent = extents_.at(static_cast<std::size_t>(buffer));
    return offset >= extent.begin && offset + bytes <= extent.begin + extent.size &&
           offset % schedule_.element == Bytes();
  }

  const Schedule& schedule_;
  std::array<Extent, 3> extents_;
};

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
  std::vector<bool> joined;
};

void add_to_end(End* end, const Schedule& schedule, std::size_t lane, std::size_t step) {
  CHECK(end->lane < 0 || end->lane == static_cast<std::int64_t>(lane),
        "{}: lane {} uses the same end of this connection", describe_step(schedule, lane, step),
        end->lane);
  end->lane = static_cast<std::int64_t>(lane);
  end->sizes.push_back(schedule.lanes[lane].steps[step].bytes);
  end->joined.push_back(schedule.lanes[lane].steps[step].joined);
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
    CHECK(sends[i].joined == receives[i].joined && !sends[i].joined.back(),
          "{}: sends and receives join into other messages", name);
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
  CHECK(schedule.root.value() >= 0 && schedule.root.value() < schedule.ranks, "root {}",
        schedule.root.value());
  CHECK(schedule.bytes ==
            rounded_bytes(schedule.collective, schedule.bytes, schedule.element, schedule.ranks),
        "{} bytes", schedule.bytes.count());
  for (std::size_t lane = 0; lane < schedule.lanes.size(); ++lane) {
    const Lane& at = schedule.lanes[lane];
    CHECK(at.rank.value() >= 0 && at.rank.value() < nodes_of(schedule) && at.channel.value() >= 0 &&
              at.channel.value() < schedule.channels,
          "lane {} has rank {} channel {}", lane, at.rank.value(), at.channel.value());
    if (lane > 0) {
      const Lane& before = schedule.lanes[lane - 1];
      CHECK(before.rank < at.rank || (before.rank == at.rank && before.channel <= at.channel),
            "lane {} is out of the order of ranks and channels", lane);
    }
    const Ranges ranges(schedule, at.rank);
    for (std::size_t step = 0; step < at.steps.size(); ++step) {
      const char* range = ranges.error(at.steps[step]);
      CHECK(range == nullptr, "{}: {}", describe_step(schedule, lane, step), range);
      const char* wait = wait_error(schedule, lane, at.steps[step]);
      CHECK(wait == nullptr, "{}: {}", describe_step(schedule, lane, step), wait);
    }
  }
  check_matches(schedule);
}

}  // namespace busbw::collectives
