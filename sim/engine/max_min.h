// Weighted max-min fair rates of flows over explicit lists of links, kept up to date incrementally.
//
// Model: every flow f has a weight w_f, a set of links and perhaps a cap. Its rate is r_f = w_f *
// v_f, where the levels v_f are max-min fair: no v_f can grow without lowering a v_g <= v_f, given
//   sum over crossings of link l by f of r_f <= capacity of l,   r_f <= cap of f.
// Computed by progressive filling (Bertsekas and Gallager, "Data Networks", 2nd ed., 6.5.2): the
// link or cap with the lowest level fixes its flows, what they use is taken from their other links,
// repeat. A path that names a link twice crosses it twice: it uses twice its rate there.
//
// Incremental: entering, leaving and a new capacity mark links; solve() visits only the flows
// connected to marked links through shared links. Rates of other components are not touched, not
// even rounded. Units: bit/s as double. Links with capacity 0 must have no flows when solve() runs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/engine/engine.h"

namespace busbw::engine {

class MaxMin {
 public:
  using Flow = std::int32_t;  // slot number, chosen by the caller, reusable after leave()

  struct Change {
    Flow flow;
    double rate;  // new rate
  };
  /// One crossing of a link by a flow.
  struct Crossing {
    Flow flow;
    std::int32_t hop;  // index into the flow's path
  };
  /// What limits a flow besides its links.
  struct Terms {
    double weight = 1;
    double cap = 0;  // 0: none
  };

  LinkId add_link(double capacity);
  void set_capacity(LinkId link, double capacity);
  /// Adds a flow over `path`, not empty. Its rate is 0 until solve().
  void enter(Flow flow, const std::vector<LinkId>& path, Terms terms);
  void leave(Flow flow);
  /// Brings all rates up to date. Returns the flows whose rate changed, valid until the next call.
  const std::vector<Change>& solve();

  [[nodiscard]] const std::vector<Crossing>& crossings(LinkId link) const {
    return links_[link.index()].crossings;
  }

 private:
  struct Hop {
    LinkId link;
    std::int32_t position;  // of this crossing in the link's list
  };
  struct FlowState {
    std::vector<Hop> hops;  // keeps its memory when the slot is reused
    double weight = 1;
    double cap = 0;
    double rate = 0;
    std::uint64_t visited = 0;  // number of the solve() that saw it last
    bool fixed = false;
  };
  struct LinkState {
    double capacity = 0;
    double left = 0;    // not yet given away in this solve()
    double weight = 0;  // of crossings not yet fixed in this solve()
    std::uint64_t visited = 0;
    bool marked = false;
    std::vector<Crossing> crossings;
  };
  /// A candidate for the next bottleneck: its level, and link `index` or (-1 - index) for the cap
  /// of the index-th flow of the component. Ties go by index, so the order never depends on slots.
  using Candidate = std::pair<double, std::int32_t>;

  [[nodiscard]] FlowState& flow(Flow f) { return flows_[static_cast<std::size_t>(f)]; }
  [[nodiscard]] LinkState& link(LinkId l) { return links_[l.index()]; }
  void mark(LinkId l);
  void visit(LinkId l);
  void collect_component(LinkId start);
  void solve_alone(Flow f);
  void fill();
  void fix(Flow f, double level);
  void set_rate(Flow f, double rate);

  std::vector<LinkState> links_;
  std::vector<FlowState> flows_;
  std::vector<LinkId> marked_;
  std::uint64_t visit_ = 0;  // number of this solve()
  std::vector<LinkId> component_links_;
  std::vector<Flow> component_flows_;
  std::size_t unfixed_ = 0;  // flows of the component without a rate yet
  std::vector<Candidate> heap_;
  std::vector<Change> changes_;
};

}  // namespace busbw::engine
