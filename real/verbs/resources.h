// Verbs objects that free themselves, and calls that fail as SystemError.
//
// Every failure names the call, its errno with the likely cause, device, port and QP, and the peer
// where there is one. Objects keep what they were made from alive, so any order of destruction is
// right. A destructor cannot throw: what it fails to free is counted in Device::leaks().
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "real/base/watch.h"
#include "real/verbs/api.h"

namespace busbw::real::verbs {

/// An open device with its protection domain.
class Device : public std::enable_shared_from_this<Device> {
 public:
  /// Throws SystemError; an unknown name lists the devices that are there.
  static std::shared_ptr<Device> open(std::shared_ptr<Api> api, const std::string& name);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  [[nodiscard]] Api& api() const { return *api_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const DeviceLimits& limits() const { return limits_; }
  [[nodiscard]] DomainHandle domain() const { return domain_; }
  [[nodiscard]] ContextHandle context() const { return context_; }
  [[nodiscard]] PortFacts port(int number) const;
  [[nodiscard]] GidEntry gid(int port, int index) const;
  [[nodiscard]] std::uint16_t pkey(int port, int index) const;
  [[nodiscard]] int async_descriptor() const;
  /// The first fatal event that waits; others are passed over.
  [[nodiscard]] std::optional<AsyncEvent> fatal_event() const;
  /// Throws SystemError for a fatal event. `part` and `peer` say whose it is where the caller
  /// knows.
  void fail_event(const AsyncEvent& event, const std::string& part, const std::string& peer) const;
  /// What the memory regions of this device have cost so far.
  [[nodiscard]] const Registration& registration() const { return registration_; }
  void count_registration(std::size_t bytes, Clock::duration time);
  /// Objects of this device whose destruction was refused.
  [[nodiscard]] int leaks() const { return leaks_; }
  void count_leak(int status) { leaks_ += status != 0 ? 1 : 0; }

  /// Throws SystemError when `status` is no 0.
  void expect(const std::string& call, int status, const std::string& part = "",
              const std::string& peer = "") const;

 private:
  Device(std::shared_ptr<Api> api, std::string name)
      : api_(std::move(api)), name_(std::move(name)) {}

  std::shared_ptr<Api> api_;
  std::string name_;
  ContextHandle context_;
  DomainHandle domain_;
  DeviceLimits limits_;
  Registration registration_;
  int leaks_ = 0;
};

/// Throws SystemError unless queue pairs with these P_Keys can talk: the same partition, and not
/// both limited members (InfiniBand Architecture Specification vol. 1, 10.9.3). Hardware drops the
/// packets of others without a word, so the ranks compare before they connect.
void expect_same_partition(std::uint16_t own, std::uint16_t other, const std::string& object,
                           const std::string& peer);

/// Registered memory.
class MemoryRegion {
 public:
  MemoryRegion(std::shared_ptr<Device> device, std::byte* start, std::size_t length);
  MemoryRegion(const MemoryRegion&) = delete;
  MemoryRegion& operator=(const MemoryRegion&) = delete;
  ~MemoryRegion();
  [[nodiscard]] std::uint32_t local_key() const { return region_.local_key; }
  [[nodiscard]] std::uint32_t remote_key() const { return region_.remote_key; }
  [[nodiscard]] std::byte* start() const { return start_; }
  [[nodiscard]] bool covers(const std::byte* from, std::size_t length) const;

 private:
  std::shared_ptr<Device> device_;
  std::byte* start_;
  std::size_t length_;
  Region region_;
};

/// A completion queue with its channel.
class CompletionQueue {
 public:
  CompletionQueue(std::shared_ptr<Device> device, int depth);
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;
  ~CompletionQueue();
  [[nodiscard]] CompletionQueueHandle handle() const { return queue_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Up to 32 completions; valid until the next call.
  const std::vector<Completion>& poll();
  /// The descriptor becomes readable at the next completion. Poll once more before sleeping.
  void request_notification();

 private:
  std::shared_ptr<Device> device_;
  ChannelHandle channel_;
  CompletionQueueHandle queue_;
  int descriptor_ = -1;
  bool armed_ = false;
  std::vector<Completion> batch_;
  std::vector<Completion> polled_;
};

class SharedReceiveQueue {
 public:
  SharedReceiveQueue(std::shared_ptr<Device> device, int depth);
  SharedReceiveQueue(const SharedReceiveQueue&) = delete;
  SharedReceiveQueue& operator=(const SharedReceiveQueue&) = delete;
  ~SharedReceiveQueue();
  [[nodiscard]] SharedQueueHandle handle() const { return queue_; }
  void post(const ReceiveRequest& request);

 private:
  std::shared_ptr<Device> device_;
  SharedQueueHandle queue_;
};

/// A reliable connected queue pair.
class QueuePair {
 public:
  QueuePair(std::shared_ptr<Device> device, const QueuePairOptions& options);
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;
  ~QueuePair();
  [[nodiscard]] std::uint32_t number() const { return created_.number; }
  [[nodiscard]] std::uint32_t inline_bytes() const { return created_.inline_bytes; }
  void to_init(const ConnectOptions& options);
  /// RTR, then RTS. ETIMEDOUT (address resolution) is tried again with growing pauses, as NCCL
  /// does, until the deadline.
  void connect(const ConnectOptions& options, const std::string& peer, const Patience& patience);
  void to_error();
  void post(const SendRequest& request);
  void post(const ReceiveRequest& request);
  /// "rxe0 port 1 QP 0x11".
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] const std::string& peer() const { return peer_; }

 private:
  std::shared_ptr<Device> device_;
  CreatedQueuePair created_;
  std::string peer_;
  int port_ = 1;
};

}  // namespace busbw::real::verbs
