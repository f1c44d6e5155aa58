// See faults.h.
#include "real/verbs/faults.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <map>

#include <fmt/format.h>

#include "real/base/deadline.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::real::verbs {
namespace {

/// How long the completion queue of one entry is left alone: several completions come meanwhile.
constexpr Milliseconds kUnpolled{1000};

/// By FaultKind.
constexpr std::array<const char*, 5> kKinds = {"wrong-rkey", "foreign-pd", "qp-error",
                                               "cq-overflow", "kill"};

class FaultyVerbs : public Api {
 public:
  FaultyVerbs(std::shared_ptr<Api> api, const Fault& fault) : api_(std::move(api)), fault_(fault) {}

  int list_devices(std::vector<std::string>& names) override { return api_->list_devices(names); }
  int open_device(const std::string& name, ContextHandle& context) override {
    return api_->open_device(name, context);
  }
  int close_device(ContextHandle context) override { return api_->close_device(context); }
  int query_device(ContextHandle context, DeviceLimits& limits) override {
    return api_->query_device(context, limits);
  }
  int query_port(ContextHandle context, int port, PortFacts& facts) override {
    return api_->query_port(context, port, facts);
  }
  int query_gid(ContextHandle context, int port, int index, GidEntry& entry) override {
    return api_->query_gid(context, port, index, entry);
  }
  int query_gids(ContextHandle context, int port, int count,
                 std::vector<std::optional<GidEntry>>& entries) override {
    return api_->query_gids(context, port, count, entries);
  }
  int query_pkey(ContextHandle context, int port, int index, std::uint16_t& pkey) override {
    return api_->query_pkey(context, port, index, pkey);
  }
  int alloc_domain(ContextHandle context, DomainHandle& domain) override {
    context_ = context;
    return api_->alloc_domain(context, domain);
  }
  int free_domain(DomainHandle domain) override { return api_->free_domain(domain); }
  int register_memory(DomainHandle domain, std::byte* start, std::size_t length,
                      Region& region) override {
    return api_->register_memory(domain, start, length, region);
  }
  int deregister_memory(RegionHandle region) override { return api_->deregister_memory(region); }
  int create_channel(ContextHandle context, ChannelHandle& channel, int& descriptor) override {
    return api_->create_channel(context, channel, descriptor);
  }
  int destroy_channel(ChannelHandle channel) override { return api_->destroy_channel(channel); }
  int create_completion_queue(ContextHandle context, int depth, ChannelHandle channel,
                              CompletionQueueHandle& queue) override {
    const int entries = fault_.kind == FaultKind::kQueueOverflow ? 1 : depth;
    return api_->create_completion_queue(context, entries, channel, queue);
  }
  int destroy_completion_queue(CompletionQueueHandle queue) override {
    return api_->destroy_completion_queue(queue);
  }
  int create_shared_queue(DomainHandle domain, int depth, SharedQueueHandle& queue) override {
    return api_->create_shared_queue(domain, depth, queue);
  }
  int destroy_shared_queue(SharedQueueHandle queue) override {
    return api_->destroy_shared_queue(queue);
  }
  int create_queue_pair(DomainHandle domain, const QueuePairOptions& options,
                        CreatedQueuePair& created) override {
    return api_->create_queue_pair(domain, options, created);
  }
  int destroy_queue_pair(QueuePairHandle queue_pair) override {
    const int status = api_->destroy_queue_pair(queue_pair);
    if (queue_pair.object == hit_.object)
      free_foreign();
    return status;
  }
  int to_init(QueuePairHandle queue_pair, const ConnectOptions& options) override {
    return api_->to_init(queue_pair, options);
  }
  int to_ready_to_receive(QueuePairHandle queue_pair, const ConnectOptions& options) override {
    return api_->to_ready_to_receive(queue_pair, options);
  }
  int to_ready_to_send(QueuePairHandle queue_pair, const ConnectOptions& options) override {
    return api_->to_ready_to_send(queue_pair, options);
  }
  int to_error(QueuePairHandle queue_pair) override { return api_->to_error(queue_pair); }

  int post_send(QueuePairHandle queue_pair, const SendRequest& request) override {
    SendRequest changed = request;
    if (fault_.kind == FaultKind::kQueueOverflow && !overflows_by_)
      overflows_by_ = Deadline::in(kUnpolled);
    if (can_hit(request) && ++posted_ == fault_.at) {
      hit_ = queue_pair;
      if (const int status = strike(queue_pair, changed); status != 0)
        return status;
    }
    return api_->post_send(queue_pair, changed);
  }
  int post_receive(QueuePairHandle queue_pair, const ReceiveRequest& request) override {
    return api_->post_receive(queue_pair, request);
  }
  int post_shared_receive(SharedQueueHandle queue, const ReceiveRequest& request) override {
    return api_->post_shared_receive(queue, request);
  }
  int poll(CompletionQueueHandle queue, std::vector<Completion>& completions,
           std::size_t& count) override {
    if (fault_.kind == FaultKind::kQueueOverflow && !(overflows_by_ && overflows_by_->passed())) {
      count = 0;
      return 0;
    }
    return api_->poll(queue, completions, count);
  }
  int request_notification(CompletionQueueHandle queue) override {
    return api_->request_notification(queue);
  }
  int take_notifications(ChannelHandle channel) override {
    return api_->take_notifications(channel);
  }
  int async_descriptor(ContextHandle context, int& descriptor) override {
    return api_->async_descriptor(context, descriptor);
  }
  int take_async_event(ContextHandle context, AsyncEvent& event) override {
    return api_->take_async_event(context, event);
  }

 private:
  [[nodiscard]] bool can_hit(const SendRequest& request) const {
    switch (fault_.kind) {
      case FaultKind::kWrongKey:
        return request.opcode != Opcode::kSend;
      case FaultKind::kForeignDomain:
        return request.length > 0 && !request.inlined;
      case FaultKind::kQueuePairError:
      case FaultKind::kKill:
        return true;
      case FaultKind::kQueueOverflow:
        return false;
    }
    return false;
  }

  int strike(QueuePairHandle queue_pair, SendRequest& request) {
    switch (fault_.kind) {
      case FaultKind::kWrongKey:
        request.remote_key ^= 0x55U;  // the same region, another key
        return 0;
      case FaultKind::kForeignDomain:
        return use_foreign_key(request);
      case FaultKind::kQueuePairError:
        return api_->to_error(queue_pair);
      case FaultKind::kKill:
        ::raise(SIGKILL);
        return 0;
      case FaultKind::kQueueOverflow:
        return 0;
    }
    return 0;
  }

  /// The same bytes, registered once more in a domain that the queue pair does not belong to.
  int use_foreign_key(SendRequest& request) {
    if (const int status = api_->alloc_domain(context_, foreign_domain_); status != 0)
      return status;
    const int status = api_->register_memory(foreign_domain_, const_cast<std::byte*>(request.local),
                                             request.length, foreign_);
    if (status == 0)
      request.local_key = foreign_.local_key;
    return status;
  }
  void free_foreign() {
    if (foreign_.handle.object != nullptr)
      static_cast<void>(api_->deregister_memory(foreign_.handle));
    if (foreign_domain_.object != nullptr)
      static_cast<void>(api_->free_domain(foreign_domain_));
    foreign_ = {};
    foreign_domain_ = {};
  }

  std::shared_ptr<Api> api_;
  Fault fault_;
  ContextHandle context_;
  std::int64_t posted_ = 0;
  std::optional<Deadline> overflows_by_;
  QueuePairHandle hit_;
  DomainHandle foreign_domain_;
  Region foreign_;
};

}  // namespace

RankFault parse_fault(const std::string& text) {
  const std::vector<std::string_view> parts = split(text, ':');
  const auto fail = [&] {
    throw InputError(fmt::format("BUSBW_FAULT '{}': allowed are RANK:KIND or RANK:KIND:N, KIND {}",
                                 text, quoted_list({kKinds.begin(), kKinds.end()})));
  };
  if (parts.size() < 2 || parts.size() > 3)
    fail();
  const auto rank = parse_integer(parts[0]);
  const auto at = parts.size() == 3 ? parse_integer(parts[2]) : std::optional<std::int64_t>(1);
  const auto* const kind = std::find(kKinds.begin(), kKinds.end(), parts.at(1));
  constexpr std::int64_t kMostRanks = 1 << 20;
  if (!rank || *rank < 0 || *rank > kMostRanks || !at || *at < 1 || kind == kKinds.end())
    fail();
  RankFault found;
  found.rank = static_cast<std::int32_t>(*rank);
  found.fault = {static_cast<FaultKind>(kind - kKinds.begin()), *at};
  return found;
}

std::shared_ptr<Api> with_fault(std::shared_ptr<Api> api, const Fault& fault) {
  return std::make_shared<FaultyVerbs>(std::move(api), fault);
}

}  // namespace busbw::real::verbs
