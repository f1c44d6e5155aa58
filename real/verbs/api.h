// The verbs calls that busbw uses, one method a call, so that a test can stand in for the hardware.
//
// Every call returns 0 or the errno of its failure and throws nothing; resources.h turns failures
// into SystemError and frees what was made. Objects of one device may be used by one thread at a
// time.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "real/verbs/types.h"

namespace busbw::real::verbs {

class Api {
 public:
  Api() = default;
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;
  virtual ~Api() = default;

  virtual int list_devices(std::vector<std::string>& names) = 0;
  virtual int open_device(const std::string& name, ContextHandle& context) = 0;
  virtual int close_device(ContextHandle context) = 0;
  virtual int query_device(ContextHandle context, DeviceLimits& limits) = 0;
  virtual int query_port(ContextHandle context, int port, PortFacts& facts) = 0;
  virtual int query_gid(ContextHandle context, int port, int index, GidEntry& entry) = 0;
  /// The first `count` entries of the GID table; none where there is no entry. One call where the
  /// library has one: a soft-RoCE port has 1024 entries, of which 2 are there.
  virtual int query_gids(ContextHandle context, int port, int count,
                         std::vector<std::optional<GidEntry>>& entries);
  virtual int query_pkey(ContextHandle context, int port, int index, std::uint16_t& pkey) = 0;

  virtual int alloc_domain(ContextHandle context, DomainHandle& domain) = 0;
  virtual int free_domain(DomainHandle domain) = 0;
  /// Local write, remote write and remote read allowed.
  virtual int register_memory(DomainHandle domain, std::byte* start, std::size_t length,
                              Region& region) = 0;
  virtual int deregister_memory(RegionHandle region) = 0;

  /// A completion channel: its descriptor becomes readable after request_notification().
  virtual int create_channel(ContextHandle context, ChannelHandle& channel, int& descriptor) = 0;
  virtual int destroy_channel(ChannelHandle channel) = 0;
  virtual int create_completion_queue(ContextHandle context, int depth, ChannelHandle channel,
                                      CompletionQueueHandle& queue) = 0;
  virtual int destroy_completion_queue(CompletionQueueHandle queue) = 0;
  virtual int create_shared_queue(DomainHandle domain, int depth, SharedQueueHandle& queue) = 0;
  virtual int destroy_shared_queue(SharedQueueHandle queue) = 0;
  /// Reliable connected.
  virtual int create_queue_pair(DomainHandle domain, const QueuePairOptions& options,
                                CreatedQueuePair& created) = 0;
  virtual int destroy_queue_pair(QueuePairHandle queue_pair) = 0;
  virtual int to_init(QueuePairHandle queue_pair, const ConnectOptions& options) = 0;
  virtual int to_ready_to_receive(QueuePairHandle queue_pair, const ConnectOptions& options) = 0;
  virtual int to_ready_to_send(QueuePairHandle queue_pair, const ConnectOptions& options) = 0;
  /// ERROR state: everything posted comes back flushed.
  virtual int to_error(QueuePairHandle queue_pair) = 0;

  virtual int post_send(QueuePairHandle queue_pair, const SendRequest& request) = 0;
  virtual int post_receive(QueuePairHandle queue_pair, const ReceiveRequest& request) = 0;
  virtual int post_shared_receive(SharedQueueHandle queue, const ReceiveRequest& request) = 0;
  /// At most completions.size() of them; `count` tells how many.
  virtual int poll(CompletionQueueHandle queue, std::vector<Completion>& completions,
                   std::size_t& count) = 0;
  virtual int request_notification(CompletionQueueHandle queue) = 0;
  /// Takes and acknowledges every event that waits in the channel.
  virtual int take_notifications(ChannelHandle channel) = 0;
  virtual int async_descriptor(ContextHandle context, int& descriptor) = 0;
  /// EAGAIN: none waits.
  virtual int take_async_event(ContextHandle context, AsyncEvent& event) = 0;
};

/// libibverbs of this machine. Throws SystemError when this build has none.
std::unique_ptr<Api> open_system_verbs();
/// Whether this build has libibverbs.
bool has_system_verbs();

}  // namespace busbw::real::verbs
