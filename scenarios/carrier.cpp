// See carrier.h.
#include "scenarios/carrier.h"

#include <algorithm>
#include <utility>

#include "models/transport/ways.h"
#include "sim/core/check.h"

namespace busbw::scenarios {
namespace {

/// The ways that message number `number` of `connection` takes, as indices.
std::vector<std::size_t> ways_of(const transport::Connection& connection, std::size_t number) {
  const std::size_t count = connection.ways.size();
  std::vector<std::size_t> ways;
  if (count <= 1) {
    return {0};
  }
  switch (connection.spread) {
    case transport::Spread::kInTurn:
      return {number % count};
    case transport::Spread::kDrawn:
      return {transport::draw_way(connection, number)};
    case transport::Spread::kCut:
      for (std::size_t way = 0; way < count; ++way) {
        ways.push_back(way);
      }
      return ways;
  }
  CHECK(false, "spread {}", static_cast<int>(connection.spread));
}

const std::vector<engine::LinkId>& links_of(const transport::Connection& connection,
                                            std::size_t way) {
  return connection.ways.empty() ? connection.path : connection.ways[way % connection.ways.size()];
}

}  // namespace

Carrier::Carrier(engine::Engine& engine, std::vector<transport::Connection>& connections,
                 const std::vector<collectives::Connection>& ends,
                 const std::function<transport::Connection(RankId, RankId, ChannelId)>& connect,
                 const Trouble* trouble, Events events)
    : engine_(engine),
      connections_(connections),
      ends_(ends),
      connect_(connect),
      trouble_(trouble),
      events_(std::move(events)),
      lines_(ends.size()) {}

void Carrier::post(std::int32_t wire, Message message, Bytes moved) {
  line(wire).messages.push_back({message, moved});
  start_next(wire);
}

void Carrier::incident(const Incident& incident) {
  ++incidents_;
  if (!incident.breaks) {
    return;
  }
  for (std::size_t wire = 0; wire < ends_.size(); ++wire) {
    const collectives::Connection& ends = ends_[wire];
    if (incident.breaks(ends.source, ends.destination, ends.channel)) {
      break_off(static_cast<std::int32_t>(wire), true);
    }
  }
}

transport::Connection& Carrier::refreshed(std::int32_t wire) {
  const auto at = static_cast<std::size_t>(wire);
  if (line(wire).incidents != incidents_) {
    line(wire).incidents = incidents_;
    connections_[at] = connect_(ends_[at].source, ends_[at].destination, ends_[at].channel);
  }
  return connections_[at];
}

void Carrier::start_next(std::int32_t wire) {
  Line& queue = line(wire);
  if (stopped_ || queue.broken || queue.open > 0 || queue.started == queue.messages.size()) {
    return;
  }
  const std::size_t number = queue.started++;
  events_.started(wire);
  const transport::Connection& connection = refreshed(wire);
  const Queued& next = queue.messages[number];
  // What is left of the latency after waiting for the messages before it.
  const Duration latency = std::max(connection.latency - (engine_.now() - next.message.posted),
                                    number > 0 ? connection.per_message : Duration());
  const std::vector<std::size_t> ways = ways_of(connection, number);
  const auto parts = static_cast<std::int64_t>(ways.size());
  queue.open = ways.size();
  const Bytes moved = next.moved;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    Part part;
    part.wire = wire;
    part.way = ways[i];
    part.left = moved / parts + Bytes(i == 0 ? moved.count() % parts : 0);
    part.message = moved;
    start(part, latency);
  }
}

void Carrier::start(Part part, Duration latency) {
  const transport::Connection& connection = connections_[static_cast<std::size_t>(part.wire)];
  part.fits = !connection.passes || part.message <= *connection.passes;
  if (!part.fits) {
    engine_.after(latency, [this, part] { end(part, engine::FlowEnd::kLinkDown); });
    return;
  }
  engine::FlowSpec flow;
  flow.path = links_of(connection, part.way);
  flow.size = part.left;
  flow.latency = latency;
  flow.rate_cap = connection.rate_cap;
  if (trouble_ != nullptr && trouble_->cap) {
    const std::optional<Bandwidth> cap = trouble_->cap(flow.path);
    flow.rate_cap = cap && (!flow.rate_cap || *cap < *flow.rate_cap) ? cap : flow.rate_cap;
  }
  engine_.start_flow(std::move(flow), [this, part](engine::FlowEnd how) { end(part, how); });
}

void Carrier::end(Part part, engine::FlowEnd how) {
  Line& queue = line(part.wire);
  if (stopped_ || queue.broken) {
    return;
  }
  if (how == engine::FlowEnd::kDone) {
    if (--queue.open > 0) {
      return;
    }
    const Message message = queue.messages[queue.started - 1].message;
    events_.arrived(part.wire, message);
    start_next(part.wire);
    events_.settled();
    return;
  }
  if (trouble_ == nullptr) {
    break_off(part.wire, false);
    return;
  }
  stand_still(part, part.fits ? engine_.moved_when_cut() : Bytes());
}

void Carrier::stand_still(Part part, Bytes moved) {
  if (moved > Bytes() || part.tries == 0) {
    part.since = engine_.now();
    part.tries = 0;
  }
  part.left = std::max(Bytes(1), part.left - moved);
  const transport::RetryRule& rule = trouble_->retry;
  if (part.tries < rule.tries.size()) {
    const Duration wait = rule.tries[part.tries] - (engine_.now() - part.since);
    ++part.tries;
    engine_.after(std::max(Duration(), wait), [this, part] {
      if (!stopped_ && !line(part.wire).broken) {
        refreshed(part.wire);
        start(part, Duration());
      }
    });
  } else if (rule.gives_up) {
    const Duration wait = *rule.gives_up - (engine_.now() - part.since);
    engine_.after(std::max(Duration(), wait), [this, wire = part.wire] {
      if (!stopped_) {
        break_off(wire, false);
      }
    });
  }
}

void Carrier::break_off(std::int32_t wire, bool at_once) {
  if (!line(wire).broken) {
    line(wire).broken = true;
    events_.broken(wire, at_once);
  }
}

}  // namespace busbw::scenarios
