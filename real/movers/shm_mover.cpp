// See shm_mover.h. Counters are published with sequential consistency: "I have written, are you
// asleep?" and "I say that I sleep, have you written?" must not both be answered no.
#include "real/movers/shm_mover.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "real/base/socket.h"
#include "real/movers/shm_segment.h"
#include "sim/core/check.h"

namespace busbw::real {
namespace {

LinkLayout layout_of(const Link& link) {
  return {static_cast<std::size_t>(link.slots), static_cast<std::size_t>(link.slot_bytes.count())};
}

/// A datagram socket in the abstract name space (no file): its descriptor wakes a sleeping rank.
class Doorbell {
 public:
  Doorbell() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    if (!socket_.open())
      fail_call("socket", errno);
  }
  void bind(const std::string& name) {
    socklen_t length = 0;
    const sockaddr_un address = address_of(name, length);
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
      fail_call("bind", errno, "@" + name);
  }
  /// A full or vanished doorbell needs no ring: its owner is awake or gone.
  void ring(const std::string& name) const {
    socklen_t length = 0;
    const sockaddr_un address = address_of(name, length);
    const char byte = 0;
    static_cast<void>(!::sendto(socket_.get(), &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&address), length));
  }
  void clear() const {
    char byte = 0;
    while (::recv(socket_.get(), &byte, 1, MSG_DONTWAIT) > 0) {
    }
  }
  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  static sockaddr_un address_of(const std::string& name, socklen_t& length) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    CHECK(name.size() + 1 < sizeof address.sun_path, "socket name of {} bytes", name.size());
    std::memcpy(&address.sun_path[1], name.data(), name.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return address;
  }
  Descriptor socket_;
};

/// Another rank of this host, as seen from here.
struct Neighbour {
  SharedSegment segment;
  std::string doorbell;
};

/// Wakes the owner of a segment if it sleeps.
void wake(const Doorbell& own, const Neighbour& other) {
  auto* head = reinterpret_cast<SegmentHead*>(other.segment.at(0));
  if (head->asleep.load() != 0 && head->asleep.exchange(0) != 0)
    own.ring(other.doorbell);
}

class ShmSender : public Sender {
 public:
  explicit ShmSender(const Link& link) : link_(link), layout_(layout_of(link)) {}
  void attach(const Neighbour* neighbour, const Doorbell* own, std::size_t offset) {
    neighbour_ = neighbour;
    own_ = own;
    base_ = neighbour->segment.at(offset);
    head_ = reinterpret_cast<LinkHead*>(base_);
  }
  [[nodiscard]] bool ready() const override { return sent_ - head_->popped.load() < layout_.slots; }
  void send(std::span<const std::byte> bytes) override {
    CHECK(ready() && !bytes.empty() && bytes.size() <= layout_.slot_bytes,
          "{}: {} bytes into slots of {}", to_string(link_.id), bytes.size(), layout_.slot_bytes);
    const std::size_t slot = sent_ % layout_.slots;
    const std::uint64_t size = bytes.size();
    std::memcpy(base_ + layout_.sizes_at() + slot * sizeof size, &size, sizeof size);
    std::memcpy(base_ + layout_.slots_at() + slot * layout_.stride(), bytes.data(), bytes.size());
    head_->sent.store(++sent_);
    wake(*own_, *neighbour_);
  }
  [[nodiscard]] bool drained() const override { return head_->popped.load() == sent_; }
  /// The receiver has popped since the last look.
  bool news() {
    const std::uint64_t before = std::exchange(seen_, head_->popped.load());
    return seen_ != before;
  }
  [[nodiscard]] const Link& link() const { return link_; }

 private:
  Link link_;
  LinkLayout layout_;
  const Neighbour* neighbour_ = nullptr;
  const Doorbell* own_ = nullptr;
  std::byte* base_ = nullptr;
  LinkHead* head_ = nullptr;
  std::uint64_t sent_ = 0;
  std::uint64_t seen_ = 0;
};

class ShmReceiver : public Receiver {
 public:
  ShmReceiver(const Link& link, std::byte* base, std::string peer)
      : link_(link),
        layout_(layout_of(link)),
        base_(base),
        head_(reinterpret_cast<LinkHead*>(base)),
        peer_(std::move(peer)) {}
  void attach(const Neighbour* neighbour, const Doorbell* own) {
    neighbour_ = neighbour;
    own_ = own;
  }
  [[nodiscard]] const Message* front() override {
    if (head_->sent.load() == popped_)
      return nullptr;
    const std::size_t slot = popped_ % layout_.slots;
    std::uint64_t size = 0;
    std::memcpy(&size, base_ + layout_.sizes_at() + slot * sizeof size, sizeof size);
    if (size == 0 || size > layout_.slot_bytes) {
      throw SystemError(
          {"receive",
           fmt::format("a message of {} bytes in a slot of {}", size, layout_.slot_bytes),
           to_string(link_.id), peer_});
    }
    message_.bytes = size;
    message_.parts.assign(1, {base_ + layout_.slots_at() + slot * layout_.stride(), size});
    return &message_;
  }
  void pop() override {
    CHECK(head_->sent.load() > popped_, "{}: nothing has arrived", to_string(link_.id));
    ++popped_;
    if (popped_ - told_ >= static_cast<std::uint64_t>(credit_batch(link_.slots)))
      static_cast<void>(settle());
  }
  bool settle() override {
    if (told_ != popped_) {
      told_ = popped_;
      head_->popped.store(popped_);
      wake(*own_, *neighbour_);
    }
    return true;
  }
  /// A message has come since the last look.
  bool news() {
    const std::uint64_t before = std::exchange(seen_, head_->sent.load());
    return seen_ != before;
  }
  [[nodiscard]] const Link& link() const { return link_; }

 private:
  Link link_;
  LinkLayout layout_;
  std::byte* base_;
  LinkHead* head_;
  std::string peer_;
  const Neighbour* neighbour_ = nullptr;
  const Doorbell* own_ = nullptr;
  Message message_;
  std::uint64_t popped_ = 0;
  std::uint64_t told_ = 0;
  std::uint64_t seen_ = 0;
};

class ShmMover : public Mover {
 public:
  [[nodiscard]] std::string describe() const override { return "shared memory"; }
  void add_memory(std::byte* /*start*/, std::size_t /*bytes*/) override {}

  std::string open(const Group& group, const std::vector<Link>& links) override {
    CHECK(segment_.bytes() == 0, "a mover is opened once");
    group_ = group;
    std::size_t bytes = sizeof(SegmentHead);
    WireWriter incoming;
    std::uint32_t count = 0;
    for (const Link& link : links) {
      if (link.id.source == group.self)
        senders_.emplace(link.id, std::make_unique<ShmSender>(link));
      if (link.id.destination != group.self)
        continue;
      write_id(incoming, link.id);
      incoming.number(link.slot_bytes.count()).number(link.slots);
      incoming.number(static_cast<std::uint64_t>(bytes));
      bytes += layout_of(link).bytes();
      ++count;
    }
    segment_ = SharedSegment::create(bytes);
    own_name_ = "busbw" + segment_.name();
    doorbell_.bind(own_name_);
    bytes = sizeof(SegmentHead);
    for (const Link& link : links) {
      if (link.id.destination != group.self)
        continue;
      receivers_.emplace(link.id,
                         std::make_unique<ShmReceiver>(link, segment_.at(bytes),
                                                       group.names[link.id.source.index()]));
      bytes += layout_of(link).bytes();
    }
    WireWriter writer;
    writer.text(segment_.name()).number(static_cast<std::uint64_t>(segment_.bytes()));
    writer.text(own_name_).number(count).text(incoming.take());
    return writer.take();
  }

  void connect(const std::vector<std::string>& offers, const Patience& patience) override {
    for (std::size_t rank = 0; rank < offers.size(); ++rank) {
      const auto talks = [&](const auto& entry) {
        return entry.first.source.index() == rank || entry.first.destination.index() == rank;
      };
      if (rank == group_.self.index() ||
          (std::none_of(senders_.begin(), senders_.end(), talks) &&
           std::none_of(receivers_.begin(), receivers_.end(), talks)))
        continue;
      patience.watch.check();
      meet(rank, offers[rank]);
    }
  }
  void established() override { segment_.unlink(); }

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

  [[nodiscard]] LinkView look_at(const LinkId& id) override {
    const RankId peer = id.source == group_.self ? id.destination : id.source;
    const char* idle = id.source == group_.self
                           ? "the peer takes no message out: it hangs or waits"
                           : "the peer has put no message in: it hangs or waits";
    return {to_string(id) + " in shared memory", group_.names[peer.index()], idle};
  }

  bool progress() override {
    if (armed_) {
      armed_ = false;
      head().asleep.store(0);
      doorbell_.clear();
    }
    return news();
  }
  bool arm(std::vector<int>& descriptors) override {
    armed_ = true;
    head().asleep.store(1);
    if (news())
      return false;
    descriptors.push_back(doorbell_.descriptor());
    return true;
  }

 private:
  SegmentHead& head() { return *reinterpret_cast<SegmentHead*>(segment_.at(0)); }

  bool news() {
    bool any = false;
    for (const auto& entry : senders_)
      any = entry.second->news() || any;
    for (const auto& entry : receivers_)
      any = entry.second->news() || any;
    return any;
  }

  void meet(std::size_t rank, const std::string& offer) {
    const std::string& name = group_.names[rank];
    WireReader reader(offer, name);
    const std::string segment = reader.text();
    const auto bytes = reader.number<std::uint64_t>();
    Neighbour& neighbour = neighbours_[rank];
    neighbour.segment = SharedSegment::open(segment, bytes, name);
    neighbour.doorbell = reader.text();
    const auto count = reader.number<std::uint32_t>();
    const std::string links = reader.text();
    reader.end();
    WireReader list(links, name);
    std::map<LinkId, std::pair<Link, std::uint64_t>> theirs;
    for (std::uint32_t i = 0; i < count; ++i) {
      const LinkId id = read_id(list);
      const Link link{id, Bytes(list.number<std::int64_t>()), list.number<std::int32_t>()};
      theirs[id] = {link, list.number<std::uint64_t>()};
    }
    for (const auto& [id, end] : senders_) {
      if (id.destination.index() != rank)
        continue;
      const auto found = theirs.find(id);
      if (found == theirs.end()) {
        throw SystemError({"connect", "the peer has no such link: it runs another collective",
                           to_string(id), name});
      }
      check_same_link(end->link(), found->second.first, name);
      end->attach(&neighbour, &doorbell_, found->second.second);
    }
    for (const auto& [id, end] : receivers_) {
      if (id.source.index() == rank)
        end->attach(&neighbour, &doorbell_);
    }
  }

  Group group_;
  SharedSegment segment_;
  Doorbell doorbell_;
  std::string own_name_;
  std::map<std::size_t, Neighbour> neighbours_;  // by rank; addresses stay
  std::map<LinkId, std::unique_ptr<ShmSender>> senders_;
  std::map<LinkId, std::unique_ptr<ShmReceiver>> receivers_;
  bool armed_ = false;
};

}  // namespace

std::unique_ptr<Mover> make_shm_mover() {
  return std::make_unique<ShmMover>();
}

}  // namespace busbw::real
