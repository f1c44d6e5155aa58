// The verbs calls by libibverbs: a translation of structs, no decisions. See api.h.
//
// Lane rates and widths: rdma-core 44 (ibv_port_attr), computed as NCCL does (src/misc/ibvwrap.cc,
// src/transport/net_ib.cc): lowest bit of active_speed, lanes by active_width.
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include "real/base/system.h"
#include "real/verbs/api.h"

namespace busbw::real::verbs {
namespace {

ibv_context* raw(ContextHandle handle) {
  return static_cast<ibv_context*>(handle.object);
}
ibv_pd* raw(DomainHandle handle) {
  return static_cast<ibv_pd*>(handle.object);
}
ibv_cq* raw(CompletionQueueHandle handle) {
  return static_cast<ibv_cq*>(handle.object);
}
ibv_comp_channel* raw(ChannelHandle handle) {
  return static_cast<ibv_comp_channel*>(handle.object);
}
ibv_srq* raw(SharedQueueHandle handle) {
  return static_cast<ibv_srq*>(handle.object);
}
ibv_qp* raw(QueuePairHandle handle) {
  return static_cast<ibv_qp*>(handle.object);
}

/// For calls that return a pointer and set errno; 0 would look like success.
int failed() {
  return errno == 0 ? EIO : errno;
}

std::int64_t lane_mbit(unsigned active_speed) {
  constexpr std::int64_t kRates[] = {2500, 5000, 10000, 10000, 14000, 25000, 50000, 100000, 200000};
  const int bit = active_speed == 0 ? 0 : __builtin_ctz(active_speed);
  return kRates[bit < 9 ? bit : 8];
}

int lanes(unsigned active_width) {
  constexpr int kLanes[] = {1, 4, 8, 12, 2};
  const int bit = active_width == 0 ? 0 : __builtin_ctz(active_width);
  return kLanes[bit < 5 ? bit : 4];
}

ibv_mtu to_mtu(int bytes) {
  ibv_mtu mtu = IBV_MTU_256;
  while (mtu < IBV_MTU_4096 && (128 << (mtu + 1)) <= bytes)
    mtu = static_cast<ibv_mtu>(mtu + 1);
  return mtu;
}

ibv_recv_wr to_work(const ReceiveRequest& request, ibv_sge& segment) {
  segment = {};
  segment.addr = reinterpret_cast<std::uintptr_t>(request.local);
  segment.length = request.length;
  segment.lkey = request.local_key;
  ibv_recv_wr work{};
  work.wr_id = request.id;
  work.sg_list = &segment;
  work.num_sge = request.local == nullptr ? 0 : 1;
  return work;
}

AsyncEvent to_event(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return {event.event_type, event.element.qp->qp_num};
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
      return {event.event_type, static_cast<std::uint32_t>(event.element.port_num)};
    default:
      return {event.event_type, 0};
  }
}

GidEntry to_entry(const ibv_gid_entry& found) {
  GidEntry entry;
  std::memcpy(entry.gid.data(), found.gid.raw, entry.gid.size());
  switch (found.gid_type) {
    case IBV_GID_TYPE_IB:
      entry.type = GidType::kInfiniBand;
      break;
    case IBV_GID_TYPE_ROCE_V1:
      entry.type = GidType::kRoceV1;
      break;
    case IBV_GID_TYPE_ROCE_V2:
      entry.type = GidType::kRoceV2;
      break;
    default:
      entry.type = GidType::kUnknown;
  }
  return entry;
}

class SystemVerbs : public Api {
 public:
  int list_devices(std::vector<std::string>& names) override {
    names.clear();
    const int status = read_list();
    for (int i = 0; i < count_; ++i)
      names.emplace_back(ibv_get_device_name(device_at(i)));
    return status;
  }

  int open_device(const std::string& name, ContextHandle& context) override {
    if (const int status = read_list(); status != 0)
      return status;
    for (int i = 0; i < count_; ++i) {
      if (name != ibv_get_device_name(device_at(i)))
        continue;
      context.object = ibv_open_device(device_at(i));
      if (context.object == nullptr)
        return failed();
      set_nonblocking(raw(context)->async_fd);
      return 0;
    }
    return ENODEV;
  }
  int close_device(ContextHandle context) override { return ibv_close_device(raw(context)); }

  int query_device(ContextHandle context, DeviceLimits& limits) override {
    ibv_device_attr attributes{};
    const int status = ibv_query_device(raw(context), &attributes);
    if (status != 0)
      return status;
    limits.max_queue_pairs = attributes.max_qp;
    limits.max_work_requests = attributes.max_qp_wr;
    limits.max_completions = attributes.max_cqe;
    limits.max_shared_requests = attributes.max_srq > 0 ? attributes.max_srq_wr : 0;
    limits.max_reads = attributes.max_qp_rd_atom;
    limits.max_reads_initiated = attributes.max_qp_init_rd_atom;
    limits.ports = attributes.phys_port_cnt;
    limits.guid = be64toh(attributes.sys_image_guid);
    limits.vendor_part = attributes.vendor_part_id;
    return 0;
  }

  int query_port(ContextHandle context, int port, PortFacts& facts) override {
    ibv_port_attr attributes{};
    const int status = ibv_query_port(raw(context), static_cast<std::uint8_t>(port), &attributes);
    if (status != 0)
      return status;
    facts.state = attributes.state;
    facts.physical_state = attributes.phys_state;
    facts.ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
    facts.infiniband = attributes.link_layer == IBV_LINK_LAYER_INFINIBAND;
    facts.active_mtu = 128 << attributes.active_mtu;
    facts.lid = attributes.lid;
    facts.gid_entries = attributes.gid_tbl_len;
    facts.speed_mbit = lane_mbit(attributes.active_speed) * lanes(attributes.active_width);
    facts.max_message = attributes.max_msg_sz;
    return 0;
  }

  int query_gid(ContextHandle context, int port, int index, GidEntry& entry) override {
    ibv_gid_entry found{};
    const int status = ibv_query_gid_ex(raw(context), static_cast<std::uint32_t>(port),
                                        static_cast<std::uint32_t>(index), &found, 0);
    if (status != 0)
      return status > 0 ? status : failed();
    entry = to_entry(found);
    return 0;
  }

  int query_gids(ContextHandle context, int port, int count,
                 std::vector<std::optional<GidEntry>>& entries) override {
    entries.assign(static_cast<std::size_t>(count), std::nullopt);
    ibv_device_attr device{};
    if (const int status = ibv_query_device(raw(context), &device); status != 0)
      return status;
    // The call gives what is there on all ports of the device, and fails when that has no room.
    std::vector<ibv_gid_entry> found(entries.size() * device.phys_port_cnt);
    const auto there = ibv_query_gid_table(raw(context), found.data(), found.size(), 0);
    if (there < 0)
      return static_cast<int>(-there);
    found.resize(static_cast<std::size_t>(there));
    for (const ibv_gid_entry& entry : found) {
      if (entry.port_num == static_cast<std::uint32_t>(port) && entry.gid_index < entries.size())
        entries[entry.gid_index] = to_entry(entry);
    }
    return 0;
  }

  int query_pkey(ContextHandle context, int port, int index, std::uint16_t& pkey) override {
    __be16 value = 0;
    errno = 0;
    if (ibv_query_pkey(raw(context), static_cast<std::uint8_t>(port), index, &value) != 0)
      return errno == 0 ? EINVAL : errno;
    pkey = ntohs(value);
    return 0;
  }

  int alloc_domain(ContextHandle context, DomainHandle& domain) override {
    domain.object = ibv_alloc_pd(raw(context));
    return domain.object == nullptr ? failed() : 0;
  }
  int free_domain(DomainHandle domain) override { return ibv_dealloc_pd(raw(domain)); }

  int register_memory(DomainHandle domain, std::byte* start, std::size_t length,
                      Region& region) override {
    ibv_mr* memory =
        ibv_reg_mr(raw(domain), start, length,
                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    if (memory == nullptr)
      return failed();
    region = {{memory}, memory->lkey, memory->rkey};
    return 0;
  }
  int deregister_memory(RegionHandle region) override {
    return ibv_dereg_mr(static_cast<ibv_mr*>(region.object));
  }

  int create_channel(ContextHandle context, ChannelHandle& channel, int& descriptor) override {
    ibv_comp_channel* made = ibv_create_comp_channel(raw(context));
    if (made == nullptr)
      return failed();
    set_nonblocking(made->fd);
    channel.object = made;
    descriptor = made->fd;
    return 0;
  }
  int destroy_channel(ChannelHandle channel) override {
    return ibv_destroy_comp_channel(raw(channel));
  }

  int create_completion_queue(ContextHandle context, int depth, ChannelHandle channel,
                              CompletionQueueHandle& queue) override {
    queue.object = ibv_create_cq(raw(context), depth, nullptr, raw(channel), 0);
    return queue.object == nullptr ? failed() : 0;
  }
  int destroy_completion_queue(CompletionQueueHandle queue) override {
    return ibv_destroy_cq(raw(queue));
  }

  int create_shared_queue(DomainHandle domain, int depth, SharedQueueHandle& queue) override {
    ibv_srq_init_attr attributes{};
    attributes.attr.max_wr = static_cast<std::uint32_t>(depth);
    attributes.attr.max_sge = 1;
    queue.object = ibv_create_srq(raw(domain), &attributes);
    return queue.object == nullptr ? failed() : 0;
  }
  int destroy_shared_queue(SharedQueueHandle queue) override { return ibv_destroy_srq(raw(queue)); }

  int create_queue_pair(DomainHandle domain, const QueuePairOptions& options,
                        CreatedQueuePair& created) override {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = raw(options.completions);
    attributes.recv_cq = raw(options.completions);
    attributes.srq = raw(options.shared_queue);
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap.max_send_wr = options.send_depth;
    attributes.cap.max_send_sge = 1;
    attributes.cap.max_inline_data = options.inline_bytes;
    if (attributes.srq == nullptr) {
      attributes.cap.max_recv_wr = options.receive_depth;
      attributes.cap.max_recv_sge = 1;
    }
    ibv_qp* made = ibv_create_qp(raw(domain), &attributes);
    if (made == nullptr)
      return failed();
    created = {{made}, made->qp_num, attributes.cap.max_inline_data};
    return 0;
  }
  int destroy_queue_pair(QueuePairHandle queue_pair) override {
    return ibv_destroy_qp(raw(queue_pair));
  }

  int to_init(QueuePairHandle queue_pair, const ConnectOptions& options) override {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = static_cast<std::uint8_t>(options.port);
    attributes.pkey_index = static_cast<std::uint16_t>(options.pkey_index);
    attributes.qp_access_flags =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    return ibv_modify_qp(raw(queue_pair), &attributes,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  }

  int to_ready_to_receive(QueuePairHandle queue_pair, const ConnectOptions& options) override {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = to_mtu(options.mtu);
    attributes.dest_qp_num = options.peer_number;
    attributes.rq_psn = options.peer_sequence;
    attributes.max_dest_rd_atomic = static_cast<std::uint8_t>(options.reads);
    attributes.min_rnr_timer = 12;  // 0.64 ms, as NCCL sets it
    attributes.ah_attr.port_num = static_cast<std::uint8_t>(options.port);
    attributes.ah_attr.dlid = options.peer_lid;
    attributes.ah_attr.sl = static_cast<std::uint8_t>(options.service_level);
    if (options.global) {
      attributes.ah_attr.is_global = 1;
      std::memcpy(attributes.ah_attr.grh.dgid.raw, options.peer_gid.data(),
                  options.peer_gid.size());
      attributes.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(options.gid_index);
      attributes.ah_attr.grh.hop_limit = 255;
      attributes.ah_attr.grh.traffic_class = static_cast<std::uint8_t>(options.traffic_class);
    }
    return ibv_modify_qp(raw(queue_pair), &attributes,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  }

  int to_ready_to_send(QueuePairHandle queue_pair, const ConnectOptions& options) override {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = static_cast<std::uint8_t>(options.timeout);
    attributes.retry_cnt = static_cast<std::uint8_t>(options.retry_count);
    attributes.rnr_retry = 7;  // for ever: the receiver's credits bound it
    attributes.sq_psn = options.own_sequence;
    attributes.max_rd_atomic = static_cast<std::uint8_t>(options.reads);
    return ibv_modify_qp(raw(queue_pair), &attributes,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  }

  int to_error(QueuePairHandle queue_pair) override {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    return ibv_modify_qp(raw(queue_pair), &attributes, IBV_QP_STATE);
  }

  int post_send(QueuePairHandle queue_pair, const SendRequest& request) override {
    ibv_sge segment{};
    segment.addr = reinterpret_cast<std::uintptr_t>(request.local);
    segment.length = request.length;
    segment.lkey = request.local_key;
    ibv_send_wr work{};
    work.wr_id = request.id;
    work.sg_list = &segment;
    work.num_sge = request.length == 0 ? 0 : 1;
    if (request.signalled)
      work.send_flags |= IBV_SEND_SIGNALED;
    if (request.inlined)
      work.send_flags |= IBV_SEND_INLINE;
    switch (request.opcode) {
      case Opcode::kSend:
        work.opcode = IBV_WR_SEND_WITH_IMM;
        work.imm_data = htonl(request.immediate);
        break;
      case Opcode::kWriteWithImmediate:
        work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        work.imm_data = htonl(request.immediate);
        break;
      case Opcode::kRead:
        work.opcode = IBV_WR_RDMA_READ;
        break;
    }
    work.wr.rdma.remote_addr = request.remote_address;
    work.wr.rdma.rkey = request.remote_key;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(raw(queue_pair), &work, &bad);
  }

  int post_receive(QueuePairHandle queue_pair, const ReceiveRequest& request) override {
    ibv_sge segment{};
    ibv_recv_wr work = to_work(request, segment);
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(raw(queue_pair), &work, &bad);
  }
  int post_shared_receive(SharedQueueHandle queue, const ReceiveRequest& request) override {
    ibv_sge segment{};
    ibv_recv_wr work = to_work(request, segment);
    ibv_recv_wr* bad = nullptr;
    return ibv_post_srq_recv(raw(queue), &work, &bad);
  }

  int poll(CompletionQueueHandle queue, std::vector<Completion>& completions,
           std::size_t& count) override {
    constexpr std::size_t kMost = 32;
    ibv_wc polled[kMost];
    const int wanted = static_cast<int>(completions.size() < kMost ? completions.size() : kMost);
    const int found = ibv_poll_cq(raw(queue), wanted, polled);
    if (found < 0)
      return failed();
    count = static_cast<std::size_t>(found);
    for (std::size_t i = 0; i < count; ++i) {
      const ibv_wc& from = polled[i];
      const bool immediate =
          from.status == IBV_WC_SUCCESS && (from.wc_flags & IBV_WC_WITH_IMM) != 0;
      completions[i] = {from.wr_id,    static_cast<int>(from.status),        from.qp_num,
                        from.byte_len, immediate ? ntohl(from.imm_data) : 0, from.vendor_err};
    }
    return 0;
  }

  int request_notification(CompletionQueueHandle queue) override {
    return ibv_req_notify_cq(raw(queue), 0);
  }

  int take_notifications(ChannelHandle channel) override {
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    while (ibv_get_cq_event(raw(channel), &queue, &context) == 0)
      ibv_ack_cq_events(queue, 1);
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : failed();
  }

  int async_descriptor(ContextHandle context, int& descriptor) override {
    descriptor = raw(context)->async_fd;
    return 0;
  }

  int take_async_event(ContextHandle context, AsyncEvent& event) override {
    ibv_async_event found{};
    if (ibv_get_async_event(raw(context), &found) != 0)
      return errno == EINTR ? EAGAIN : failed();
    event = to_event(found);
    ibv_ack_async_event(&found);
    return 0;
  }

 private:
  /// Reads the list of devices once: libibverbs asks the kernel about each device every time.
  int read_list() {
    if (list_ == nullptr) {
      list_.reset(ibv_get_device_list(&count_));
      if (list_ == nullptr)
        return failed();
    }
    return 0;
  }

  [[nodiscard]] ibv_device* device_at(int index) const { return list_.get()[index]; }

  std::unique_ptr<ibv_device*, decltype(&ibv_free_device_list)> list_{nullptr,
                                                                      &ibv_free_device_list};
  int count_ = 0;
};

}  // namespace

std::unique_ptr<Api> open_system_verbs() {
  return std::make_unique<SystemVerbs>();
}

bool has_system_verbs() {
  return true;
}

}  // namespace busbw::real::verbs
