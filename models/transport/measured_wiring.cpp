// See measured_wiring.h.
#include "models/transport/measured_wiring.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "sim/core/check.h"

namespace busbw::transport {

using params::MeasuredLink;
using params::MeasuredMachine;

MeasuredWiring::MeasuredWiring(engine::Engine& engine, const params::Measured& measured,
                               MeasuredWiringOptions options)
    : engine_(engine), measured_(measured), options_(std::move(options)) {}

const std::string& MeasuredWiring::end_of(RankId rank) const {
  CHECK(rank.index() < options_.end_of_rank.size(), "rank {}", rank.value());
  return options_.end_of_rank[rank.index()];
}

MeasuredWiring::Port& MeasuredWiring::port_of(const std::string& end, Direction direction,
                                              const MeasuredLink& link) {
  const auto [entry, is_new] = ports_.try_emplace({end, direction});
  Port& port = entry->second;
  if (!is_new) {
    return port;
  }
  const bool sends = direction == Direction::kSend;
  const std::optional<params::PortLimit> limit =
      sends ? params::sending_port(measured_, end, options_.mover)
            : params::receiving_port(measured_, end, options_.mover);
  // An end that was only measured the other way round: as the way that stands for it.
  port.rate = limit ? limit->bandwidth : link.bandwidth;
  const Bytes burst = limit ? limit->burst : link.burst;
  port.link =
      engine_.add_link(fmt::format("{} {}", end, sends ? "sending" : "receiving"), port.rate);
  port.queue = std::make_shared<PortQueue>(port.link, port.rate);
  if (burst > Bytes()) {
    port.bucket = std::make_shared<TokenBucket>(port.link, port.rate, burst);
  }
  return port;
}

engine::LinkId MeasuredWiring::processor_of(RankId rank) {
  const MeasuredMachine* machine = params::machine_of(measured_, end_of(rank));
  CHECK(machine != nullptr, "no machine for the end '{}'", end_of(rank));
  const auto ranks = std::count_if(
      options_.end_of_rank.begin(), options_.end_of_rank.end(),
      [&](const std::string& end) { return params::machine_of(measured_, end) == machine; });
  const bool own = ranks <= machine->processors;
  const std::string name =
      own ? fmt::format("rank {} processor", rank.value())
          : fmt::format("{} processor{}", machine->name, machine->processors == 1 ? "" : "s");
  const auto [entry, is_new] = processors_.try_emplace(name);
  if (is_new) {
    entry->second = engine_.add_link(name, kWorkPerSecond * (own ? 1 : machine->processors));
  }
  return entry->second;
}

void MeasuredWiring::connect_ports(const MeasuredLink& link, MeasuredConnection& connection) {
  const Port& out = port_of(link.from, Direction::kSend, link);
  const Port& in = port_of(link.to, Direction::kReceive, link);
  for (const Port* port : {&out, &in}) {
    connection.path.push_back(port->link);
    connection.queues.push_back(port->queue);
    if (port->bucket) {
      connection.buckets.push_back(port->bucket);
    }
  }
  if (link.bandwidth < std::min(out.rate, in.rate)) {
    connection.rate_cap = link.bandwidth;
  }
  if (link.mover == params::MoverKind::kRead) {
    const Port& back_out = port_of(link.to, Direction::kSend, link);
    const Port& back_in = port_of(link.from, Direction::kReceive, link);
    connection.requests = {{out.queue, in.queue}, {back_out.queue, back_in.queue}};
  }
}

bool MeasuredWiring::inside(RankId from, RankId to) const {
  return options_.host_of.at(from.index()) == options_.host_of.at(to.index());
}

bool MeasuredWiring::covers(RankId from, RankId to) const {
  return !inside(from, to) ||
         std::any_of(measured_.links.begin(), measured_.links.end(), [](const MeasuredLink& link) {
           return link.mover == params::MoverKind::kShared;
         });
}

MeasuredConnection MeasuredWiring::connect(RankId from, RankId to) {
  const std::string memory = "memory";
  const MeasuredLink link =
      inside(from, to) ? params::link_between(measured_, memory, memory, params::MoverKind::kShared)
                       : params::link_between(measured_, end_of(from), end_of(to), options_.mover);
  MeasuredConnection connection;
  connection.name = fmt::format("rank {} -> rank {} by {} from {} to {}", from.value(), to.value(),
                                to_string(link.mover), link.from, link.to);
  connection.latency = link.latency;
  connection.gap = link.gap;
  if (link.from == link.to) {
    connection.rate_cap = link.bandwidth;
  } else {
    connect_ports(link, connection);
  }
  connection.staging = link.staging;
  connection.send_work = Work{processor_of(from), link.send_overhead, link.send_rate};
  connection.receive_work = Work{processor_of(to), link.receive_overhead, link.receive_rate};
  connection.settle = link.send_overhead + link.latency + link.receive_overhead;
  return connection;
}

}  // namespace busbw::transport
