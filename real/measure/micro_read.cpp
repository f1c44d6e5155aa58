// RDMA READ latency on bare queue pairs: no mover, so that a READ is all that travels.
#include <algorithm>
#include <sched.h>

#include <fmt/format.h>

#include "real/measure/micro.h"
#include "real/measure/network.h"
#include "real/verbs/resources.h"
#include "real/verbs/status.h"
#include "sim/core/errors.h"

namespace busbw::real {
namespace {

/// Polls without a completion between two looks at the clock, the device and the other rank.
constexpr unsigned kPollsPerCheck = 64;

/// What the other side must know to read from here.
struct Offer {
  std::uint32_t number = 0;
  std::uint32_t sequence = 0;
  std::uint16_t lid = 0;
  std::uint16_t pkey = 0;
  verbs::Gid gid{};
  std::int32_t mtu = 0;
  std::int32_t reads = 1;
  std::uint64_t address = 0;
  std::uint32_t key = 0;
};

std::string to_wire(const Offer& offer) {
  WireWriter writer;
  writer.number(offer.number).number(offer.sequence);
  writer.number(offer.lid).number(offer.pkey);
  writer.text({reinterpret_cast<const char*>(offer.gid.data()), offer.gid.size()});
  writer.number(offer.mtu).number(offer.reads).number(offer.address).number(offer.key);
  return writer.take();
}

Offer from_wire(const std::string& bytes, const std::string& from) {
  WireReader reader(bytes, from);
  Offer offer;
  offer.number = reader.number<std::uint32_t>();
  offer.sequence = reader.number<std::uint32_t>();
  offer.lid = reader.number<std::uint16_t>();
  offer.pkey = reader.number<std::uint16_t>();
  const std::string gid = reader.text();
  std::copy_n(gid.begin(), std::min(gid.size(), offer.gid.size()),
              reinterpret_cast<char*>(offer.gid.data()));
  offer.mtu = reader.number<std::int32_t>();
  offer.reads = reader.number<std::int32_t>();
  offer.address = reader.number<std::uint64_t>();
  offer.key = reader.number<std::uint32_t>();
  reader.end();
  return offer;
}

class ReadPair {
 public:
  ReadPair(Session& session, const Task& task, const std::shared_ptr<verbs::Api>& api)
      : session_(session),
        task_(task),
        choice_(choose_verbs(session, task.micro->network, api)),
        memory_(static_cast<std::size_t>(
            std::max_element(task.micro->sizes.begin(), task.micro->sizes.end())->count())),
        region_(choice_.device, memory_.data(), memory_.size()),
        completions_(choice_.device, 4),
        queue_pair_(choice_.device, options()) {
    tell_others(session, [this] { connect(); });
  }

  [[nodiscard]] std::string describe() const {
    return fmt::format("RDMA READ on {} port {} GID index {}", choice_.device->name(),
                       choice_.options.port, choice_.options.gid_index);
  }

  double read_us(Bytes size) {
    verbs::SendRequest request;
    request.opcode = verbs::Opcode::kRead;
    request.local = memory_.data();
    request.length = static_cast<std::uint32_t>(size.count());
    request.local_key = region_.local_key();
    request.remote_address = peer_offer_.address;
    request.remote_key = peer_offer_.key;
    request.signalled = true;
    const Clock::time_point start = Clock::now();
    queue_pair_.post(request);
    await();
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }

 private:
  [[nodiscard]] verbs::QueuePairOptions options() const {
    verbs::QueuePairOptions options;
    options.completions = completions_.handle();
    options.send_depth = 2;
    options.receive_depth = 1;
    return options;
  }

  void connect() {
    const verbs::Device& device = *choice_.device;
    const nccl::ConnectionSettings& settings = choice_.options.settings;
    const verbs::PortFacts facts = device.port(choice_.options.port);
    Offer own;
    own.number = queue_pair_.number();
    own.sequence = own.number & 0xffffffU;
    own.lid = facts.lid;
    own.pkey = device.pkey(choice_.options.port, settings.pkey_index);
    own.gid = device.gid(choice_.options.port, choice_.options.gid_index).gid;
    own.mtu = facts.active_mtu;
    own.reads = std::min(device.limits().max_reads, device.limits().max_reads_initiated);
    own.address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory_.data()));
    own.key = region_.remote_key();
    const std::vector<std::string> all = session_.exchange(to_wire(own));
    peer_name_ = session_.group().names[1 - session_.rank().index()];
    peer_offer_ = from_wire(all[1 - session_.rank().index()], peer_name_);
    verbs::expect_same_partition(own.pkey, peer_offer_.pkey,
                                 fmt::format("{} port {}", device.name(), choice_.options.port),
                                 peer_name_);
    verbs::ConnectOptions to;
    to.port = choice_.options.port;
    to.pkey_index = settings.pkey_index;
    to.mtu = std::min(own.mtu, peer_offer_.mtu);
    to.peer_number = peer_offer_.number;
    to.peer_sequence = peer_offer_.sequence;
    to.own_sequence = own.sequence;
    to.peer_lid = peer_offer_.lid;
    to.global = facts.ethernet ||
                !std::equal(own.gid.begin(), own.gid.begin() + 8, peer_offer_.gid.begin());
    to.peer_gid = peer_offer_.gid;
    to.gid_index = choice_.options.gid_index;
    to.service_level = settings.service_level;
    to.traffic_class = facts.ethernet ? settings.traffic_class : 0;
    to.timeout = settings.timeout;
    to.retry_count = settings.retry_count;
    to.reads = std::clamp(std::min(own.reads, peer_offer_.reads), 1, 16);
    queue_pair_.to_init(to);
    queue_pair_.connect(to,
                        fmt::format("{} QP 0x{:x} GID {}", peer_name_, to.peer_number,
                                    verbs::to_string(to.peer_gid)),
                        {Deadline::in(Milliseconds(task_.timeout_ms)), session_});
    session_.barrier();  // the peer must answer before the first READ
  }

  /// Polls, yielding, until the READ has completed.
  void await() {
    const Deadline deadline = Deadline::in(Milliseconds(task_.timeout_ms));
    for (unsigned polls = 1;; ++polls) {
      for (const verbs::Completion& completion : completions_.poll()) {
        if (completion.status == verbs::kSuccess)
          return;
        fail(completion);
      }
      ::sched_yield();
      if (polls % kPollsPerCheck != 0)
        continue;
      session_.check();
      if (const std::optional<verbs::AsyncEvent> event = choice_.device->fatal_event()) {
        choice_.device->fail_event(*event, fmt::format("port {}", choice_.options.port),
                                   queue_pair_.peer());
      }
      if (deadline.passed()) {
        throw SystemError({"RDMA READ", "nothing within " + to_string(deadline.span()),
                           queue_pair_.describe(), queue_pair_.peer()});
      }
    }
  }

  [[noreturn]] void fail(const verbs::Completion& completion) const {
    const SystemError::Details details{"RDMA READ", verbs::status_text(completion.status),
                                       queue_pair_.describe(), queue_pair_.peer()};
    if (verbs::peer_may_be_gone(completion.status))
      throw PeerLost(details);
    throw SystemError(details);
  }

  Session& session_;
  const Task& task_;
  VerbsChoice choice_;
  std::vector<std::byte> memory_;
  verbs::MemoryRegion region_;
  verbs::CompletionQueue completions_;
  verbs::QueuePair queue_pair_;
  std::string peer_name_;
  Offer peer_offer_;
};

}  // namespace

ReadLatencies read_latencies(Session& session, const Task& task,
                             const std::shared_ptr<verbs::Api>& api) {
  if (task.micro->network.kind == NetworkKind::kSocket ||
      task.micro->network.kind == NetworkKind::kShared)
    throw InputError("read-lat reads by RDMA: it has no --network tcp or shm");
  ReadPair pair(session, task, api);
  ReadLatencies found;
  found.network = pair.describe();
  tell_others(session, [&] {
    for (const Bytes size : task.micro->sizes) {
      std::vector<double>& times = found.times_us.emplace_back();
      for (std::int32_t i = -task.warmup; session.rank() == RankId(0) && i < task.iterations; ++i) {
        const double time = pair.read_us(size);
        if (i >= 0)
          times.push_back(time);
      }
      session.barrier();  // the other side waits here, its memory stays readable
    }
  });
  return found;
}

}  // namespace busbw::real
