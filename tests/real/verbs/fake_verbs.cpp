// The calls of the fake: making, connecting and destroying objects, posting and polling. See
// fake_verbs.h.
#include "tests/real/verbs/fake_verbs.h"

#include <algorithm>
#include <cerrno>
#include <sys/resource.h>

#include "tests/real/verbs/fake_objects.h"

namespace busbw::real::verbs {
namespace {

template <class T>
void drop(std::vector<std::unique_ptr<T>>& list, const void* object) {
  list.erase(std::remove_if(list.begin(), list.end(),
                            [&](const auto& item) { return item.get() == object; }),
             list.end());
}

}  // namespace

class FakeVerbs : public Api {
 public:
  FakeVerbs(std::shared_ptr<FakeNetwork> network, std::vector<std::string> visible)
      : network_(std::move(network)), visible_(std::move(visible)) {}

  int list_devices(std::vector<std::string>& names) override {
    return call("list_devices", [&](FakeNetwork& net) {
      names = visible_.empty() ? net.order_ : visible_;
      return 0;
    });
  }
  int open_device(const std::string& name, ContextHandle& context) override {
    return call("open_device", [&](FakeNetwork& net) {
      if (net.devices_.count(name) == 0)
        return ENODEV;
      auto made = std::make_unique<Context>();
      made->device = name;
      context.object = made.get();
      net.contexts_.push_back(std::move(made));
      return 0;
    });
  }
  int close_device(ContextHandle context) override {
    return call("close_device", [&](FakeNetwork& net) {
      for (const auto& domain : net.domains_) {
        if (domain->context == context.object)
          return EBUSY;
      }
      drop(net.contexts_, context.object);
      return 0;
    });
  }
  int query_device(ContextHandle context, DeviceLimits& limits) override {
    return call("query_device", [&](FakeNetwork& net) {
      limits = device(net, context).limits;
      return 0;
    });
  }
  int query_port(ContextHandle context, int port, PortFacts& facts) override {
    return call("query_port", [&](FakeNetwork& net) {
      facts = device(net, context).port;
      return port >= 1 && port <= device(net, context).limits.ports ? 0 : EINVAL;
    });
  }
  int query_gid(ContextHandle context, int /*port*/, int index, GidEntry& entry) override {
    return call("query_gid", [&](FakeNetwork& net) {
      const std::vector<GidEntry>& gids = device(net, context).gids;
      if (index < 0 || index >= static_cast<int>(gids.size()))
        return EINVAL;
      entry = gids[static_cast<std::size_t>(index)];
      return entry.gid == Gid{} ? ENODATA : 0;
    });
  }
  int query_pkey(ContextHandle context, int /*port*/, int index, std::uint16_t& pkey) override {
    return call("query_pkey", [&](FakeNetwork& net) {
      const std::vector<std::uint16_t>& pkeys = device(net, context).pkeys;
      if (index < 0 || index >= static_cast<int>(pkeys.size()))
        return EINVAL;
      pkey = pkeys[static_cast<std::size_t>(index)];
      return 0;
    });
  }

  int alloc_domain(ContextHandle context, DomainHandle& domain) override {
    return call("alloc_domain", [&](FakeNetwork& net) {
      auto made = std::make_unique<FakeNetwork::Domain>();
      made->context = static_cast<Context*>(context.object);
      domain.object = made.get();
      net.domains_.push_back(std::move(made));
      return 0;
    });
  }
  int free_domain(DomainHandle domain) override {
    return call("free_domain", [&](FakeNetwork& net) {
      const auto uses = [&](const auto& item) { return item->domain == domain.object; };
      if (std::any_of(net.memories_.begin(), net.memories_.end(), uses) ||
          std::any_of(net.pairs_.begin(), net.pairs_.end(), uses) ||
          std::any_of(net.shared_.begin(), net.shared_.end(), uses))
        return EBUSY;
      drop(net.domains_, domain.object);
      return 0;
    });
  }
  int register_memory(DomainHandle domain, std::byte* start, std::size_t length,
                      Region& region) override {
    return call("register_memory", [&](FakeNetwork& net) {
      if (net.limits_memory_ && pinned(net) + length > memory_limit())
        return ENOMEM;
      auto made = std::make_unique<FakeNetwork::Memory>();
      *made = {static_cast<FakeNetwork::Domain*>(domain.object), start, length, net.next_key_++};
      region = {{made.get()}, made->key, made->key};
      net.memories_.push_back(std::move(made));
      return 0;
    });
  }
  int deregister_memory(RegionHandle region) override {
    return call("deregister_memory", [&](FakeNetwork& net) {
      drop(net.memories_, region.object);
      return 0;
    });
  }

  int create_channel(ContextHandle /*context*/, ChannelHandle& channel, int& descriptor) override {
    return call("create_channel", [&](FakeNetwork& net) {
      auto made = std::make_unique<FakeNetwork::Channel>();
      channel.object = made.get();
      descriptor = made->event.descriptor();
      net.channels_.push_back(std::move(made));
      return 0;
    });
  }
  int destroy_channel(ChannelHandle channel) override {
    return call("destroy_channel", [&](FakeNetwork& net) {
      for (const auto& queue : net.queues_) {
        if (queue->channel == channel.object)
          return EBUSY;
      }
      drop(net.channels_, channel.object);
      return 0;
    });
  }
  int create_completion_queue(ContextHandle context, int depth, ChannelHandle channel,
                              CompletionQueueHandle& queue) override {
    return call("create_completion_queue", [&](FakeNetwork& net) {
      if (depth < 1 || depth > device(net, context).limits.max_completions)
        return EINVAL;
      auto made = std::make_unique<Queue>();
      made->context = static_cast<Context*>(context.object);
      made->channel = static_cast<FakeNetwork::Channel*>(channel.object);
      made->depth = static_cast<std::size_t>(depth);
      queue.object = made.get();
      net.queues_.push_back(std::move(made));
      return 0;
    });
  }
  int destroy_completion_queue(CompletionQueueHandle queue) override {
    return call("destroy_completion_queue", [&](FakeNetwork& net) {
      for (const auto& pair : net.pairs_) {
        if (pair->queue == queue.object)
          return EBUSY;
      }
      drop(net.queues_, queue.object);
      return 0;
    });
  }
  int create_shared_queue(DomainHandle domain, int depth, SharedQueueHandle& queue) override {
    return call("create_shared_queue", [&](FakeNetwork& net) {
      auto made = std::make_unique<FakeNetwork::Shared>();
      made->domain = static_cast<FakeNetwork::Domain*>(domain.object);
      made->depth = static_cast<std::size_t>(depth);
      const DeviceLimits& limits = net.devices_.at(made->domain->context->device).limits;
      if (depth < 1 || depth > limits.max_shared_requests)
        return EINVAL;
      queue.object = made.get();
      net.shared_.push_back(std::move(made));
      return 0;
    });
  }
  int destroy_shared_queue(SharedQueueHandle queue) override {
    return call("destroy_shared_queue", [&](FakeNetwork& net) {
      for (const auto& pair : net.pairs_) {
        if (pair->shared == queue.object)
          return EBUSY;
      }
      drop(net.shared_, queue.object);
      return 0;
    });
  }
  int create_queue_pair(DomainHandle domain, const QueuePairOptions& options,
                        CreatedQueuePair& created) override {
    return call("create_queue_pair", [&](FakeNetwork& net) {
      auto made = std::make_unique<Pair>();
      made->domain = static_cast<FakeNetwork::Domain*>(domain.object);
      const DeviceLimits& limits = net.devices_.at(made->domain->context->device).limits;
      if (options.send_depth > static_cast<std::uint32_t>(limits.max_work_requests))
        return EINVAL;
      made->options = options;
      made->queue = static_cast<Queue*>(options.completions.object);
      made->shared = static_cast<FakeNetwork::Shared*>(options.shared_queue.object);
      made->number = net.next_number_++;
      created = {{made.get()}, made->number, options.inline_bytes};
      net.pairs_.push_back(std::move(made));
      return 0;
    });
  }
  int destroy_queue_pair(QueuePairHandle queue_pair) override {
    return call("destroy_queue_pair", [&](FakeNetwork& net) {
      // Completions of a destroyed queue pair are never polled.
      Pair& gone = pair(queue_pair);
      auto& entries = gone.queue->entries;
      entries.erase(std::remove_if(entries.begin(), entries.end(),
                                   [&](const auto& entry) {
                                     return entry.completion.queue_pair == gone.number;
                                   }),
                    entries.end());
      drop(net.pairs_, queue_pair.object);
      return 0;
    });
  }

  int to_init(QueuePairHandle queue_pair, const ConnectOptions& options) override {
    return call("to_init", [&](FakeNetwork& net) {
      Pair& changed = pair(queue_pair);
      const auto index = static_cast<std::size_t>(options.pkey_index);
      if (changed.state != FakeState::kReset || options.port != 1 ||
          index >= net.devices_.at(changed.domain->context->device).pkeys.size())
        return EINVAL;
      changed.pkey_index = options.pkey_index;
      changed.state = FakeState::kInit;
      return 0;
    });
  }
  int to_ready_to_receive(QueuePairHandle queue_pair, const ConnectOptions& options) override {
    return call("to_ready_to_receive", [&](FakeNetwork& net) {
      Pair& changed = pair(queue_pair);
      const FakeDevice& own = net.devices_.at(changed.domain->context->device);
      const auto index = static_cast<std::size_t>(options.gid_index);
      if (changed.state != FakeState::kInit || options.mtu > own.port.active_mtu ||
          options.timeout > 31 || index >= own.gids.size() || own.gids[index].gid == Gid{} ||
          (own.port.ethernet && !options.global))
        return EINVAL;
      if (options.global) {
        const bool known =
            std::any_of(net.devices_.begin(), net.devices_.end(), [&](const auto& entry) {
              const auto& gids = entry.second.gids;
              return entry.second.link_up &&
                     std::any_of(gids.begin(), gids.end(),
                                 [&](const GidEntry& e) { return e.gid == options.peer_gid; });
            });
        if (!known)
          return ETIMEDOUT;  // its address does not resolve
      }
      changed.connected = options;
      changed.state = FakeState::kReceive;
      return 0;
    });
  }
  int to_ready_to_send(QueuePairHandle queue_pair, const ConnectOptions& options) override {
    return call("to_ready_to_send", [&](FakeNetwork& net) {
      Pair& changed = pair(queue_pair);
      if (changed.state != FakeState::kReceive || options.retry_count > 7)
        return EINVAL;
      changed.connected = options;
      changed.state = FakeState::kSend;
      net.wake_.notify_all();
      return 0;
    });
  }
  int to_error(QueuePairHandle queue_pair) override {
    return call("to_error", [&](FakeNetwork& net) {
      net.break_pair(pair(queue_pair));
      return 0;
    });
  }

  int post_send(QueuePairHandle queue_pair, const SendRequest& request) override {
    return call("post_send", [&](FakeNetwork& net) {
      Pair& to = pair(queue_pair);
      if (to.state != FakeState::kSend && to.state != FakeState::kError)
        return EINVAL;
      if (to.used == to.options.send_depth)
        return ENOMEM;
      if (request.inlined && request.length > to.options.inline_bytes)
        return EINVAL;
      ++net.requests_.posted;
      net.requests_.signalled += request.signalled ? 1 : 0;
      net.requests_.inlined += request.inlined ? 1 : 0;
      ++to.used;
      ++to.unsignalled;
      FakeNetwork::Work work;
      work.request = request;
      work.retires = to.unsignalled;
      if (request.signalled)
        to.unsignalled = 0;
      if (request.inlined)
        work.inlined.assign(request.local, request.local + request.length);
      to.sends.push_back(std::move(work));
      if (to.state == FakeState::kError)
        net.break_pair(to);
      net.wake_.notify_all();
      return 0;
    });
  }
  int post_receive(QueuePairHandle queue_pair, const ReceiveRequest& request) override {
    return call("post_receive", [&](FakeNetwork& net) {
      Pair& to = pair(queue_pair);
      if (to.state == FakeState::kReset || to.shared != nullptr)
        return EINVAL;
      if (to.receives.size() == to.options.receive_depth)
        return ENOMEM;
      to.receives.push_back(request);
      if (to.state == FakeState::kError)
        net.break_pair(to);
      net.wake_.notify_all();
      return 0;
    });
  }
  int post_shared_receive(SharedQueueHandle queue, const ReceiveRequest& request) override {
    return call("post_shared_receive", [&](FakeNetwork& net) {
      auto& to = *static_cast<FakeNetwork::Shared*>(queue.object);
      if (to.receives.size() == to.depth)
        return ENOMEM;
      to.receives.push_back(request);
      net.wake_.notify_all();
      return 0;
    });
  }
  int poll(CompletionQueueHandle queue, std::vector<Completion>& completions,
           std::size_t& count) override {
    return call("poll", [&](FakeNetwork& net) {
      auto& from = *static_cast<Queue*>(queue.object);
      for (count = 0; count < completions.size() && !from.entries.empty(); ++count) {
        const Queue::Entry entry = from.entries.front();
        from.entries.pop_front();
        completions[count] = entry.completion;
        if (Pair* pair = net.find_pair(entry.completion.queue_pair))
          pair->used -= std::min(pair->used, entry.retires);
      }
      return 0;
    });
  }
  int request_notification(CompletionQueueHandle queue) override {
    return call("request_notification", [&](FakeNetwork& /*net*/) {
      static_cast<Queue*>(queue.object)->armed = true;
      return 0;
    });
  }
  int take_notifications(ChannelHandle channel) override {
    return call("take_notifications", [&](FakeNetwork& /*net*/) {
      static_cast<FakeNetwork::Channel*>(channel.object)->event.clear();
      return 0;
    });
  }
  int async_descriptor(ContextHandle context, int& descriptor) override {
    return call("async_descriptor", [&](FakeNetwork& /*net*/) {
      descriptor = static_cast<Context*>(context.object)->event.descriptor();
      return 0;
    });
  }
  int take_async_event(ContextHandle context, AsyncEvent& event) override {
    return call("take_async_event", [&](FakeNetwork& /*net*/) {
      auto& from = *static_cast<Context*>(context.object);
      if (from.events.empty())
        return EAGAIN;
      event = from.events.front();
      from.events.pop_front();
      if (from.events.empty())
        from.event.clear();
      return 0;
    });
  }

 private:
  using Context = FakeNetwork::Context;
  using Queue = FakeNetwork::Queue;
  using Pair = FakeNetwork::Pair;

  template <class Body>
  int call(const char* method, Body body) {
    std::unique_lock lock(network_->mutex_);
    if (const auto slow = network_->slow_.find(method); slow != network_->slow_.end()) {
      const Milliseconds time = slow->second;
      lock.unlock();
      std::this_thread::sleep_for(time);
      lock.lock();
    }
    const int error = network_->enter(method);
    return error != 0 ? error : body(*network_);
  }
  static const FakeDevice& device(FakeNetwork& net, ContextHandle context) {
    return net.devices_.at(static_cast<Context*>(context.object)->device);
  }
  static std::size_t pinned(const FakeNetwork& net) {
    std::size_t bytes = 0;
    for (const auto& memory : net.memories_)
      bytes += memory->length;
    return bytes;
  }
  static std::size_t memory_limit() {
    rlimit limit{};
    return ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 ? limit.rlim_cur : 0;
  }
  static Pair& pair(QueuePairHandle handle) { return *static_cast<Pair*>(handle.object); }

  std::shared_ptr<FakeNetwork> network_;
  std::vector<std::string> visible_;
};

std::shared_ptr<Api> make_fake_verbs(std::shared_ptr<FakeNetwork> network,
                                     std::vector<std::string> visible) {
  return std::make_shared<FakeVerbs>(std::move(network), std::move(visible));
}

}  // namespace busbw::real::verbs
