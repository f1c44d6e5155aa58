// How work requests run in the fake network. See fake_verbs.h.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "real/verbs/status.h"
#include "tests/real/verbs/fake_objects.h"

namespace busbw::real::verbs {
namespace {

Gid gid_of(std::initializer_list<int> bytes) {
  Gid gid{};
  std::size_t at = 0;
  for (const int byte : bytes)
    gid.at(at++) = static_cast<std::uint8_t>(byte);
  return gid;
}

FakeDevice device(int number) {
  FakeDevice made;
  made.name = "fake" + std::to_string(number);
  made.limits = {1024, 4096, 65536, 16384, 16, 16, 1, static_cast<std::uint64_t>(number) + 1, 1};
  made.port.state = 4;
  made.port.physical_state = 5;
  made.port.active_mtu = 1024;
  made.port.speed_mbit = 100000;
  made.port.max_message = 1U << 30U;
  return made;
}

}  // namespace

FakeDevice roce_device(int number) {
  FakeDevice made = device(number);
  made.port.ethernet = true;
  const Gid local = gid_of({0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, number + 1});
  const Gid mapped = gid_of({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, number + 1});
  made.gids = {{local, GidType::kRoceV1},
               {local, GidType::kRoceV2},
               {mapped, GidType::kRoceV1},
               {mapped, GidType::kRoceV2},
               {Gid{}, GidType::kUnknown}};
  made.port.gid_entries = static_cast<int>(made.gids.size());
  return made;
}

FakeDevice infiniband_device(int number) {
  FakeDevice made = device(number);
  made.port.infiniband = true;
  made.port.lid = static_cast<std::uint16_t>(number + 1);
  made.gids = {{gid_of({0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, number + 1}),
                GidType::kInfiniBand}};
  made.port.gid_entries = 1;
  return made;
}

FakeNetwork::FakeNetwork(std::uint64_t seed) : random_(seed) {
  thread_ = std::thread([this] { work(); });
}

FakeNetwork::~FakeNetwork() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void FakeNetwork::add(const FakeDevice& device) {
  const std::lock_guard lock(mutex_);
  order_.push_back(device.name);
  devices_[device.name] = device;
}

void FakeNetwork::fail_call(const std::string& method, int error, int nth) {
  const std::lock_guard lock(mutex_);
  failures_[method] = {nth, error};
}

void FakeNetwork::slow_call(const std::string& method, Milliseconds time) {
  const std::lock_guard lock(mutex_);
  slow_[method] = time;
}

void FakeNetwork::fail_completion(int status, int nth) {
  const std::lock_guard lock(mutex_);
  completion_status_ = status;
  completion_left_ = nth;
}

void FakeNetwork::set_retry_time(Milliseconds time) {
  const std::lock_guard lock(mutex_);
  retry_time_ = time;
}

void FakeNetwork::set_link(const std::string& device, bool up) {
  const std::lock_guard lock(mutex_);
  FakeDevice& changed = devices_.at(device);
  changed.link_up = up;
  changed.port.state = up ? 4 : 1;
  report(device, {up ? kPortActive : kPortError, 1});
  wake_.notify_all();
}

void FakeNetwork::set_port_state(const std::string& device, int state) {
  const std::lock_guard lock(mutex_);
  devices_.at(device).port.state = state;
}

void FakeNetwork::set_pkey(const std::string& device, int index, std::uint16_t pkey) {
  const std::lock_guard lock(mutex_);
  devices_.at(device).pkeys.at(static_cast<std::size_t>(index)) = pkey;
}

void FakeNetwork::set_loss(double share) {
  const std::lock_guard lock(mutex_);
  loss_ = share;
}

void FakeNetwork::limit_memory() {
  const std::lock_guard lock(mutex_);
  limits_memory_ = true;
}

std::vector<ConnectOptions> FakeNetwork::connections() const {
  const std::lock_guard lock(mutex_);
  std::vector<ConnectOptions> list;
  for (const auto& pair : pairs_) {
    if (pair->state != FakeState::kSend)
      continue;
    list.push_back(pair->connected);
    list.back().pkey_index = pair->pkey_index;
  }
  return list;
}

FakeNetwork::Requests FakeNetwork::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void FakeNetwork::add_event(const std::string& device, const AsyncEvent& event) {
  const std::lock_guard lock(mutex_);
  add_event_locked(device, event);
}

void FakeNetwork::set_events(bool on) {
  const std::lock_guard lock(mutex_);
  events_ = on;
}

/// An event that the device makes itself.
void FakeNetwork::report(const std::string& device, const AsyncEvent& event) {
  if (events_)
    add_event_locked(device, event);
}

void FakeNetwork::add_event_locked(const std::string& device, const AsyncEvent& event) {
  for (const auto& context : contexts_) {
    if (context->device == device) {
      context->events.push_back(event);
      context->event.set();
    }
  }
}

std::map<std::string, int> FakeNetwork::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

int FakeNetwork::alive() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(contexts_.size() + domains_.size() + memories_.size() + channels_.size() +
                          queues_.size() + shared_.size() + pairs_.size());
}

/// Counts the call; the errno it shall fail with, or 0. The caller holds the lock.
int FakeNetwork::enter(const std::string& method) {
  ++calls_[method];
  const auto found = failures_.find(method);
  if (found == failures_.end() || --found->second.first > 0)
    return 0;
  const int error = found->second.second;
  failures_.erase(found);
  return error;
}

void FakeNetwork::work() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (run_one())
      continue;
    // Requests that wait for a receive, a link or a retry are looked at again after a moment.
    const bool waiting = std::any_of(pairs_.begin(), pairs_.end(),
                                     [](const auto& pair) { return !pair->sends.empty(); });
    if (waiting)
      wake_.wait_for(lock, Milliseconds(1));
    else
      wake_.wait(lock);
  }
}

/// Runs the oldest request of some queue pair, starting at a random one; false if none can run.
bool FakeNetwork::run_one() {
  if (pairs_.empty())
    return false;
  const std::size_t start = random_.below(pairs_.size());
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    Pair& pair = *pairs_[(start + i) % pairs_.size()];
    if (pair.state != FakeState::kSend || pair.sends.empty())
      continue;
    if (run(pair, pair.sends.front()) == Outcome::kDone)
      return true;
  }
  return false;
}

FakeNetwork::Pair* FakeNetwork::find_pair(std::uint32_t number) {
  for (const auto& pair : pairs_) {
    if (pair->number == number)
      return pair.get();
  }
  return nullptr;
}

bool FakeNetwork::reachable(const Pair& from, const Pair& to) {
  const FakeDevice& source = devices_.at(from.domain->context->device);
  const FakeDevice& target = devices_.at(to.domain->context->device);
  const bool addressed =
      from.connected.global
          ? std::any_of(target.gids.begin(), target.gids.end(),
                        [&](const GidEntry& e) { return e.gid == from.connected.peer_gid; })
          : target.port.lid == from.connected.peer_lid;
  const unsigned own = pkey_of(from);
  const unsigned other = pkey_of(to);
  const bool same_partition = ((own ^ other) & 0x7fffU) == 0 && ((own | other) & 0x8000U) != 0;
  return source.link_up && target.link_up && addressed && same_partition &&
         to.connected.peer_number == from.number &&
         from.connected.own_sequence == to.connected.peer_sequence &&
         (to.state == FakeState::kReceive || to.state == FakeState::kSend);
}

std::uint16_t FakeNetwork::pkey_of(const Pair& pair) const {
  return devices_.at(pair.domain->context->device)
      .pkeys.at(static_cast<std::size_t>(pair.pkey_index));
}

/// A lost request is sent again a little later, and may get lost again.
bool FakeNetwork::is_lost(Work& work) {
  const Clock::time_point now = Clock::now();
  if (work.resent && now < *work.resent)
    return true;
  constexpr std::uint64_t kMillion = 1'000'000;
  if (static_cast<double>(random_.below(kMillion)) >= loss_ * static_cast<double>(kMillion))
    return false;
  ++requests_.lost;
  work.resent = now + Milliseconds(1);
  return true;
}

FakeNetwork::Outcome FakeNetwork::run(Pair& pair, Work& work) {
  const SendRequest& request = work.request;
  Pair* peer = find_pair(pair.connected.peer_number);
  if (peer == nullptr || !reachable(pair, *peer)) {
    if (!work.waiting) {
      work.waiting = true;
      work.since = Clock::now();
    }
    if (Clock::now() - work.since < retry_time_)
      return Outcome::kWait;
    finish_send(pair, work, kRetryExceeded);
    return Outcome::kDone;
  }
  if (is_lost(work))
    return Outcome::kWait;
  if (completion_left_ > 0 && --completion_left_ == 0) {
    finish_send(pair, work, completion_status_);
    return Outcome::kDone;
  }
  if (!request.inlined && request.length > 0 &&
      !local_ok(pair, request.local_key, request.local, request.length)) {
    finish_send(pair, work, kLocalProtectionError);
    return Outcome::kDone;
  }
  return deliver(pair, *peer, work);
}

FakeNetwork::Outcome FakeNetwork::deliver(Pair& pair, Pair& peer, Work& work) {
  const SendRequest& request = work.request;
  const std::byte* from = request.inlined ? work.inlined.data() : request.local;
  if (request.opcode != Opcode::kSend && request.length > 0 &&
      find_remote(peer, request.remote_key, request.remote_address, request.length) == nullptr) {
    report(peer.domain->context->device, {kQueuePairAccessError, peer.number});
    break_pair(peer);
    finish_send(pair, work, kRemoteAccessError);
    return Outcome::kDone;
  }
  auto* remote = reinterpret_cast<std::byte*>(request.remote_address);
  if (request.opcode == Opcode::kRead) {
    std::memcpy(const_cast<std::byte*>(request.local), remote, request.length);
    finish_send(pair, work, kSuccess, request.length);
    return Outcome::kDone;
  }
  std::deque<ReceiveRequest>& receives = *receives_of(peer);
  if (receives.empty())
    return Outcome::kWait;  // receiver not ready, retried for ever
  const ReceiveRequest receive = receives.front();
  receives.pop_front();
  Completion arrival{receive.id, kSuccess, peer.number, request.length, request.immediate, 0};
  if (request.opcode == Opcode::kSend && request.length > 0) {
    if (request.length > receive.length ||
        !local_ok(peer, receive.local_key, receive.local, request.length)) {
      arrival.status = request.length > receive.length ? kLocalLengthError : kLocalProtectionError;
      complete(*peer.queue, arrival, 0);
      break_pair(peer);
      finish_send(pair, work, kRemoteInvalidRequest);
      return Outcome::kDone;
    }
    std::memcpy(receive.local, from, request.length);
  } else if (request.length > 0) {
    std::memcpy(remote, from, request.length);
  }
  complete(*peer.queue, arrival, 0);
  finish_send(pair, work, kSuccess);
  return Outcome::kDone;
}

/// Takes the oldest request of `pair` off its queue with this status.
void FakeNetwork::finish_send(Pair& pair, Work& work, int status, std::uint32_t bytes) {
  const Work done = work;
  pair.sends.pop_front();
  if (status == kSuccess) {
    if (done.request.signalled)
      complete(*pair.queue, {done.request.id, status, pair.number, bytes, 0, 0}, done.retires);
    return;
  }
  complete(*pair.queue, {done.request.id, status, pair.number, 0, 0, 0x81}, done.retires);
  break_pair(pair);
}

/// Into the error state: everything posted comes back flushed.
void FakeNetwork::break_pair(Pair& pair) {
  pair.state = FakeState::kError;
  for (const Work& work : pair.sends)
    complete(*pair.queue, {work.request.id, kFlushed, pair.number, 0, 0, 0}, 1);
  pair.sends.clear();
  for (const ReceiveRequest& receive : pair.receives)
    complete(*pair.queue, {receive.id, kFlushed, pair.number, 0, 0, 0}, 0);
  pair.receives.clear();
}

void FakeNetwork::complete(Queue& queue, const Completion& completion, std::uint32_t retires) {
  if (queue.overflowed)
    return;
  if (queue.entries.size() == queue.depth) {
    queue.overflowed = true;
    report(queue.context->device, {kQueueOverflow, 0});
    return;
  }
  queue.entries.push_back({completion, retires});
  if (queue.armed) {
    queue.armed = false;
    queue.channel->event.set();
  }
}

std::deque<ReceiveRequest>* FakeNetwork::receives_of(Pair& pair) {
  return pair.shared != nullptr ? &pair.shared->receives : &pair.receives;
}

FakeNetwork::Memory* FakeNetwork::find_remote(const Pair& owner, std::uint32_t key,
                                              std::uint64_t address, std::uint32_t length) {
  for (const auto& memory : memories_) {
    const auto start = reinterpret_cast<std::uint64_t>(memory->start);
    if (memory->key == key && memory->domain == owner.domain && address >= start &&
        address + length <= start + memory->length)
      return memory.get();
  }
  return nullptr;
}

bool FakeNetwork::local_ok(const Pair& pair, std::uint32_t key, const std::byte* at,
                           std::uint32_t length) {
  return find_remote(pair, key, reinterpret_cast<std::uint64_t>(at), length) != nullptr;
}

}  // namespace busbw::real::verbs
