// Names, busbw factors, byte counts and the text form of schedules. See schedule.h.
#include "models/collectives/schedule.h"

#include <array>
#include <iterator>

#include <fmt/format.h>

#include "sim/core/check.h"

namespace busbw::collectives {
namespace {

constexpr std::array kCollectives = {
    Collective::kAllReduce, Collective::kReduce,        Collective::kBroadcast,
    Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll,
    Collective::kSendRecv,  Collective::kGather,        Collective::kScatter};

std::string step_text(const Step& step) {
  switch (step.op) {
    case Op::kSend:
      return fmt::format("to {}", step.peer.value());
    case Op::kReceive:
      return fmt::format("from {}", step.peer.value());
    case Op::kReduce:
      return fmt::format("with scratch {}", step.source_offset.count());
    case Op::kCopy:
      return fmt::format("from offset {}", step.source_offset.count());
  }
  CHECK(false, "op {}", static_cast<int>(step.op));
}

}  // namespace

std::string to_string(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return "all_reduce";
    case Collective::kReduce:
      return "reduce";
    case Collective::kBroadcast:
      return "broadcast";
    case Collective::kAllGather:
      return "all_gather";
    case Collective::kReduceScatter:
      return "reduce_scatter";
    case Collective::kAllToAll:
      return "alltoall";
    case Collective::kSendRecv:
      return "sendrecv";
    case Collective::kGather:
      return "gather";
    case Collective::kScatter:
      return "scatter";
  }
  CHECK(false, "collective {}", static_cast<int>(collective));
}

std::optional<Collective> parse_collective(const std::string& name) {
  for (const Collective collective : kCollectives) {
    if (to_string(collective) == name) {
      return collective;
    }
  }
  return std::nullopt;
}

std::string to_string(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing:
      return "Ring";
    case Algorithm::kTree:
      return "Tree";
    case Algorithm::kHierarchical:
      return "Hierarchical";
  }
  CHECK(false, "algorithm {}", static_cast<int>(algorithm));
}

std::string to_string(Op op) {
  static constexpr std::array<const char*, 4> kNames = {"send", "receive", "reduce", "copy"};
  return kNames.at(static_cast<std::size_t>(op));
}

std::string to_string(Buffer buffer) {
  static constexpr std::array<const char*, 3> kNames = {"input", "output", "scratch"};
  return kNames.at(static_cast<std::size_t>(buffer));
}

Bytes sent_bytes(const Schedule& schedule, RankId rank) {
  Bytes sum;
  for (const Lane& lane : schedule.lanes) {
    if (lane.rank != rank) {
      continue;
    }
    for (const Step& step : lane.steps) {
      sum += step.op == Op::kSend ? step.bytes : Bytes();
    }
  }
  return sum;
}

std::string to_text(const Schedule& schedule) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{} {} ranks {} channels {} bytes {} element {} scratch {}\n",
                 to_string(schedule.collective), to_string(schedule.algorithm), schedule.ranks,
                 schedule.channels, schedule.bytes.count(), schedule.element.count(),
                 schedule.scratch_bytes.count());
  for (std::size_t index = 0; index < schedule.lanes.size(); ++index) {
    const Lane& lane = schedule.lanes[index];
    fmt::format_to(out, "lane {} rank {} channel {} {}\n", index, lane.rank.value(),
                   lane.channel.value(), lane.role);
    for (std::size_t number = 0; number < lane.steps.size(); ++number) {
      const Step& step = lane.steps[number];
      fmt::format_to(out, "  {} {} chunk {} {} {}+{} {}", number, to_string(step.op), step.chunk,
                     to_string(step.buffer), step.offset.count(), step.bytes.count(),
                     step_text(step));
      if (step.connection != 0) {
        fmt::format_to(out, " connection {}", step.connection);
      }
      if (step.wait_lane >= 0) {
        fmt::format_to(out, " after lane {} step {}", step.wait_lane, step.wait_step);
      }
      text += '\n';
    }
  }
  return text;
}

Ratio busbw_factor(Collective collective, std::int32_t ranks) {
  CHECK(ranks > 0, "ranks {}", ranks);
  const std::int64_t n = ranks;
  switch (collective) {
    case Collective::kAllReduce:
      return {2 * (n - 1), n};
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
      return {n - 1, n};
    case Collective::kReduce:
    case Collective::kBroadcast:
    case Collective::kSendRecv:
      return {1, 1};
  }
  CHECK(false, "collective {}", static_cast<int>(collective));
}

}  // namespace busbw::collectives
