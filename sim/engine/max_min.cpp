// Progressive filling over one connected component at a time (see max_min.h).
#include "sim/engine/max_min.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "sim/core/check.h"

namespace busbw::engine {

LinkId MaxMin::add_link(double capacity) {
  links_.emplace_back();
  links_.back().capacity = capacity;
  return LinkId(static_cast<std::int32_t>(links_.size()) - 1);
}

void MaxMin::set_capacity(LinkId l, double capacity) {
  link(l).capacity = capacity;
  mark(l);
}

void MaxMin::mark(LinkId l) {
  if (!link(l).marked) {
    link(l).marked = true;
    marked_.push_back(l);
  }
}

void MaxMin::enter(Flow f, const std::vector<LinkId>& path, Terms terms) {
  if (static_cast<std::size_t>(f) >= flows_.size()) {
    flows_.resize(static_cast<std::size_t>(f) + 1);
  }
  FlowState& state = flow(f);
  state.weight = terms.weight;
  state.cap = terms.cap;
  state.rate = 0;
  state.hops.clear();
  for (const LinkId l : path) {
    std::vector<Crossing>& crossings = link(l).crossings;
    const std::int32_t hop = static_cast<std::int32_t>(state.hops.size());
    state.hops.push_back({l, static_cast<std::int32_t>(crossings.size())});
    crossings.push_back({f, hop});
    mark(l);
  }
}

void MaxMin::leave(Flow f) {
  for (const Hop& hop : flow(f).hops) {
    // Swap with the last crossing, whose owner learns its new place. When the flow crosses the link
    // twice the moved crossing may be its own, later one: that hop is updated before it is read.
    std::vector<Crossing>& crossings = link(hop.link).crossings;
    const Crossing moved = crossings.back();
    crossings[static_cast<std::size_t>(hop.position)] = moved;
    flow(moved.flow).hops[static_cast<std::size_t>(moved.hop)].position = hop.position;
    crossings.pop_back();
    mark(hop.link);
  }
  flow(f).hops.clear();
}

const std::vector<MaxMin::Change>& MaxMin::solve() {
  changes_.clear();
  ++visit_;
  // One component after the other, so that each is solved exactly as if it were alone.
  for (const LinkId start : marked_) {
    link(start).marked = false;
    if (link(start).visited == visit_ || link(start).crossings.empty()) {
      continue;
    }
    collect_component(start);
    if (component_flows_.size() == 1) {
      solve_alone(component_flows_.front());
    } else {
      fill();
    }
  }
  marked_.clear();
  return changes_;
}

void MaxMin::visit(LinkId l) {
  LinkState& state = link(l);
  if (state.visited != visit_) {
    state.visited = visit_;
    state.left = state.capacity;
    state.weight = 0;
    component_links_.push_back(l);
  }
}

void MaxMin::collect_component(LinkId start) {
  component_links_.clear();
  component_flows_.clear();
  visit(start);
  for (std::size_t i = 0; i < component_links_.size(); ++i) {  // grows while it is walked
    for (const Crossing& crossing : link(component_links_[i]).crossings) {
      FlowState& state = flow(crossing.flow);
      if (state.visited == visit_) {
        continue;
      }
      state.visited = visit_;
      state.fixed = false;
      component_flows_.push_back(crossing.flow);
      for (const Hop& hop : state.hops) {
        visit(hop.link);
        link(hop.link).weight += state.weight;
      }
    }
  }
}

void MaxMin::set_rate(Flow f, double rate) {
  FlowState& state = flow(f);
  if (state.rate != rate) {
    state.rate = rate;
    changes_.push_back({f, rate});
  }
}

void MaxMin::solve_alone(Flow f) {
  // All crossings of its links are its own: a link crossed k times gives it 1/k of the capacity.
  double rate = flow(f).cap > 0 ? flow(f).cap : std::numeric_limits<double>::infinity();
  for (const LinkId l : component_links_) {
    rate = std::min(rate, link(l).capacity / static_cast<double>(link(l).crossings.size()));
  }
  set_rate(f, rate);
}

void MaxMin::fill() {
  heap_.clear();
  for (const LinkId l : component_links_) {
    CHECK(link(l).capacity > 0, "link {} is down and has flows", l.value());
    heap_.emplace_back(link(l).left / link(l).weight, l.value());
  }
  for (std::size_t i = 0; i < component_flows_.size(); ++i) {
    const FlowState& state = flow(component_flows_[i]);
    if (state.cap > 0) {
      heap_.emplace_back(state.cap / state.weight, -1 - static_cast<std::int32_t>(i));
    }
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  unfixed_ = component_flows_.size();
  double level = 0;
  while (unfixed_ > 0) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const Candidate candidate = heap_.back();
    heap_.pop_back();
    if (candidate.second < 0) {
      const Flow f = component_flows_[static_cast<std::size_t>(-1 - candidate.second)];
      if (!flow(f).fixed) {
        level = std::max(level, candidate.first);
        fix(f, level);
      }
      continue;
    }
    const LinkState& bottleneck = link(LinkId(candidate.second));
    if (bottleneck.weight == 0) {  // exact: sums and differences of integers
      continue;
    }
    // Others took their parts since this entry was made, so its level can only have grown. What it
    // grew by rounding alone is not worth another round, and must not make it shrink either.
    const double grown = bottleneck.left / bottleneck.weight;
    if (grown > candidate.first * (1 + 1e-12)) {
      heap_.emplace_back(grown, candidate.second);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      continue;
    }
    level = std::max(level, grown);
    for (const Crossing& crossing : bottleneck.crossings) {
      if (!flow(crossing.flow).fixed) {
        fix(crossing.flow, level);
      }
    }
  }
}

void MaxMin::fix(Flow f, double level) {
  FlowState& state = flow(f);
  const double rate = state.weight * level;
  state.fixed = true;
  --unfixed_;
  for (const Hop& hop : state.hops) {
    LinkState& used = link(hop.link);
    used.left = std::max(0.0, used.left - rate);
    used.weight -= state.weight;
  }
  set_rate(f, rate);
}

}  // namespace busbw::engine
