// See verbs_end.h.
#include "real/movers/verbs_end.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include "real/base/system.h"
#include "real/verbs/status.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"

namespace busbw::real {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

const char* work_name(WorkKind kind, VerbsMethod method) {
  switch (kind) {
    case WorkKind::kData:
      return method == VerbsMethod::kWrite ? "RDMA WRITE with immediate" : "SEND of data";
    case WorkKind::kControl:
      return "SEND of a control message";
    case WorkKind::kRead:
      return "RDMA READ";
    case WorkKind::kCredit:
      return "SEND of credits";
    case WorkKind::kReceive:
      return "receive";
  }
  return "work request of unknown kind";
}

}  // namespace

RegisteredBytes::RegisteredBytes(const std::shared_ptr<verbs::Device>& device, std::size_t bytes) {
  const std::size_t size = round_up(std::max<std::size_t>(bytes, 1), kPage);
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, size)));
  if (memory_ == nullptr)
    fail_call("aligned_alloc", ENOMEM, fmt::format("{} bytes", size));
  std::fill_n(memory_.get(), size, std::byte{0});
  region_ = std::make_unique<verbs::MemoryRegion>(device, memory_.get(), size);
}

void RegisteredBytes::Free::operator()(std::byte* memory) const {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc): aligned_alloc's counterpart
}

ReceivePool::ReceivePool(const std::shared_ptr<verbs::Device>& device, std::size_t count,
                         std::size_t bytes)
    : count_(count), bytes_(round_up(bytes, 64)) {
  if (bytes_ > 0 && count_ > 0)
    memory_ = std::make_unique<RegisteredBytes>(device, count_ * bytes_);
}

verbs::ReceiveRequest ReceivePool::request(std::uint32_t number) {
  verbs::ReceiveRequest request;
  request.id = WorkId{WorkKind::kReceive, 0, number}.pack();
  if (memory_ != nullptr) {
    request.local = memory_->at(number * bytes_);
    request.length = static_cast<std::uint32_t>(bytes_);
    request.local_key = memory_->local_key();
  }
  return request;
}

const std::byte* ReceivePool::at(std::uint32_t number) const {
  CHECK(memory_ != nullptr && number < count_, "receive buffer {} of {}", number, count_);
  return memory_->at(number * bytes_);
}

const verbs::MemoryRegion& VerbsShared::region_of(std::span<const std::byte> bytes) const {
  for (const auto& region : user_memory) {
    if (region->covers(bytes.data(), bytes.size()))
      return *region;
  }
  CHECK(false, "{} bytes to send lie in no memory that was added", bytes.size());
}

std::int32_t receives_of(const VerbsMoverOptions& options, const Link& link, bool sending) {
  if (sending)
    return link.slots + 1;  // credits, each for at least one message
  const std::int32_t lanes = options.settings.queue_pairs;
  return options.settings.split_data ? link.slots * lanes
                                     : (link.slots + lanes - 1) / lanes * lanes;
}

std::int32_t send_depth_of(const VerbsMoverOptions& options, const Link& link) {
  // What may be in flight, and what waits for the next signalled request to be known as complete.
  return link.slots + 2 * options.signal_every + 2;
}

std::size_t receive_bytes_of(const VerbsMoverOptions& options, const Link& link, bool sending) {
  if (sending || options.method == VerbsMethod::kWrite)
    return 0;
  if (options.method == VerbsMethod::kRead)
    return kControlBytes;
  const auto bytes = static_cast<std::size_t>(link.slot_bytes.count());
  const auto lanes = static_cast<std::size_t>(options.settings.queue_pairs);
  return options.settings.split_data ? round_up((bytes + lanes - 1) / lanes, kPartUnit) : bytes;
}

VerbsEnd::VerbsEnd(VerbsShared& shared, Link link, bool sending)
    : shared_(shared),
      link_(link),
      sending_(sending),
      peer_(sending ? link_.id.destination : link_.id.source),
      depth_(send_depth_of(shared.options, link_)),
      lanes_(static_cast<std::size_t>(shared.options.settings.queue_pairs)) {}

std::int32_t VerbsEnd::receives_per_lane() const {
  const std::int32_t all = receives_of(shared_.options, link_, sending_);
  return sending_ ? all : all / shared_.options.settings.queue_pairs;
}

std::size_t VerbsEnd::receive_bytes() const {
  return receive_bytes_of(shared_.options, link_, sending_);
}

ReceivePool& VerbsEnd::pool() const {
  return own_pool_ != nullptr ? *own_pool_ : *shared_.shared_pool;
}

void VerbsEnd::create() {
  verbs::ConnectOptions initial;
  initial.port = shared_.options.port;
  initial.pkey_index = shared_.options.settings.pkey_index;
  for (Lane& lane : lanes_) {
    verbs::QueuePairOptions options;
    options.completions = shared_.completions->handle();
    if (shared_.shared_queue != nullptr)
      options.shared_queue = shared_.shared_queue->handle();
    options.send_depth = static_cast<std::uint32_t>(depth_);
    options.receive_depth = static_cast<std::uint32_t>(receives_per_lane());
    options.inline_bytes = shared_.options.inline_bytes;
    lane.queue_pair = std::make_unique<verbs::QueuePair>(shared_.device, options);
    lane.queue_pair->to_init(initial);
  }
  if (shared_.shared_queue != nullptr)
    return;
  // Receives posted in INIT are there before the first message can come.
  const auto each = static_cast<std::uint32_t>(receives_per_lane());
  own_pool_ = std::make_unique<ReceivePool>(shared_.device, each * lanes_.size(), receive_bytes());
  for (std::uint32_t number = 0; number < own_pool_->count(); ++number)
    lanes_[number / each].queue_pair->post(own_pool_->request(number));
}

std::uint32_t VerbsEnd::first_sequence(std::size_t lane) const {
  // Any 24-bit value will do; differing ones keep packets of an earlier connection out.
  return (lanes_[lane].queue_pair->number() * 2654435761U >> 8U) & 0xffffffU;
}

void VerbsEnd::write_offer(WireWriter& writer) const {
  writer.number(link_.slot_bytes.count()).number(link_.slots);
  writer.number(static_cast<std::uint32_t>(lanes_.size()));
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
    writer.number(lanes_[lane].queue_pair->number()).number(first_sequence(lane));
  write_target(writer);
}

void VerbsEnd::connect(WireReader& reader, const PortOffer& own, const PortOffer& other,
                       const Patience& patience) {
  Link told{link_.id, Bytes(reader.number<std::int64_t>()), reader.number<std::int32_t>()};
  check_same_link(link_, told, peer());
  const auto lanes = reader.number<std::uint32_t>();
  if (lanes != lanes_.size()) {
    throw SystemError({"connect",
                       fmt::format("here {} queue pairs a connection, there {}: set "
                                   "NCCL_IB_QPS_PER_CONNECTION alike on all ranks",
                                   lanes_.size(), lanes),
                       to_string(link_.id), peer()});
  }
  if (own.ethernet != other.ethernet) {
    throw SystemError({"connect", "one port is InfiniBand, the other Ethernet (RoCE)",
                       lanes_.front().queue_pair->describe(), peer()});
  }
  verbs::expect_same_partition(
      own.pkey, other.pkey,
      fmt::format("{}, {}", lanes_.front().queue_pair->describe(), to_string(link_.id)), peer());
  const nccl::ConnectionSettings& settings = shared_.options.settings;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    verbs::ConnectOptions options;
    options.port = shared_.options.port;
    options.pkey_index = settings.pkey_index;
    options.mtu = std::min(own.mtu, other.mtu);
    options.peer_number = reader.number<std::uint32_t>();
    options.peer_sequence = reader.number<std::uint32_t>();
    options.own_sequence = first_sequence(lane);
    options.peer_lid = other.lid;
    // A GRH is needed on Ethernet and to reach another InfiniBand subnet.
    options.global =
        own.ethernet || !std::equal(own.gid.begin(), own.gid.begin() + 8, other.gid.begin());
    options.peer_gid = other.gid;
    options.gid_index = shared_.options.gid_index;
    options.service_level = settings.service_level;
    options.traffic_class = own.ethernet ? settings.traffic_class : 0;
    options.timeout = settings.timeout;
    options.retry_count = settings.retry_count;
    options.reads = std::max(1, std::min(own.reads, other.reads));
    lanes_[lane].queue_pair->connect(options,
                                     fmt::format("{} QP 0x{:x} GID {}", peer(), options.peer_number,
                                                 verbs::to_string(other.gid)),
                                     patience);
  }
  const auto address = reader.number<std::uint64_t>();
  read_target(address, reader.number<std::uint32_t>());
}

std::vector<std::uint32_t> VerbsEnd::numbers() const {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(lanes_.size());
  for (const Lane& lane : lanes_)
    numbers.push_back(lane.queue_pair->number());
  return numbers;
}

void VerbsEnd::complete(std::size_t lane, const verbs::Completion& completion) {
  const WorkId id = WorkId::unpack(completion.id);
  if (id.kind == WorkKind::kReceive) {
    on_receive(lane, id.number, completion);
    return;
  }
  lanes_[lane].used -= id.retires;
  if (id.kind == WorkKind::kRead)
    on_read(id.number);
}

std::string VerbsEnd::port_trouble() const {
  verbs::PortFacts facts;
  const int status =
      shared_.device->api().query_port(shared_.device->context(), shared_.options.port, facts);
  if (status != 0)
    return "the port cannot be asked: " + errno_text(status);
  if (facts.state != kActivePort)
    return fmt::format("the port is {}: link down", verbs::port_state_text(facts.state));
  return "";
}

void VerbsEnd::fail(std::size_t lane, const verbs::Completion& completion) const {
  const WorkId id = WorkId::unpack(completion.id);
  const verbs::QueuePair& queue_pair = *lanes_[lane].queue_pair;
  std::string reason = verbs::status_text(completion.status);
  if (completion.vendor_code != 0)
    reason += fmt::format(" (vendor code 0x{:x})", completion.vendor_code);
  const std::string port = port_trouble();
  if (!port.empty())
    reason += "; " + port;
  const SystemError::Details details{
      work_name(id.kind, shared_.options.method), reason,
      fmt::format("{}, {}", queue_pair.describe(), to_string(link_.id)), queue_pair.peer()};
  // With the own port down, this rank knows the cause better than any other.
  if (verbs::peer_may_be_gone(completion.status) && port.empty())
    throw PeerLost(details, completion.status == verbs::kFlushed);
  throw SystemError(details);
}

void VerbsEnd::fail(std::size_t lane, const verbs::AsyncEvent& event) const {
  const verbs::QueuePair& queue_pair = *lanes_[lane].queue_pair;
  throw SystemError({"device event", verbs::event_text(event.type),
                     fmt::format("{}, {}", queue_pair.describe(), to_string(link_.id)),
                     queue_pair.peer()});
}

bool VerbsEnd::waits() const {
  return std::any_of(lanes_.begin(), lanes_.end(), Lane::waits);
}

LinkView VerbsEnd::look(bool silent) const {
  const auto found = std::find_if(lanes_.begin(), lanes_.end(), Lane::waits);
  const verbs::QueuePair& queue_pair =
      *(found == lanes_.end() ? lanes_.front() : *found).queue_pair;
  std::string cause = port_trouble();
  if (cause.empty()) {
    cause = silent ? "the port is Active, but the peer's device acknowledges nothing: link down "
                     "behind it, wrong GID index, another P_Key, or the peer's host is gone"
                   : "the port is Active: the peer hangs or waits, or nothing of it gets through";
  }
  return {fmt::format("{}, {}", queue_pair.describe(), to_string(link_.id)), queue_pair.peer(),
          cause};
}

void VerbsEnd::post(std::size_t lane, verbs::SendRequest request, WorkKind kind,
                    std::uint32_t number) {
  Lane& to = lanes_[lane];
  CHECK(to.used < depth_, "send queue of {} requests is full", depth_);
  ++to.used;
  ++to.pending;
  request.signalled =
      kind == WorkKind::kRead || to.pending >= shared_.options.signal_every || to.used >= depth_;
  request.inlined =
      kind != WorkKind::kRead && request.length > 0 &&
      request.length <= std::min(shared_.options.inline_bytes, to.queue_pair->inline_bytes());
  request.id = WorkId{kind, static_cast<std::uint16_t>(to.pending), number}.pack();
  if (request.signalled)
    to.pending = 0;
  to.queue_pair->post(request);
}

void VerbsEnd::repost(std::size_t lane, std::uint32_t number) {
  if (own_pool_ == nullptr) {
    shared_.shared_queue->post(shared_.shared_pool->request(number));
  } else {
    lanes_[lane].queue_pair->post(own_pool_->request(number));
  }
}

}  // namespace busbw::real
