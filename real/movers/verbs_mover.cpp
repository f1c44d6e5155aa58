// See verbs_mover.h.
#include "real/movers/verbs_mover.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "real/base/system.h"
#include "real/base/wire.h"
#include "real/movers/verbs_end.h"
#include "real/verbs/status.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"

namespace busbw::real {
namespace {

constexpr std::array<const char*, 3> kMethods = {"WRITE", "READ", "SEND"};
/// RDMA READs in flight per queue pair at most; more does not help and costs responder resources.
constexpr int kMostReads = 16;
constexpr std::int32_t kMostSlots = 4096;  // sequence numbers on the wire have 16 bits
/// Polls without a completion between two looks at the device's events. Few, because each yields:
/// on a busy machine that takes milliseconds.
constexpr unsigned kPollsPerEventCheck = 16;

class VerbsMover : public Mover {
 public:
  VerbsMover(std::shared_ptr<verbs::Device> device, const VerbsMoverOptions& options) {
    CHECK(options.signal_every >= 1 && options.signal_every <= 64, "signal_every {}",
          options.signal_every);
    shared_.device = std::move(device);
    shared_.options = options;
  }
  ~VerbsMover() override {
    // Queue pairs go before the queues they use and before memory that peers may still write to: a
    // rank that gives up is gone for them, it does not refuse the access.
    for (const std::unique_ptr<VerbsEnd>& end : ends_)
      end->close();
    ends_.clear();
  }

  [[nodiscard]] std::string describe() const override {
    return fmt::format("RDMA {} on {} port {} GID index {}", to_string(shared_.options.method),
                       shared_.device->name(), shared_.options.port, shared_.options.gid_index);
  }

  void add_memory(std::byte* start, std::size_t bytes) override {
    if (bytes > 0) {
      shared_.user_memory.push_back(
          std::make_unique<verbs::MemoryRegion>(shared_.device, start, bytes));
    }
  }

  std::string open(const Group& group, const std::vector<Link>& links) override {
    CHECK(ends_.empty(), "a mover is opened once");
    shared_.group = group;
    look_at_port();
    make_queues(links);
    for (const Link& link : links) {
      CHECK(link.slots > 0 && link.slots <= kMostSlots, "slots {}", link.slots);
      CHECK(link.id.source != link.id.destination, "{} leads to itself", to_string(link.id));
      if (link.id.source == group.self) {
        Sender* interface = nullptr;
        ends_.push_back(make_verbs_sender(shared_, link, &interface));
        senders_[link.id] = interface;
      } else if (link.id.destination == group.self) {
        Receiver* interface = nullptr;
        ends_.push_back(make_verbs_receiver(shared_, link, &interface));
        receivers_[link.id] = interface;
      }
    }
    for (std::size_t end = 0; end < ends_.size(); ++end) {
      ends_[end]->create();
      const std::vector<std::uint32_t> numbers = ends_[end]->numbers();
      for (std::size_t lane = 0; lane < numbers.size(); ++lane)
        lane_of_[numbers[lane]] = {end, lane};
    }
    return offer();
  }

  void connect(const std::vector<std::string>& offers, const Patience& patience) override {
    for (std::size_t rank = 0; rank < offers.size(); ++rank) {
      const bool needed = std::any_of(ends_.begin(), ends_.end(), [&](const auto& end) {
        return end->peer_rank().index() == rank;
      });
      if (needed)
        connect_to(rank, offers[rank], patience);
    }
  }

  [[nodiscard]] verbs::Registration registration() const override {
    return shared_.device->registration();
  }
  [[nodiscard]] LinkView look_at(const LinkId& id) override {
    const auto end = std::find_if(ends_.begin(), ends_.end(),
                                  [&](const auto& known) { return known->link().id == id; });
    CHECK(end != ends_.end(), "{} was not opened", to_string(id));
    // The way back has queue pairs of its own: one that waits tells about the peer's device.
    const bool silent = std::any_of(ends_.begin(), ends_.end(), [&](const auto& known) {
      return known->peer_rank() == (*end)->peer_rank() && known->waits();
    });
    return (*end)->look(silent);
  }

  Sender& sender(const LinkId& id) override {
    const auto found = senders_.find(id);
    CHECK(found != senders_.end(), "{} was not opened", to_string(id));
    return *found->second;
  }
  Receiver& receiver(const LinkId& id) override {
    const auto found = receivers_.find(id);
    CHECK(found != receivers_.end(), "{} was not opened", to_string(id));
    return *found->second;
  }

  bool progress() override {
    bool moved = false;
    if (shared_.completions != nullptr) {
      const std::vector<verbs::Completion>& polled = shared_.completions->poll();
      moved = !polled.empty();
      fail_first(polled);
      for (const verbs::Completion& completion : polled) {
        const Place place = place_of(completion);
        ends_[place.end]->complete(place.lane, completion);
      }
      if (!moved && ++idle_polls_ % kPollsPerEventCheck == 0)
        check_events();
    }
    for (const auto& end : ends_)
      moved = end->progress() || moved;
    return moved;
  }

  bool arm(std::vector<int>& descriptors) override {
    if (shared_.completions == nullptr)
      return true;
    shared_.completions->request_notification();
    if (progress())
      return false;  // came in before the request
    check_events();
    descriptors.push_back(shared_.completions->descriptor());
    descriptors.push_back(shared_.device->async_descriptor());
    return true;
  }

 private:
  struct Place {
    std::size_t end = 0;
    std::size_t lane = 0;
  };

  void look_at_port() {
    const verbs::Device& device = *shared_.device;
    const verbs::PortFacts facts = device.port(shared_.options.port);
    const std::string where = fmt::format("{} port {}", device.name(), shared_.options.port);
    if (facts.state != kActivePort) {
      throw SystemError({"open",
                         fmt::format("the port is {}: link down, or no subnet manager",
                                     verbs::port_state_text(facts.state)),
                         where, ""});
    }
    port_.lid = facts.lid;
    port_.mtu = facts.active_mtu;
    port_.ethernet = facts.ethernet;
    port_.gid = device.gid(shared_.options.port, shared_.options.gid_index).gid;
    port_.reads =
        std::min({device.limits().max_reads, device.limits().max_reads_initiated, kMostReads});
    if (facts.ethernet && port_.gid == verbs::Gid{}) {
      throw SystemError({"open", "the GID table entry is empty: wrong NCCL_IB_GID_INDEX",
                         fmt::format("{} GID index {}", where, shared_.options.gid_index), ""});
    }
    port_.pkey = device.pkey(shared_.options.port, shared_.options.settings.pkey_index);
  }

  void make_queues(const std::vector<Link>& links) {
    const VerbsMoverOptions& options = shared_.options;
    std::size_t receives = 0;
    std::size_t largest = 0;
    int completions = 0;
    for (const Link& link : links) {
      const bool sending = link.id.source == shared_.group.self;
      if (!sending && link.id.destination != shared_.group.self)
        continue;
      const std::int32_t own = receives_of(options, link, sending);
      receives += static_cast<std::size_t>(own);
      largest = std::max(largest, receive_bytes_of(options, link, sending));
      completions += own + send_depth_of(options, link) * options.settings.queue_pairs;
    }
    if (receives == 0)
      return;  // a single rank has no links
    shared_.completions = std::make_unique<verbs::CompletionQueue>(
        shared_.device, options.completions.value_or(completions));
    if (!options.shared_receives)
      return;
    shared_.shared_queue =
        std::make_unique<verbs::SharedReceiveQueue>(shared_.device, static_cast<int>(receives));
    shared_.shared_pool = std::make_unique<ReceivePool>(shared_.device, receives, largest);
    for (std::uint32_t number = 0; number < receives; ++number)
      shared_.shared_queue->post(shared_.shared_pool->request(number));
  }

  [[nodiscard]] std::string offer() const {
    WireWriter writer;
    writer.number(port_.lid)
        .number(port_.pkey)
        .number(port_.mtu)
        .number(std::uint8_t{port_.ethernet});
    writer.number(port_.reads);
    writer.text({reinterpret_cast<const char*>(port_.gid.data()), port_.gid.size()});
    writer.text(to_string(shared_.options.method));
    writer.number(static_cast<std::uint32_t>(ends_.size()));
    for (const auto& end : ends_) {
      write_id(writer, end->link().id);
      WireWriter body;
      end->write_offer(body);
      writer.text(body.take());
    }
    return writer.take();
  }

  void connect_to(std::size_t rank, const std::string& offer, const Patience& patience) {
    const std::string& name = shared_.group.names[rank];
    WireReader reader(offer, name);
    PortOffer other;
    other.lid = reader.number<std::uint16_t>();
    other.pkey = reader.number<std::uint16_t>();
    other.mtu = reader.number<int>();
    other.ethernet = reader.number<std::uint8_t>() != 0;
    other.reads = reader.number<int>();
    const std::string gid = reader.text();
    CHECK(gid.size() == other.gid.size(), "GID of {} bytes", gid.size());
    std::copy(gid.begin(), gid.end(), reinterpret_cast<char*>(other.gid.data()));
    const std::string method = reader.text();
    if (method != to_string(shared_.options.method)) {
      throw SystemError(
          {"connect",
           fmt::format("here RDMA {}, there RDMA {}", to_string(shared_.options.method), method),
           describe(), name});
    }
    std::map<LinkId, std::string> theirs;
    for (auto left = reader.number<std::uint32_t>(); left > 0; --left) {
      const LinkId id = read_id(reader);
      theirs[id] = reader.text();
    }
    for (const auto& end : ends_) {
      if (end->peer_rank().index() != rank)
        continue;
      const auto found = theirs.find(end->link().id);
      if (found == theirs.end()) {
        throw SystemError({"connect", "the peer has no such link: it runs another collective",
                           to_string(end->link().id), name});
      }
      patience.watch.check();
      WireReader body(found->second, name);
      end->connect(body, port_, other, patience);
      body.end();
    }
  }

  [[nodiscard]] Place place_of(const verbs::Completion& completion) const {
    const auto found = lane_of_.find(completion.queue_pair);
    CHECK(found != lane_of_.end(), "a completion of QP 0x{:x}, which is not ours",
          completion.queue_pair);
    return found->second;
  }

  /// Fails for a fatal event; that of a queue pair with its link and peer.
  void check_events() const {
    const std::optional<verbs::AsyncEvent> event = shared_.device->fatal_event();
    if (!event)
      return;
    const auto found = lane_of_.find(event->number);
    if (event->number != 0 && found != lane_of_.end())
      ends_[found->second.end]->fail(found->second.lane, *event);
    shared_.device->fail_event(*event, fmt::format("port {}", shared_.options.port), "");
  }

  /// The first failure that is not only the echo of another one.
  void fail_first(const std::vector<verbs::Completion>& polled) const {
    const verbs::Completion* worst = nullptr;
    for (const verbs::Completion& completion : polled) {
      const bool echo = completion.status == verbs::kFlushed;
      if (completion.status != verbs::kSuccess &&
          (worst == nullptr || (worst->status == verbs::kFlushed && !echo)))
        worst = &completion;
    }
    if (worst != nullptr) {
      if (worst->status == verbs::kFlushed)
        check_events();  // the device may say why the queue pair is in error
      const Place place = place_of(*worst);
      ends_[place.end]->fail(place.lane, *worst);
    }
  }

  VerbsShared shared_;
  PortOffer port_;
  std::vector<std::unique_ptr<VerbsEnd>> ends_;
  std::map<LinkId, Sender*> senders_;
  std::map<LinkId, Receiver*> receivers_;
  std::map<std::uint32_t, Place> lane_of_;  // by QP number
  unsigned idle_polls_ = 0;
};

}  // namespace

std::string to_string(VerbsMethod method) {
  return kMethods.at(static_cast<std::size_t>(method));
}

std::optional<VerbsMethod> parse_verbs_method(const std::string& name) {
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    if (name == kMethods.at(i))
      return static_cast<VerbsMethod>(i);
  }
  return std::nullopt;
}

std::unique_ptr<Mover> make_verbs_mover(std::shared_ptr<verbs::Device> device,
                                        const VerbsMoverOptions& options) {
  return std::make_unique<VerbsMover>(std::move(device), options);
}

}  // namespace busbw::real
