// See tcp_mover.h. One epoll set: a socket is in it for reading while its link has a free slot, and
// for writing while bytes could not be written.
#include "real/movers/tcp_mover.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <linux/sockios.h>
#include <map>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include <fmt/format.h>

#include "real/base/socket.h"
#include "sim/core/check.h"

namespace busbw::real {
namespace {

constexpr std::uint64_t kMagic = 0x6275736277746370;  // "busbwtcp"
constexpr std::size_t kHelloBytes = 45;
constexpr std::size_t kNumberBytes = 4;
/// Strangers (port scanners) get this long to say who they are.
constexpr Milliseconds kHelloTime{2000};

/// What both ends of a link over TCP have: the socket and its place in the epoll set.
class TcpEnd {
 public:
  TcpEnd(Link link, std::string peer) : link_(link), peer_(std::move(peer)) {}
  TcpEnd(const TcpEnd&) = delete;
  TcpEnd& operator=(const TcpEnd&) = delete;
  virtual ~TcpEnd() = default;

  /// `number` comes back with the events of the epoll set.
  void attach(Descriptor socket, int epoll, std::uint64_t number) {
    socket_ = std::move(socket);
    epoll_ = epoll;
    number_ = number;
    epoll_event event{};
    event.events = interest_ = wanted();
    event.data.u64 = number_;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket_.get(), &event) != 0)
      fail_call("epoll_ctl", errno);
  }
  /// The socket may be ready; true if bytes moved.
  virtual bool work() = 0;
  [[nodiscard]] const Link& link() const { return link_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }
  [[nodiscard]] bool attached() const { return socket_.open(); }
  /// Where this end is bound, and whether the other host still answers.
  [[nodiscard]] LinkView look(const std::string& from) const {
    int unacknowledged = 0;
    const bool known = attached() && ::ioctl(socket_.get(), SIOCOUTQ, &unacknowledged) == 0;
    return {fmt::format("{} over {}", to_string(link_.id), from), peer_,
            known && unacknowledged > 0
                ? fmt::format("{} bytes sent are not acknowledged: link down, or packets are lost",
                              unacknowledged)
                : "the connection stands and is idle: the peer hangs or waits"};
  }

 protected:
  [[nodiscard]] virtual std::uint32_t wanted() const = 0;
  void update() {
    if (wanted() == interest_)
      return;
    epoll_event event{};
    event.events = interest_ = wanted();
    event.data.u64 = number_;
    if (::epoll_ctl(epoll_, EPOLL_CTL_MOD, socket_.get(), &event) != 0)
      fail_call("epoll_ctl", errno);
  }
  /// Bytes read, 0 when none are there.
  std::size_t read(std::byte* to, std::size_t size) {
    const ssize_t count = ::recv(socket_.get(), to, size, MSG_DONTWAIT);
    if (count > 0)
      return static_cast<std::size_t>(count);
    if (count == 0)
      lost("recv", "the peer closed the connection");
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
      lost("recv", errno_text(errno));
    return 0;
  }
  /// Bytes written, 0 when the socket takes none.
  std::size_t write(const iovec* parts, std::size_t count) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts);
    message.msg_iovlen = count;
    const ssize_t size = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size >= 0)
      return static_cast<std::size_t>(size);
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
      lost("send", errno_text(errno));
    return 0;
  }
  [[noreturn]] void lost(const std::string& call, const std::string& reason) const {
    throw PeerLost({call, reason, to_string(link_.id) + " over TCP", peer_});
  }

 private:
  Link link_;
  std::string peer_;
  Descriptor socket_;
  int epoll_ = -1;
  std::uint64_t number_ = 0;
  std::uint32_t interest_ = 0;
};

class TcpSender : public TcpEnd, public Sender {
 public:
  using TcpEnd::TcpEnd;

  [[nodiscard]] bool ready() const override {
    return sent_ - popped_ < static_cast<std::uint64_t>(link().slots);
  }
  void send(std::span<const std::byte> bytes) override {
    CHECK(ready() && !bytes.empty() &&
              bytes.size() <= static_cast<std::size_t>(link().slot_bytes.count()),
          "{}: {} bytes into slots of {}", to_string(link().id), bytes.size(),
          link().slot_bytes.count());
    Outgoing out;
    out.bytes = bytes;
    const auto size = static_cast<std::uint32_t>(bytes.size());
    std::memcpy(out.head.data(), &size, sizeof size);
    waiting_.push_back(out);
    ++sent_;
    static_cast<void>(push());
    update();
  }
  [[nodiscard]] bool drained() const override { return popped_ == sent_; }

  bool work() override {
    bool moved = push();
    while (const std::size_t count = read(news_.data() + have_, news_.size() - have_)) {
      moved = true;
      have_ += count;
      if (have_ < news_.size())
        continue;
      have_ = 0;
      take_news();
    }
    update();
    return moved;
  }

 private:
  struct Outgoing {
    std::array<std::byte, kNumberBytes> head{};
    std::span<const std::byte> bytes;
    std::size_t done = 0;  // of head and bytes together
  };

  [[nodiscard]] std::uint32_t wanted() const override {
    std::uint32_t events = EPOLLIN;
    if (!waiting_.empty())
      events |= EPOLLOUT;
    return events;
  }

  /// Writes what the socket takes.
  bool push() {
    bool moved = false;
    while (!waiting_.empty()) {
      Outgoing& out = waiting_.front();
      std::array<iovec, 2> parts{};
      const std::size_t of_head = std::min(out.done, kNumberBytes);
      const std::size_t of_bytes = out.done - of_head;
      parts[0] = {out.head.data() + of_head, kNumberBytes - of_head};
      parts[1] = {const_cast<std::byte*>(out.bytes.data()) + of_bytes, out.bytes.size() - of_bytes};
      const std::size_t count = write(parts.data(), parts.size());
      if (count == 0)
        return moved;
      moved = true;
      out.done += count;
      if (out.done == kNumberBytes + out.bytes.size())
        waiting_.pop_front();
    }
    return moved;
  }

  void take_news() {
    std::uint32_t popped = 0;
    std::memcpy(&popped, news_.data(), sizeof popped);
    const auto more = static_cast<std::uint32_t>(popped - static_cast<std::uint32_t>(popped_));
    if (more > sent_ - popped_) {
      throw SystemError({"receive of credits",
                         fmt::format("{} messages popped of {} sent", popped, sent_),
                         to_string(link().id), peer()});
    }
    popped_ += more;
  }

  std::deque<Outgoing> waiting_;
  std::array<std::byte, kNumberBytes> news_{};
  std::size_t have_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t popped_ = 0;
};

class TcpReceiver : public TcpEnd, public Receiver {
 public:
  TcpReceiver(const Link& link, std::string peer)
      : TcpEnd(link, std::move(peer)),
        slot_bytes_(static_cast<std::size_t>(link.slot_bytes.count())),
        slots_(static_cast<std::size_t>(link.slots)),
        memory_(slots_ * slot_bytes_),
        sizes_(slots_) {}

  [[nodiscard]] const Message* front() override {
    if (arrived_ == popped_)
      return nullptr;
    const std::size_t slot = popped_ % slots_;
    message_.bytes = sizes_[slot];
    message_.parts.assign(1, {memory_.data() + slot * slot_bytes_, sizes_[slot]});
    return &message_;
  }
  void pop() override {
    CHECK(arrived_ > popped_, "{}: nothing has arrived", to_string(link().id));
    ++popped_;
    if (popped_ - told_ >= static_cast<std::uint64_t>(credit_batch(link().slots)))
      static_cast<void>(settle());
    update();
  }
  bool settle() override {
    // A count that is half written goes out before a newer one.
    if (told_ != popped_ && news_left_ == 0) {
      const auto popped = static_cast<std::uint32_t>(popped_);
      std::memcpy(news_.data(), &popped, sizeof popped);
      news_left_ = news_.size();
      told_ = popped_;
    }
    static_cast<void>(push());
    update();
    return told_ == popped_ && news_left_ == 0;
  }

  bool work() override {
    bool moved = push();
    while (arrived_ - popped_ < slots_) {
      const std::size_t count = pull();
      if (count == 0)
        break;
      moved = true;
    }
    update();
    return moved;
  }

 private:
  [[nodiscard]] std::uint32_t wanted() const override {
    std::uint32_t events = 0;
    if (arrived_ - popped_ < slots_)
      events |= EPOLLIN;
    if (news_left_ > 0)
      events |= EPOLLOUT;
    return events;
  }
  bool push() {
    if (news_left_ == 0)
      return false;
    const iovec part{news_.data() + (news_.size() - news_left_), news_left_};
    const std::size_t count = write(&part, 1);
    news_left_ -= count;
    return count > 0;
  }
  /// Reads a piece of the head or of the bytes.
  std::size_t pull() {
    if (have_ < kNumberBytes) {
      const std::size_t count = read(head_.data() + have_, kNumberBytes - have_);
      have_ += count;
      if (have_ == kNumberBytes)
        take_head();
      return count;
    }
    const std::size_t slot = arrived_ % slots_;
    const std::size_t done = have_ - kNumberBytes;
    const std::size_t count = read(memory_.data() + slot * slot_bytes_ + done, sizes_[slot] - done);
    have_ += count;
    if (have_ == kNumberBytes + sizes_[slot]) {
      have_ = 0;
      ++arrived_;
    }
    return count;
  }
  void take_head() {
    std::uint32_t size = 0;
    std::memcpy(&size, head_.data(), sizeof size);
    if (size == 0 || size > slot_bytes_) {
      throw SystemError({"receive",
                         fmt::format("a message of {} bytes for a slot of {}: the peer sends "
                                     "another byte count",
                                     size, slot_bytes_),
                         to_string(link().id), peer()});
    }
    sizes_[arrived_ % slots_] = size;
  }

  std::size_t slot_bytes_;
  std::size_t slots_;
  std::vector<std::byte> memory_;
  std::vector<std::size_t> sizes_;
  Message message_;
  std::array<std::byte, kNumberBytes> head_{};
  std::size_t have_ = 0;  // of head and bytes together
  std::array<std::byte, kNumberBytes> news_{};
  std::size_t news_left_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint64_t popped_ = 0;
  std::uint64_t told_ = 0;
};

class TcpMover : public Mover {
 public:
  explicit TcpMover(const TcpMoverOptions& options) : binding_{options.address, options.interface} {
    epoll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_.open())
      fail_call("epoll_create1", errno);
  }

  [[nodiscard]] std::string describe() const override {
    return binding_.interface.empty()
               ? "TCP from " + binding_.address
               : fmt::format("TCP from {} on {}", binding_.address, binding_.interface);
  }
  void add_memory(std::byte* /*start*/, std::size_t /*bytes*/) override {}

  std::string open(const Group& group, const std::vector<Link>& links) override {
    CHECK(!listener_.open(), "a mover is opened once");
    group_ = group;
    listener_ = listen_on(binding_, 0);
    token_ = random_token();
    WireWriter writer;
    writer.text(binding_.address).number(local_port(listener_.get())).number(token_);
    for (const Link& link : links) {
      if (link.id.source == group.self) {
        auto end = std::make_unique<TcpSender>(link, group.names[link.id.destination.index()]);
        senders_[link.id] = end.get();
        ends_.push_back(std::move(end));
      } else if (link.id.destination == group.self) {
        auto end = std::make_unique<TcpReceiver>(link, group.names[link.id.source.index()]);
        receivers_[link.id] = end.get();
        ends_.push_back(std::move(end));
      }
    }
    return writer.take();
  }

  void connect(const std::vector<std::string>& offers, const Patience& patience) override {
    // Connections complete in the peers' backlog: nobody waits for anybody's accept.
    for (std::size_t number = 0; number < ends_.size(); ++number) {
      TcpEnd& end = *ends_[number];
      if (end.link().id.source != group_.self)
        continue;
      WireReader reader(offers.at(end.link().id.destination.index()), end.peer());
      const std::string address = reader.text();
      const auto port = reader.number<std::uint16_t>();
      const auto token = reader.number<std::uint64_t>();
      reader.end();
      Descriptor socket = connect_to(binding_, socket_address(address, port), patience, end.peer());
      WireWriter hello;
      hello.number(kMagic).number(token);
      write_id(hello, end.link().id);
      hello.number(end.link().slot_bytes.count()).number(end.link().slots);
      hello.number(std::uint32_t{0});
      write_all(socket.get(), hello.take(), patience, end.peer());
      end.attach(std::move(socket), epoll_.get(), number);
    }
    while (missing() != nullptr)
      accept_one(patience);
    listener_.reset();
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

  [[nodiscard]] LinkView look_at(const LinkId& id) override {
    const auto end = std::find_if(ends_.begin(), ends_.end(),
                                  [&](const auto& known) { return known->link().id == id; });
    CHECK(end != ends_.end(), "{} was not opened", to_string(id));
    return (*end)->look(describe());
  }

  bool progress() override {
    std::array<epoll_event, 32> events{};
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    if (count < 0 && errno != EINTR)
      fail_call("epoll_wait", errno);
    bool moved = false;
    for (int i = 0; i < count; ++i)
      moved = ends_[events.at(static_cast<std::size_t>(i)).data.u64]->work() || moved;
    return moved;
  }
  bool arm(std::vector<int>& descriptors) override {
    descriptors.push_back(epoll_.get());
    return true;
  }

 private:
  [[nodiscard]] const TcpEnd* missing() const {
    const auto found =
        std::find_if(ends_.begin(), ends_.end(), [](const auto& end) { return !end->attached(); });
    return found == ends_.end() ? nullptr : found->get();
  }

  void accept_one(const Patience& patience) {
    wait_for(listener_.get(), Ready::kRead, patience.deadline, patience.watch,
             {"accept", to_string(missing()->link().id), missing()->peer()});
    Descriptor socket = accept_from(listener_.get());
    std::string hello(kHelloBytes, '\0');
    const Patience short_patience{Deadline::in(std::min(kHelloTime, patience.deadline.left())),
                                  patience.watch};
    if (!socket.open() || !read_exactly(socket.get(), hello.data(), hello.size(), short_patience))
      return;  // a stranger
    WireReader reader(hello, "a connecting process");
    if (reader.number<std::uint64_t>() != kMagic || reader.number<std::uint64_t>() != token_)
      return;
    const LinkId id = read_id(reader);
    const Link told{id, Bytes(reader.number<std::int64_t>()), reader.number<std::int32_t>()};
    for (std::size_t number = 0; number < ends_.size(); ++number) {
      TcpEnd& end = *ends_[number];
      if (end.link().id == id && id.destination == group_.self && !end.attached()) {
        check_same_link(end.link(), told, end.peer());
        end.attach(std::move(socket), epoll_.get(), number);
        return;
      }
    }
    throw SystemError({"accept",
                       "the peer has a link that is not known here: it runs another "
                       "collective",
                       to_string(id), ""});
  }

  Binding binding_;
  Group group_;
  Descriptor epoll_;
  Descriptor listener_;
  std::uint64_t token_ = 0;
  std::vector<std::unique_ptr<TcpEnd>> ends_;
  std::map<LinkId, Sender*> senders_;
  std::map<LinkId, Receiver*> receivers_;
};

}  // namespace

std::unique_ptr<Mover> make_tcp_mover(const TcpMoverOptions& options) {
  return std::make_unique<TcpMover>(options);
}

}  // namespace busbw::real
