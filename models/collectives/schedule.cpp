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
    case Op::kAccumulate:
      return fmt::format("into scratch {}", step.source_offset.count());
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
    case Algorithm::kDirect:
      return "Direct";
    case Algorithm::kNvls:
      return "NVLS";
    case Algorithm::kNvlsTree:
      return "NVLSTree";
    case Algorithm::kCollNetDirect:
      return "CollNetDirect";
    case Algorithm::kCollNetChain:
      return "CollNetChain";
    case Algorithm::kPat:
      return "PAT";
  }
  CHECK(false, "algorithm {}", static_cast<int>(algorithm));
}

std::string to_string(Op op) {
  static constexpr std::array<const char*, 5> kNames = {"send", "receive", "reduce", "accumulate",
                                                        "copy"};
  return kNames.at(static_cast<std::size_t>(op));
}

std::string to_string(Buffer buffer) {
  static constexpr std::array<const char*, 3> kNames = {"input", "output", "scratch"};
  return kNames.at(static_cast<std::size_t>(buffer));
}

Extent extent_of(const Schedule& schedule, RankId rank, Buffer buffer) {
  const bool is_switch = rank.value() >= schedule.ranks;
  if (buffer == Buffer::kScratch) {
    return {Bytes(), is_switch ? schedule.switch_scratch_bytes : schedule.scratch_bytes};
  }
  if (is_switch) {
    return {};
  }
  const bool input = buffer == Buffer::kInput;
  const bool root = rank == schedule.root;
  const Extent all = {Bytes(), schedule.bytes};
  const Bytes part = schedule.bytes / schedule.ranks;
  const Extent own = {part * rank.value(), part};
  switch (schedule.collective) {
    case Collective::kAllReduce:
    case Collective::kAllToAll:
    case Collective::kSendRecv:
      return all;
    case Collective::kReduce:
      return input || root ? all : Extent();
    case Collective::kBroadcast:
      return !input || root ? all : Extent();
    case Collective::kAllGather:
      return input ? own : all;
    case Collective::kReduceScatter:
      return input ? all : own;
    case Collective::kGather:
      return input ? own : (root ? all : Extent());
    case Collective::kScatter:
      return input ? (root ? all : Extent()) : own;
  }
  CHECK(false, "collective {}", static_cast<int>(schedule.collective));
}

bool allows_in_place(Collective collective) {
  return collective != Collective::kAllToAll && collective != Collective::kSendRecv;
}

bool cuts_by_rank(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
    case Collective::kReduce:
    case Collective::kBroadcast:
    case Collective::kSendRecv:
      return false;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
      return true;
  }
  CHECK(false, "collective {}", static_cast<int>(collective));
}

Bytes cut_bytes(Collective collective, Bytes bytes, std::int32_t ranks) {
  return bytes / (cuts_by_rank(collective) ? ranks : 1);
}

Bytes rounded_bytes(Collective collective, Bytes bytes, Bytes element, std::int32_t ranks) {
  const Bytes unit = element * (cuts_by_rank(collective) ? ranks : 1);
  return bytes - bytes % unit;
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
      if (step.joined) {
        fmt::format_to(out, " joined");
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
