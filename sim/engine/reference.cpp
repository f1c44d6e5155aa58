// The reference engine: SimGrid's own network model (CM02, pure max-min) over explicit paths.
//
// Here to check the fluid engine, so it shares no rate computation with it. A flow is a one-sided
// Comm between two fixed hosts whose route is the flow's path; a rate cap is a private link in the
// path. Latency is paid by a SimGrid timer before the Comm starts: with a latency inside,
// SimGrid 3.32's lazy update forgets all but the first link of a flow that starts together with
// another one. Leaves out weights other than 1 (SimGrid drops them at zero latency).
//
// Time: SimGrid's double seconds since this engine began, rounded to picoseconds at each event.
// Several microseconds of true time are therefore off by less than 1 ps an event.
#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>

#include "sim/core/check.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/make.h"
#include "sim/engine/simgrid_session.h"

namespace busbw::engine {
namespace {

namespace s4u = simgrid::s4u;
namespace routing = simgrid::kernel::routing;

constexpr double kSecondsPerPicosecond = 1e-12;
constexpr double kPicosecondsPerSecond = 1e12;
constexpr double kForever = std::numeric_limits<double>::infinity();

double bytes_per_second(Bandwidth rate) {
  return static_cast<double>(rate.bps()) / 8;
}

/// A zone that answers every question for a route with the path of the flow being started.
/// Owned by SimGrid once it is the root.
class PathZone final : public routing::NetZoneImpl {
 public:
  PathZone() : NetZoneImpl("busbw") {}
  void set_path(std::vector<s4u::Link*> path) { path_ = std::move(path); }
  void get_local_route(const routing::NetPoint*, const routing::NetPoint*, routing::Route* into,
                       double*) override {
    for (const s4u::Link* link : path_) {
      into->link_list_.push_back(link->get_impl());
    }
  }

 private:
  std::vector<s4u::Link*> path_;
};

class ReferenceEngine final : public Engine {
 public:
  ReferenceEngine();
  ~ReferenceEngine() override;

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
  enum class State : std::uint8_t {
    kFree,
    kTimer,    // waits for its moment
    kLatency,  // a flow before its first byte
    kMoving,   // a flow whose Comm is under way
    kArrived,  // done, to be delivered
    kFailed,   // failed, to be delivered
  };
  struct Slot {
    State state = State::kFree;
    std::int64_t sequence = 0;
    FlowSpec spec;
    FlowCallback on_end;
    TimerCallback on_time;
    s4u::CommPtr comm;         // kept until the flow has been delivered
    s4u::Link* cap = nullptr;  // private link of a capped flow under way
    double moved = 0;          // bytes, when it failed
  };
  struct LinkInfo {
    std::string name;
    Bandwidth capacity;
    s4u::Link* link = nullptr;
    std::int64_t carried = 0;    // bytes of flows that ended well
    double carried_part = 0;     // bytes of flows that failed under way
    std::int64_t crossings = 0;  // by flows under way
    std::int64_t busy_ps = 0;
    std::int64_t busy_since_ps = 0;
  };

  [[nodiscard]] bool is_link(LinkId link) const {
    return link.value() >= 0 && link.index() < links_.size();
  }
  [[nodiscard]] const LinkInfo& info(LinkId link) const {
    CHECK(is_link(link), "no link {}", link.value());
    return links_[link.index()];
  }
  [[nodiscard]] Slot& slot(EventQueue::Handle h) { return slots_[static_cast<std::size_t>(h)]; }
  EventQueue::Handle take_slot();
  void give_slot(EventQueue::Handle h);
  void wait(EventQueue::Handle h, std::int64_t time_ps);
  void set_timer(double date, std::int64_t time_ps);
  [[nodiscard]] bool has_unreported_ends() const;
  [[nodiscard]] bool path_is_up(const FlowSpec& flow) const;
  s4u::Link* take_cap(Bandwidth rate);
  void start_comm(EventQueue::Handle h);
  void leave_links(EventQueue::Handle h);
  void comm_ended(EventQueue::Handle h, bool well);
  void on_timer(std::int64_t time_ps);
  void deliver_until(std::int64_t time_ps);
  void deliver(EventQueue::Handle h);
  void end_flow(EventQueue::Handle h, FlowEnd end);
  [[nodiscard]] std::int64_t clock_ps() const;

  static void on_completion(const s4u::Activity& activity);
  static ReferenceEngine* alive_;  // whom SimGrid's process-wide signal reports to

  SimGridSession session_;
  PathZone* zone_ = nullptr;
  simgrid::kernel::resource::Model* network_model_ = nullptr;
  s4u::Host* source_ = nullptr;
  s4u::Host* destination_ = nullptr;
  double start_seconds_ = 0;
  std::vector<LinkInfo> links_;
  std::vector<s4u::Link*> free_caps_;
  std::int64_t cap_count_ = 0;
  std::vector<Slot> slots_;
  std::vector<EventQueue::Handle> free_slots_;
  EventQueue queue_;  // what is to be delivered; each entry has a SimGrid timer that comes for it
  std::int64_t now_ps_ = 0;
  std::int64_t next_sequence_ = 0;
  FlowId next_flow_ = 0;
  std::int64_t event_count_ = 0;
  Bytes moved_when_cut_;
  std::exception_ptr failure_;  // what a callback threw
};

ReferenceEngine* ReferenceEngine::alive_ = nullptr;

ReferenceEngine::ReferenceEngine() {
  zone_ = new PathZone;  // SimGrid deletes it with its root zone
  s4u::NetZone* face = zone_->get_iface();
  source_ = face->create_host("source", 1e9);
  destination_ = face->create_host("destination", 1e9);
  for (simgrid::kernel::resource::Model* model : session_.simgrid().get_all_models()) {
    if (model->get_name() == "Network_CM02") {
      network_model_ = model;
    }
  }
  CHECK(network_model_ != nullptr, "SimGrid has no model Network_CM02");
  start_seconds_ = s4u::Engine::get_clock();
  static const bool kRegistered = [] {  // a signal can't be disconnected: once a process
    s4u::Activity::on_completion_cb(&ReferenceEngine::on_completion);
    return true;
  }();
  static_cast<void>(kRegistered);
  alive_ = this;
}

ReferenceEngine::~ReferenceEngine() {
  alive_ = nullptr;
}

LinkId ReferenceEngine::add_link(std::string name, Bandwidth capacity) {
  CHECK(capacity.bps() >= 0, "link {} has {} bit/s", name, capacity.bps());
  LinkInfo added;
  added.name = std::move(name);
  added.capacity = capacity;
  const bool up = capacity.bps() > 0;
  // SimGrid ignores a bandwidth of 0: down is a link that is off.
  added.link = zone_->get_iface()->create_link("link" + std::to_string(links_.size()),
                                               up ? bytes_per_second(capacity) : 1.0);
  if (!up) {
    added.link->turn_off();
  }
  links_.push_back(std::move(added));
  return LinkId(static_cast<std::int32_t>(links_.size()) - 1);
}

void ReferenceEngine::set_capacity(LinkId link, Bandwidth capacity) {
  CHECK(is_link(link), "no link {}", link.value());
  CHECK(capacity.bps() >= 0, "link {} gets {} bit/s", info(link).name, capacity.bps());
  LinkInfo& changed = links_[link.index()];
  const bool was_up = changed.capacity.bps() > 0;
  changed.capacity = capacity;
  if (capacity.bps() > 0) {
    changed.link->set_bandwidth(bytes_per_second(capacity));
    if (!was_up) {
      changed.link->turn_on();
    }
    return;
  }
  if (!was_up) {
    return;
  }
  for (Slot& flow : slots_) {
    const std::vector<LinkId>& path = flow.spec.path;
    if (flow.state == State::kMoving && std::count(path.begin(), path.end(), link) > 0) {
      const double moved = static_cast<double>(flow.spec.size.count()) - flow.comm->get_remaining();
      for (const LinkId crossed : path) {
        links_[crossed.index()].carried_part += moved;
      }
      flow.moved = moved;
    }
  }
  changed.link->turn_off();  // fails the Comms on it, whose callbacks come in this instant
}

FlowId ReferenceEngine::start_flow(FlowSpec spec, FlowCallback on_end) {
  CHECK(on_end != nullptr);
  CHECK(spec.size.count() >= 0, "flow of {} bytes", spec.size.count());
  CHECK(spec.latency.ps() >= 0, "flow with latency {} ps", spec.latency.ps());
  CHECK(spec.weight == 1, "the reference engine has no weights, flow has {}", spec.weight);
  CHECK(!spec.rate_cap || spec.rate_cap->bps() > 0, "a rate cap must be positive");
  for (const LinkId link : spec.path) {
    CHECK(is_link(link), "no link {}", link.value());
  }
  const EventQueue::Handle h = take_slot();
  Slot& flow = slot(h);
  flow.spec = std::move(spec);
  flow.on_end = std::move(on_end);
  // Even without latency the Comm starts in a timer, because only there its start is synchronous.
  flow.state = path_is_up(flow.spec) ? State::kLatency : State::kFailed;
  wait(h, now_ps_ + (flow.state == State::kLatency ? flow.spec.latency.ps() : 0));
  return next_flow_++;
}

void ReferenceEngine::after(Duration delay, TimerCallback callback) {
  CHECK(callback != nullptr);
  CHECK(delay.ps() >= 0, "timer after {} ps", delay.ps());
  const EventQueue::Handle h = take_slot();
  slot(h).state = State::kTimer;
  slot(h).on_time = std::move(callback);
  wait(h, now_ps_ + delay.ps());
}

LinkUsage ReferenceEngine::usage(LinkId link) const {
  const LinkInfo& of = info(link);
  double part = of.carried_part;
  for (const Slot& flow : slots_) {
    if (flow.state == State::kMoving) {
      const auto times = std::count(flow.spec.path.begin(), flow.spec.path.end(), link);
      part += static_cast<double>(times) *
              (static_cast<double>(flow.spec.size.count()) - flow.comm->get_remaining());
    }
  }
  // A hundredth of a byte is forgiven: SimGrid's clock has its error (some 1e-16 of all time that
  // this process simulated), and the sum of whole parts must stay whole.
  return {Bytes(of.carried + static_cast<std::int64_t>(std::floor(part + 0.01))),
          Duration::picoseconds(of.busy_ps + (of.crossings > 0 ? now_ps_ - of.busy_since_ps : 0))};
}

EventQueue::Handle ReferenceEngine::take_slot() {
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

void ReferenceEngine::give_slot(EventQueue::Handle h) {
  slot(h) = Slot();
  free_slots_.push_back(h);
  ++event_count_;
}

std::int64_t ReferenceEngine::clock_ps() const {
  const double seconds = s4u::Engine::get_clock() - start_seconds_;
  return std::max<std::int64_t>(now_ps_, std::llround(seconds * kPicosecondsPerSecond));
}

void ReferenceEngine::wait(EventQueue::Handle h, std::int64_t time_ps) {
  queue_.set({time_ps, slot(h).sequence, h});
  set_timer(start_seconds_ + static_cast<double>(time_ps) * kSecondsPerPicosecond, time_ps);
}

void ReferenceEngine::set_timer(double date, std::int64_t time_ps) {
  simgrid::kernel::timer::Timer::set(std::max(date, s4u::Engine::get_clock()),
                                     [this, time_ps] { on_timer(time_ps); });
}

bool ReferenceEngine::has_unreported_ends() const {
  return !network_model_->get_finished_action_set()->empty() ||
         !network_model_->get_failed_action_set()->empty();
}

bool ReferenceEngine::path_is_up(const FlowSpec& flow) const {
  return std::all_of(flow.path.begin(), flow.path.end(),
                     [this](LinkId link) { return links_[link.index()].capacity.bps() > 0; });
}

s4u::Link* ReferenceEngine::take_cap(Bandwidth rate) {
  s4u::Link* cap = nullptr;
  if (free_caps_.empty()) {
    cap = zone_->get_iface()->create_link("cap" + std::to_string(cap_count_++),
                                          bytes_per_second(rate));
  } else {
    cap = free_caps_.back();
    free_caps_.pop_back();
    cap->set_bandwidth(bytes_per_second(rate));
  }
  return cap;
}

void ReferenceEngine::start_comm(EventQueue::Handle h) {
  Slot& flow = slot(h);
  flow.state = State::kMoving;
  std::vector<s4u::Link*> path;
  for (const LinkId link : flow.spec.path) {
    LinkInfo& crossed = links_[link.index()];
    path.push_back(crossed.link);
    if (crossed.crossings++ == 0) {
      crossed.busy_since_ps = now_ps_;
    }
  }
  if (flow.spec.rate_cap) {
    flow.cap = take_cap(*flow.spec.rate_cap);
    path.push_back(flow.cap);
  }
  zone_->set_path(std::move(path));
  flow.comm = s4u::Comm::sendto_init();
  // A handle carried in the pointer, never dereferenced.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  flow.comm->set_data(reinterpret_cast<void*>(static_cast<std::intptr_t>(h)));
  flow.comm->set_payload_size(static_cast<std::uint64_t>(flow.spec.size.count()));
  flow.comm->set_source(source_)->set_destination(destination_);  // starts it
  // SimGrid bounds a Comm by the smallest bandwidth its links have now, and would keep that bound
  // when a link gets faster. The links themselves are limit enough.
  network_model_->get_started_action_set()->back().set_bound(-1);
}

void ReferenceEngine::leave_links(EventQueue::Handle h) {
  Slot& flow = slot(h);
  for (const LinkId link : flow.spec.path) {
    LinkInfo& crossed = links_[link.index()];
    if (--crossed.crossings == 0) {
      crossed.busy_ps += now_ps_ - crossed.busy_since_ps;
    }
  }
  if (flow.cap != nullptr) {
    free_caps_.push_back(flow.cap);
    flow.cap = nullptr;
  }
}

void ReferenceEngine::on_completion(const s4u::Activity& activity) {
  if (alive_ != nullptr) {  // every activity here is a Comm of this engine
    const auto h =
        reinterpret_cast<std::intptr_t>(static_cast<const s4u::Comm&>(activity).get_data<void>());
    alive_->comm_ended(static_cast<EventQueue::Handle>(h),
                       activity.get_state() == s4u::Activity::State::FINISHED);
  }
}

void ReferenceEngine::comm_ended(EventQueue::Handle h, bool well) {
  // Not delivered here: first SimGrid reports all that end at this instant, in an order of its own.
  if (slot(h).state == State::kMoving) {
    slot(h).state = well ? State::kArrived : State::kFailed;
    wait(h, clock_ps());
  }
}

void ReferenceEngine::run() {
  session_.simgrid().run();
  if (failure_ != nullptr) {
    std::rethrow_exception(failure_);
  }
}

void ReferenceEngine::on_timer(std::int64_t time_ps) {
  if (failure_ != nullptr) {
    return;  // SimGrid can't be stopped: let it run dry
  }
  try {
    deliver_until(time_ps);
  } catch (...) {  // SimGrid's timers don't clean up behind an exception: carry it around them
    failure_ = std::current_exception();
  }
}

void ReferenceEngine::deliver_until(std::int64_t time_ps) {
  now_ps_ = std::max(now_ps_, time_ps);
  while (!queue_.empty() && queue_.top().time_ps <= now_ps_) {
    if (has_unreported_ends()) {
      // SimGrid runs the timers of a moment before it reports the Comms that ended at that moment.
      // Those may come first by sequence number: go on in the next round, one bit of time later.
      const double later = std::nextafter(s4u::Engine::get_clock(), kForever);
      set_timer(later, now_ps_);
      return;
    }
    const EventQueue::Handle h = queue_.top().handle;
    queue_.pop();
    deliver(h);
  }
}

void ReferenceEngine::deliver(EventQueue::Handle h) {
  Slot& due = slot(h);
  switch (due.state) {
    case State::kTimer: {
      const TimerCallback on_time = std::move(due.on_time);
      give_slot(h);
      on_time();
      return;
    }
    case State::kLatency:
      if (!path_is_up(due.spec)) {
        moved_when_cut_ = Bytes();
        end_flow(h, FlowEnd::kLinkDown);
      } else if (due.spec.size.count() > 0 && (!due.spec.path.empty() || due.spec.rate_cap)) {
        start_comm(h);
      } else {
        end_flow(h, FlowEnd::kDone);
      }
      return;
    case State::kArrived:
      leave_links(h);
      for (const LinkId link : due.spec.path) {
        links_[link.index()].carried += due.spec.size.count();
      }
      end_flow(h, FlowEnd::kDone);
      return;
    case State::kFailed:
      if (due.comm) {
        leave_links(h);
      }
      // As in usage(): a hundredth of a byte is forgiven.
      moved_when_cut_ = Bytes(static_cast<std::int64_t>(std::floor(due.moved + 0.01)));
      end_flow(h, FlowEnd::kLinkDown);
      return;
    case State::kFree:
    case State::kMoving:
      CHECK(false, "nothing to deliver for slot {}", h);
  }
}

void ReferenceEngine::end_flow(EventQueue::Handle h, FlowEnd end) {
  const FlowCallback on_end = std::move(slot(h).on_end);
  const s4u::CommPtr comm = slot(h).comm;  // lives until the callback has returned
  give_slot(h);
  on_end(end);
}

}  // namespace

std::unique_ptr<Engine> make_reference_engine() {
  return std::make_unique<ReferenceEngine>();
}

}  // namespace busbw::engine
