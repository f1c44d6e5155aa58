// The fluid engine: our max-min model as a SimGrid resource model.
//
// SimGrid's loop asks the model when its next event is and tells it when that moment has come; the
// model (MaxMin for the rates, EventQueue for what comes next) knows flows and timers. Leaves out
// everything below a flow: packets, queues, losses, congestion control.
//
// Time: the clock is our own, an integer of picoseconds. A flow keeps (bits left, rate, since
// when); its end is since + left / rate, rounded to the nearest picosecond once, and recomputed
// only when its rate changes. SimGrid's clock (a double, never set back) only follows, so nothing
// drifts.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>

#include "sim/core/check.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/make.h"
#include "sim/engine/max_min.h"
#include "sim/engine/simgrid_session.h"

namespace busbw::engine {
namespace {

constexpr double kSecondsPerPicosecond = 1e-12;
constexpr double kPicosecondsPerSecond = 1e12;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

class FluidEngine final : public Engine {
 public:
  FluidEngine();

  LinkId add_link(std::string name, Bandwidth capacity) override;
  void set_capacity(LinkId link, Bandwidth capacity) override;
  [[nodiscard]] Bandwidth capacity(LinkId link) const override { return info(link).capacity; }
  [[nodiscard]] const std::string& name(LinkId link) const override { return info(link).name; }
  [[nodiscard]] std::size_t link_count() const override { return links_.size(); }
  FlowId start_flow(FlowSpec spec, FlowCallback on_end) override;
  [[nodiscard]] Bytes moved_when_cut() const override { return moved_when_cut_; }
  void after(Duration delay, TimerCallback callback) override;
  [[nodiscard]] SimTime now() const override { return SimTime::picoseconds(now_ps_); }
  void run() override;
  [[nodiscard]] LinkUsage usage(LinkId link) const override;
  [[nodiscard]] std::int64_t event_count() const override { return event_count_; }

 private:
  /// The face that SimGrid sees.
  class Model final : public simgrid::kernel::resource::Model {
   public:
    explicit Model(FluidEngine& engine)
        : simgrid::kernel::resource::Model("busbw-fluid"), engine_(engine) {}
    double next_occurring_event(double) override { return engine_.seconds_to_next_event(); }
    void update_actions_state(double, double) override { engine_.deliver_due_events(); }

   private:
    FluidEngine& engine_;
  };

  enum class State : std::uint8_t {
    kTimer,    // waits for its moment
    kLatency,  // a flow before its first byte; also one that has nothing to move
    kMoving,   // a flow that occupies its links
    kArrived,  // a flow that has left its links and is done, to be delivered
    kFailed,   // a flow that failed, to be delivered
  };
  /// A waiting event: a timer or a flow. Slots are reused.
  struct Slot {
    State state = State::kTimer;
    std::int64_t sequence = 0;
    std::int64_t due_ps = 0;  // when it is delivered, valid while it is in the queue
    double left_bits = 0;     // at since_ps
    double rate = 0;          // bit/s since since_ps
    std::int64_t since_ps = 0;
    Bytes size;
    MaxMin::Terms terms;
    std::vector<LinkId> path;
    FlowCallback on_end;
    TimerCallback on_time;
  };
  struct LinkInfo {
    std::string name;
    Bandwidth capacity;
    std::int64_t carried = 0;        // bytes of flows that ended well
    double carried_part_bits = 0;    // bits of flows that failed under way
    std::int64_t busy_ps = 0;        // up to busy_since_ps, or in all when idle
    std::int64_t busy_since_ps = 0;  // valid while it has flows
  };

  [[nodiscard]] bool is_link(LinkId link) const {
    return link.value() >= 0 && link.index() < links_.size();
  }
  [[nodiscard]] const LinkInfo& info(LinkId link) const {
    CHECK(is_link(link), "no link {}", link.value());
    return links_[link.index()];
  }
  [[nodiscard]] Slot& slot(EventQueue::Handle h) { return slots_[static_cast<std::size_t>(h)]; }
  [[nodiscard]] const Slot& slot(EventQueue::Handle h) const {
    return slots_[static_cast<std::size_t>(h)];
  }
  EventQueue::Handle take_slot();
  void wait(EventQueue::Handle h, std::int64_t time_ps);
  [[nodiscard]] bool path_is_up(const Slot& flow) const;
  void enter_links(EventQueue::Handle h);
  void leave_links(EventQueue::Handle h);
  void set_rate(EventQueue::Handle h, double rate);
  [[nodiscard]] double left_bits_now(const Slot& flow) const;
  void end_flow(EventQueue::Handle h, FlowEnd end);
  void deliver(EventQueue::Handle h);
  double seconds_to_next_event();
  void deliver_due_events();

  SimGridSession session_;
  std::vector<LinkInfo> links_;
  std::vector<Slot> slots_;
  std::vector<EventQueue::Handle> free_slots_;
  MaxMin max_min_;
  EventQueue queue_;
  std::int64_t now_ps_ = 0;
  std::int64_t next_sequence_ = 0;
  FlowId next_flow_ = 0;
  std::int64_t event_count_ = 0;
  Bytes moved_when_cut_;
};

FluidEngine::FluidEngine() {
  simgrid::s4u::create_empty_zone("busbw");  // run() wants a platform, however empty
  session_.simgrid().add_model(std::make_shared<Model>(*this));
}

LinkId FluidEngine::add_link(std::string name, Bandwidth capacity) {
  CHECK(capacity.bps() >= 0, "link {} has {} bit/s", name, capacity.bps());
  links_.emplace_back();
  links_.back().name = std::move(name);
  links_.back().capacity = capacity;
  return max_min_.add_link(static_cast<double>(capacity.bps()));
}

void FluidEngine::set_capacity(LinkId link, Bandwidth capacity) {
  CHECK(is_link(link), "no link {}", link.value());
  CHECK(capacity.bps() >= 0, "link {} gets {} bit/s", info(link).name, capacity.bps());
  if (info(link).capacity == capacity) {
    return;
  }
  links_[link.index()].capacity = capacity;
  max_min_.set_capacity(link, static_cast<double>(capacity.bps()));
  if (capacity.bps() > 0) {
    return;
  }
  while (!max_min_.crossings(link).empty()) {
    const EventQueue::Handle h = max_min_.crossings(link).back().flow;
    Slot& flow = slot(h);
    leave_links(h);
    if (flow.rate > 0 && flow.due_ps == now_ps_) {
      flow.state = State::kArrived;  // its last byte made it
      continue;
    }
    const double moved = static_cast<double>(flow.size.count()) * 8 - left_bits_now(flow);
    for (const LinkId crossed : flow.path) {
      links_[crossed.index()].carried_part_bits += moved;
    }
    flow.state = State::kFailed;
    flow.left_bits = static_cast<double>(flow.size.count()) * 8 - moved;
    wait(h, now_ps_);
  }
}

FlowId FluidEngine::start_flow(FlowSpec spec, FlowCallback on_end) {
  CHECK(on_end != nullptr);
  CHECK(spec.size.count() >= 0, "flow of {} bytes", spec.size.count());
  CHECK(spec.latency.ps() >= 0, "flow with latency {} ps", spec.latency.ps());
  CHECK(spec.weight >= 1, "flow with weight {}", spec.weight);
  CHECK(!spec.rate_cap || spec.rate_cap->bps() > 0, "a rate cap must be positive");
  for (const LinkId link : spec.path) {
    CHECK(is_link(link), "no link {}", link.value());
  }
  const EventQueue::Handle h = take_slot();
  Slot& flow = slot(h);
  flow.size = spec.size;
  flow.path = std::move(spec.path);
  flow.terms.weight = static_cast<double>(spec.weight);
  flow.terms.cap = spec.rate_cap ? static_cast<double>(spec.rate_cap->bps()) : 0;
  flow.on_end = std::move(on_end);
  flow.rate = 0;
  flow.left_bits = static_cast<double>(spec.size.count()) * 8;
  const bool needs_time = spec.size.count() > 0 && (!flow.path.empty() || spec.rate_cap);
  if (!path_is_up(flow)) {
    flow.state = State::kFailed;
    wait(h, now_ps_);
  } else if (spec.latency.ps() > 0 || !needs_time) {
    flow.state = State::kLatency;
    wait(h, now_ps_ + spec.latency.ps());
  } else {
    enter_links(h);
  }
  return next_flow_++;
}

void FluidEngine::after(Duration delay, TimerCallback callback) {
  CHECK(callback != nullptr);
  CHECK(delay.ps() >= 0, "timer after {} ps", delay.ps());
  const EventQueue::Handle h = take_slot();
  slot(h).state = State::kTimer;
  slot(h).on_time = std::move(callback);
  wait(h, now_ps_ + delay.ps());
}

void FluidEngine::run() {
  session_.simgrid().run();
}

LinkUsage FluidEngine::usage(LinkId link) const {
  const LinkInfo& of = info(link);
  double part_bits = of.carried_part_bits;
  for (const MaxMin::Crossing& crossing : max_min_.crossings(link)) {
    const Slot& flow = slot(crossing.flow);
    part_bits += static_cast<double>(flow.size.count()) * 8 - left_bits_now(flow);
  }
  // A millionth of a byte is forgiven, so that sums that are whole but for rounding stay whole.
  const double part_bytes = std::floor(part_bits / 8 + 1e-6);
  const bool busy = !max_min_.crossings(link).empty();
  return {Bytes(of.carried + static_cast<std::int64_t>(part_bytes)),
          Duration::picoseconds(of.busy_ps + (busy ? now_ps_ - of.busy_since_ps : 0))};
}

EventQueue::Handle FluidEngine::take_slot() {
  EventQueue::Handle h = 0;
  if (free_slots_.empty()) {
    h = static_cast<EventQueue::Handle>(slots_.size());
    slots_.emplace_back();
  } else {
    h = free_slots_.back();
    free_slots_.pop_back();
  }
  slot(h).sequence = next_sequence_++;
  return h;
}

void FluidEngine::wait(EventQueue::Handle h, std::int64_t time_ps) {
  slot(h).due_ps = time_ps;
  queue_.set({time_ps, slot(h).sequence, h});
}

bool FluidEngine::path_is_up(const Slot& flow) const {
  return std::all_of(flow.path.begin(), flow.path.end(),
                     [this](LinkId link) { return links_[link.index()].capacity.bps() > 0; });
}

void FluidEngine::enter_links(EventQueue::Handle h) {
  Slot& flow = slot(h);
  flow.state = State::kMoving;
  flow.left_bits = static_cast<double>(flow.size.count()) * 8;
  flow.rate = 0;
  flow.since_ps = now_ps_;
  if (flow.path.empty()) {
    set_rate(h, flow.terms.cap);
    return;
  }
  for (const LinkId link : flow.path) {
    if (max_min_.crossings(link).empty()) {
      links_[link.index()].busy_since_ps = now_ps_;
    }
  }
  max_min_.enter(h, flow.path, flow.terms);
}

void FluidEngine::leave_links(EventQueue::Handle h) {
  const Slot& flow = slot(h);
  if (flow.path.empty()) {
    return;
  }
  max_min_.leave(h);
  for (const LinkId link : flow.path) {
    LinkInfo& left = links_[link.index()];
    if (max_min_.crossings(link).empty()) {
      left.busy_ps += now_ps_ - left.busy_since_ps;
      left.busy_since_ps = now_ps_;  // a path that names the link twice must not count twice
    }
  }
}

double FluidEngine::left_bits_now(const Slot& flow) const {
  const double seconds = static_cast<double>(now_ps_ - flow.since_ps) * kSecondsPerPicosecond;
  return std::max(0.0, flow.left_bits - flow.rate * seconds);
}

void FluidEngine::set_rate(EventQueue::Handle h, double rate) {
  Slot& flow = slot(h);
  flow.left_bits = left_bits_now(flow);
  flow.since_ps = now_ps_;
  flow.rate = rate;
  const double picoseconds = std::round(flow.left_bits / rate * kPicosecondsPerSecond);
  // 9.2e18 ps are 106 days, the end of SimTime.
  const bool fits = picoseconds < static_cast<double>(kNever - now_ps_) * (1 - 1e-9);
  wait(h, fits ? now_ps_ + static_cast<std::int64_t>(picoseconds) : kNever);
}

void FluidEngine::end_flow(EventQueue::Handle h, FlowEnd end) {
  const FlowCallback on_end = std::move(slot(h).on_end);
  slot(h).on_end = nullptr;
  free_slots_.push_back(h);
  ++event_count_;
  on_end(end);
}

void FluidEngine::deliver(EventQueue::Handle h) {
  Slot& due = slot(h);
  switch (due.state) {
    case State::kTimer: {
      const TimerCallback on_time = std::move(due.on_time);
      due.on_time = nullptr;
      free_slots_.push_back(h);
      ++event_count_;
      on_time();
      return;
    }
    case State::kLatency:
      if (!path_is_up(due)) {
        moved_when_cut_ = Bytes();
        end_flow(h, FlowEnd::kLinkDown);
      } else if (due.size.count() > 0 && (!due.path.empty() || due.terms.cap > 0)) {
        enter_links(h);
      } else {
        end_flow(h, FlowEnd::kDone);
      }
      return;
    case State::kMoving:
      leave_links(h);
      [[fallthrough]];
    case State::kArrived:
      for (const LinkId link : due.path) {
        links_[link.index()].carried += due.size.count();
      }
      end_flow(h, FlowEnd::kDone);
      return;
    case State::kFailed:
      // As in usage(): a millionth of a byte is forgiven.
      moved_when_cut_ =
          due.size -
          Bytes(static_cast<std::int64_t>(std::ceil(std::max(0.0, due.left_bits / 8 - 1e-6))));
      end_flow(h, FlowEnd::kLinkDown);
      return;
  }
}

double FluidEngine::seconds_to_next_event() {
  // Only here, after all events of the instant: flows that come and go at one instant cost one
  // solve.
  for (const MaxMin::Change& change : max_min_.solve()) {
    set_rate(change.flow, change.rate);
  }
  if (queue_.empty()) {
    return -1;  // SimGrid's word for "nothing to come"
  }
  CHECK(queue_.top().time_ps != kNever, "a flow would end after more than 106 days");
  return static_cast<double>(queue_.top().time_ps - now_ps_) * kSecondsPerPicosecond;
}

void FluidEngine::deliver_due_events() {
  // Nothing else lives in this SimGrid instance, so the moment that has come is ours.
  if (queue_.empty()) {
    return;
  }
  now_ps_ = queue_.top().time_ps;
  while (!queue_.empty() && queue_.top().time_ps == now_ps_) {
    const EventQueue::Handle h = queue_.top().handle;
    queue_.pop();
    deliver(h);
  }
}

}  // namespace

std::unique_ptr<Engine> make_fluid_engine() {
  return std::make_unique<FluidEngine>();
}

}  // namespace busbw::engine
