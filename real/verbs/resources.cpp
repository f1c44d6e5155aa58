// See resources.h.
#include "real/verbs/resources.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "real/base/system.h"
#include "real/verbs/status.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::real::verbs {
namespace {

constexpr std::size_t kBatch = 32;
/// NCCL waits 100 ms x attempt between two tries of ibv_modify_qp (NCCL_IB_MQP_RETRY_SLEEP_MSEC).
constexpr Milliseconds kBetweenTries{100};

}  // namespace

std::string to_string(const Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
}

std::string to_string(Opcode opcode) {
  static constexpr std::array<const char*, 3> kNames = {"SEND", "RDMA WRITE with immediate",
                                                        "RDMA READ"};
  return kNames.at(static_cast<std::size_t>(opcode));
}

std::shared_ptr<Device> Device::open(std::shared_ptr<Api> api, const std::string& name) {
  std::shared_ptr<Device> device(new Device(std::move(api), name));
  std::vector<std::string> names;
  device->expect("ibv_get_device_list", device->api_->list_devices(names));
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw SystemError({"ibv_open_device",
                       names.empty() ? "no such device: this machine has no RDMA device"
                                     : fmt::format("no such device; there {} {}{}",
                                                   names.size() == 1 ? "is" : "are",
                                                   join(names, ", "), did_you_mean(name, names)),
                       name, ""});
  }
  device->expect("ibv_open_device", device->api_->open_device(name, device->context_));
  device->expect("ibv_query_device", device->api_->query_device(device->context_, device->limits_));
  device->expect("ibv_alloc_pd", device->api_->alloc_domain(device->context_, device->domain_));
  return device;
}

Device::~Device() {
  if (domain_.object != nullptr)
    count_leak(api_->free_domain(domain_));
  if (context_.object != nullptr)
    count_leak(api_->close_device(context_));
}

void Device::expect(const std::string& call, int status, const std::string& part,
                    const std::string& peer) const {
  if (status == 0)
    return;
  const std::string cause = likely_cause(call, status);
  throw SystemError({call, errno_text(status) + (cause.empty() ? "" : ": " + cause),
                     name_ + (part.empty() ? "" : " " + part), peer});
}

PortFacts Device::port(int number) const {
  PortFacts facts;
  expect("ibv_query_port", api_->query_port(context_, number, facts),
         fmt::format("port {}", number));
  return facts;
}

GidEntry Device::gid(int port, int index) const {
  GidEntry entry;
  expect("ibv_query_gid", api_->query_gid(context_, port, index, entry),
         fmt::format("port {} GID index {}", port, index));
  return entry;
}

std::uint16_t Device::pkey(int port, int index) const {
  std::uint16_t pkey = 0;
  expect("ibv_query_pkey", api_->query_pkey(context_, port, index, pkey),
         fmt::format("port {} P_Key index {}", port, index));
  return pkey;
}

int Device::async_descriptor() const {
  int descriptor = -1;
  expect("async_fd", api_->async_descriptor(context_, descriptor));
  return descriptor;
}

std::optional<AsyncEvent> Device::fatal_event() const {
  for (;;) {
    AsyncEvent event;
    const int status = api_->take_async_event(context_, event);
    if (status == EAGAIN)
      return std::nullopt;
    expect("ibv_get_async_event", status);
    if (event_is_fatal(event.type))
      return event;
  }
}

void Device::fail_event(const AsyncEvent& event, const std::string& part,
                        const std::string& peer) const {
  throw SystemError(
      {"device event", event_text(event.type), name_ + (part.empty() ? "" : " " + part), peer});
}

void Device::count_registration(std::size_t bytes, Clock::duration time) {
  ++registration_.regions;
  registration_.bytes += static_cast<std::int64_t>(bytes);
  registration_.us += std::chrono::duration<double, std::micro>(time).count();
}

void expect_same_partition(std::uint16_t own, std::uint16_t other, const std::string& object,
                           const std::string& peer) {
  constexpr unsigned kFullMember = 0x8000;
  const bool same = ((own ^ other) & ~kFullMember & 0xffffU) == 0;
  if (same && ((own | other) & kFullMember) != 0)
    return;
  throw SystemError(
      {"connect",
       fmt::format("P_Key 0x{:04x} here, 0x{:04x} there: {}; choose its index by NCCL_IB_PKEY", own,
                   other,
                   same ? "both are limited members, which may not talk to each other"
                        : "other partitions, and their packets are dropped"),
       object, peer});
}

MemoryRegion::MemoryRegion(std::shared_ptr<Device> device, std::byte* start, std::size_t length)
    : device_(std::move(device)), start_(start), length_(length) {
  const Clock::time_point before = Clock::now();
  const int status = device_->api().register_memory(device_->domain(), start, length, region_);
  device_->expect("ibv_reg_mr", status, fmt::format("{} bytes", length));
  device_->count_registration(length, Clock::now() - before);
}

MemoryRegion::~MemoryRegion() {
  device_->count_leak(device_->api().deregister_memory(region_.handle));
}

bool MemoryRegion::covers(const std::byte* from, std::size_t length) const {
  return from >= start_ && length <= length_ &&
         from - start_ <= static_cast<std::ptrdiff_t>(length_ - length);
}

CompletionQueue::CompletionQueue(std::shared_ptr<Device> device, int depth)
    : device_(std::move(device)), batch_(kBatch) {
  Api& api = device_->api();
  device_->expect("ibv_create_comp_channel",
                  api.create_channel(device_->context(), channel_, descriptor_));
  const int status = api.create_completion_queue(device_->context(), depth, channel_, queue_);
  if (status != 0)
    device_->count_leak(api.destroy_channel(channel_));
  device_->expect("ibv_create_cq", status, fmt::format("{} entries", depth));
}

CompletionQueue::~CompletionQueue() {
  // Events that were not acknowledged would block the destruction.
  static_cast<void>(device_->api().take_notifications(channel_));
  device_->count_leak(device_->api().destroy_completion_queue(queue_));
  device_->count_leak(device_->api().destroy_channel(channel_));
}

const std::vector<Completion>& CompletionQueue::poll() {
  std::size_t count = 0;
  device_->expect("ibv_poll_cq", device_->api().poll(queue_, batch_, count));
  polled_.assign(batch_.begin(), batch_.begin() + static_cast<std::ptrdiff_t>(count));
  return polled_;
}

void CompletionQueue::request_notification() {
  if (armed_)
    device_->expect("ibv_get_cq_event", device_->api().take_notifications(channel_));
  device_->expect("ibv_req_notify_cq", device_->api().request_notification(queue_));
  armed_ = true;
}

SharedReceiveQueue::SharedReceiveQueue(std::shared_ptr<Device> device, int depth)
    : device_(std::move(device)) {
  device_->expect("ibv_create_srq",
                  device_->api().create_shared_queue(device_->domain(), depth, queue_),
                  fmt::format("{} entries", depth));
}

SharedReceiveQueue::~SharedReceiveQueue() {
  device_->count_leak(device_->api().destroy_shared_queue(queue_));
}

void SharedReceiveQueue::post(const ReceiveRequest& request) {
  device_->expect("ibv_post_srq_recv", device_->api().post_shared_receive(queue_, request));
}

QueuePair::QueuePair(std::shared_ptr<Device> device, const QueuePairOptions& options)
    : device_(std::move(device)) {
  device_->expect("ibv_create_qp",
                  device_->api().create_queue_pair(device_->domain(), options, created_));
}

QueuePair::~QueuePair() {
  device_->count_leak(device_->api().destroy_queue_pair(created_.handle));
}

void QueuePair::to_init(const ConnectOptions& options) {
  port_ = options.port;
  device_->expect("ibv_modify_qp (RESET to INIT)", device_->api().to_init(created_.handle, options),
                  fmt::format("port {} QP 0x{:x}", port_, number()));
}

void QueuePair::connect(const ConnectOptions& options, const std::string& peer,
                        const Patience& patience) {
  peer_ = peer;
  const std::string part =
      fmt::format("port {} QP 0x{:x} GID index {}", port_, number(), options.gid_index);
  int status = device_->api().to_ready_to_receive(created_.handle, options);
  std::vector<int> watched;
  patience.watch.add_descriptors(watched);
  for (int attempt = 1; status == ETIMEDOUT && !patience.deadline.passed(); ++attempt) {
    sleep_on(watched, std::min(kBetweenTries * attempt, patience.deadline.left()));
    patience.watch.check();
    status = device_->api().to_ready_to_receive(created_.handle, options);
  }
  device_->expect("ibv_modify_qp (INIT to RTR)", status, part, peer);
  device_->expect("ibv_modify_qp (RTR to RTS)",
                  device_->api().to_ready_to_send(created_.handle, options), part, peer);
}

void QueuePair::to_error() {
  device_->expect("ibv_modify_qp (to ERROR)", device_->api().to_error(created_.handle),
                  fmt::format("port {} QP 0x{:x}", port_, number()), peer_);
}

void QueuePair::post(const SendRequest& request) {
  const int status = device_->api().post_send(created_.handle, request);
  if (status != 0) {
    device_->expect("ibv_post_send", status,
                    fmt::format("port {} QP 0x{:x} {}", port_, number(), to_string(request.opcode)),
                    peer_);
  }
}

void QueuePair::post(const ReceiveRequest& request) {
  const int status = device_->api().post_receive(created_.handle, request);
  if (status != 0) {
    device_->expect("ibv_post_recv", status, fmt::format("port {} QP 0x{:x}", port_, number()),
                    peer_);
  }
}

std::string QueuePair::describe() const {
  return fmt::format("{} port {} QP 0x{:x}", device_->name(), port_, number());
}

}  // namespace busbw::real::verbs
