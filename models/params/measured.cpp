// Questions to measured parameters: machines, ports, and ways that were not measured.
#include "models/params/measured.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/core/text.h"

namespace busbw::params {
namespace {

constexpr std::array<const char*, 5> kMovers = {"write", "read", "send", "tcp", "shm"};

template <class Wanted>
std::optional<PortLimit> best_of(const Measured& measured, MoverKind mover, Wanted wanted) {
  std::optional<PortLimit> best;
  for (const MeasuredLink& link : measured.links) {
    if (link.mover != mover || link.from == link.to || !wanted(link)) {
      continue;
    }
    if (!best) {
      best.emplace();
    }
    best->bandwidth = std::max(best->bandwidth, link.bandwidth);
    best->burst = std::max(best->burst, link.burst);
  }
  return best;
}

/// Ends of the mover, each once, in order of the file.
std::vector<std::string> ends_of(const Measured& measured, MoverKind mover) {
  std::vector<std::string> ends;
  for (const MeasuredLink& link : measured.links) {
    for (const std::string& end : {link.from, link.to}) {
      if (link.mover == mover && std::find(ends.begin(), ends.end(), end) == ends.end()) {
        ends.push_back(end);
      }
    }
  }
  return ends;
}

std::vector<std::string> movers_of(const Measured& measured) {
  std::vector<std::string> movers;
  for (const MeasuredLink& link : measured.links) {
    if (std::find(movers.begin(), movers.end(), to_string(link.mover)) == movers.end()) {
      movers.push_back(to_string(link.mover));
    }
  }
  return movers;
}

void check_end(const Measured& measured, const std::string& end, MoverKind mover) {
  const std::vector<std::string> ends = ends_of(measured, mover);
  if (ends.empty()) {
    throw InputError(fmt::format("{} has no parameters of the mover '{}'; it has those of {}",
                                 measured.file, to_string(mover),
                                 quoted_list(movers_of(measured))));
  }
  if (std::find(ends.begin(), ends.end(), end) == ends.end()) {
    throw InputError(fmt::format("{} has no parameters of '{}' for the mover '{}'; allowed: {}{}",
                                 measured.file, end, to_string(mover), quoted_list(ends),
                                 did_you_mean(end, ends)));
  }
}

/// Mean over links of a duration, whole picoseconds.
template <class Field>
Duration mean(const std::vector<const MeasuredLink*>& links, Field field) {
  Int128 sum = 0;
  for (const MeasuredLink* link : links) {
    sum += field(*link).ps();
  }
  return Duration::picoseconds(detail::divide_rounded(sum, static_cast<Int128>(links.size())));
}

/// Mean time a byte over the links that have the rate, as a rate; nothing when none has it.
template <class Field>
std::optional<Bandwidth> mean_rate(const std::vector<const MeasuredLink*>& links, Field field) {
  constexpr Bytes kReference = Bytes::mib(1);
  Int128 sum = 0;
  for (const MeasuredLink* link : links) {
    if (const std::optional<Bandwidth>& rate = field(*link)) {
      sum += (kReference / *rate).ps();
    }
  }
  if (sum == 0) {
    return std::nullopt;
  }
  return kReference /
         Duration::picoseconds(detail::divide_rounded(sum, static_cast<Int128>(links.size())));
}

/// A way that was not measured; see link_between().
MeasuredLink put_together(const Measured& measured, const std::string& from, const std::string& to,
                          MoverKind mover) {
  std::vector<const MeasuredLink*> near;
  for (const MeasuredLink& link : measured.links) {
    if (link.mover == mover && (link.from == from || link.to == to)) {
      near.push_back(&link);
    }
  }
  if (near.empty()) {  // they were only measured the other way round
    for (const MeasuredLink& link : measured.links) {
      if (link.mover == mover && (link.to == from || link.from == to)) {
        near.push_back(&link);
      }
    }
  }
  MeasuredLink link;
  link.from = from;
  link.to = to;
  link.mover = mover;
  link.latency = mean(near, [](const MeasuredLink& l) { return l.latency; });
  link.send_overhead = mean(near, [](const MeasuredLink& l) { return l.send_overhead; });
  link.receive_overhead = mean(near, [](const MeasuredLink& l) { return l.receive_overhead; });
  link.gap = mean(near, [](const MeasuredLink& l) { return l.gap; });
  link.send_rate = mean_rate(near, [](const MeasuredLink& l) { return l.send_rate; });
  link.receive_rate = mean_rate(near, [](const MeasuredLink& l) { return l.receive_rate; });
  link.staging = mean_rate(near, [](const MeasuredLink& l) { return l.staging; });
  // A port's best, or of an end that only sent or only received, what it did in that direction.
  std::optional<PortLimit> limit;
  for (const std::optional<PortLimit>& port :
       {sending_port(measured, from, mover), receiving_port(measured, to, mover)}) {
    if (port && !limit) {
      limit = port;
    } else if (port) {
      limit->bandwidth = std::min(limit->bandwidth, port->bandwidth);
      limit->burst = std::min(limit->burst, port->burst);
    }
  }
  if (!limit) {
    limit = PortLimit{near.front()->bandwidth, near.front()->burst};
  }
  link.bandwidth = limit->bandwidth;
  link.burst = limit->burst;
  return link;
}

}  // namespace

std::string to_string(MoverKind kind) {
  return kMovers.at(static_cast<std::size_t>(kind));
}

std::optional<MoverKind> parse_mover_kind(std::string_view name) {
  for (std::size_t i = 0; i < kMovers.size(); ++i) {
    if (name == kMovers.at(i)) {
      return static_cast<MoverKind>(i);
    }
  }
  return std::nullopt;
}

const MeasuredMachine* machine_of(const Measured& measured, std::string_view end) {
  for (const MeasuredMachine& machine : measured.machines) {
    if (std::find(machine.ends.begin(), machine.ends.end(), end) != machine.ends.end()) {
      return &machine;
    }
  }
  return nullptr;
}

MeasuredLink link_between(const Measured& measured, const std::string& from, const std::string& to,
                          MoverKind mover) {
  for (const MeasuredLink& link : measured.links) {
    if (link.from == from && link.to == to && link.mover == mover) {
      return link;
    }
  }
  check_end(measured, from, mover);
  check_end(measured, to, mover);
  return put_together(measured, from, to, mover);
}

std::optional<PortLimit> sending_port(const Measured& measured, std::string_view end,
                                      MoverKind mover) {
  return best_of(measured, mover, [&](const MeasuredLink& link) { return link.from == end; });
}

std::optional<PortLimit> receiving_port(const Measured& measured, std::string_view end,
                                        MoverKind mover) {
  return best_of(measured, mover, [&](const MeasuredLink& link) { return link.to == end; });
}

}  // namespace busbw::params
