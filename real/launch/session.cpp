// See session.h.
#include "real/launch/session.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/core/text.h"

namespace busbw::real {
namespace {

constexpr std::uint64_t kMagic = 0x6275736277303031;  // "busbw001": changes with the protocol
constexpr std::size_t kHeadBytes = 5;
constexpr std::uint32_t kLongestFrame = 256U << 20U;
constexpr std::uint32_t kLongestHello = 64U << 10U;
constexpr const char* kSilentEnd = "it ended without a word: killed, crashed, or its host is gone";
/// A stranger on the port gets this long to say who it is.
constexpr Milliseconds kHelloTime{2000};

enum FrameType : std::uint8_t { kHello = 1, kWelcome, kGather, kGathered, kAbort, kBye };

std::string frame(std::uint8_t type, const std::string& bytes) {
  WireWriter writer;
  writer.number(type).text(bytes);
  return writer.take();
}

std::string texts(const std::vector<std::string>& list) {
  WireWriter writer;
  writer.number(static_cast<std::uint32_t>(list.size()));
  for (const std::string& text : list)
    writer.text(text);
  return writer.take();
}

std::vector<std::string> read_texts(WireReader& reader) {
  std::vector<std::string> list(reader.number<std::uint32_t>());
  for (std::string& text : list)
    text = reader.text();
  return list;
}

}  // namespace

Session::Session(const Place& place, Milliseconds patience, Watch& signals)
    : place_(place), patience_(patience), signals_(signals) {
  CHECK(place.rank >= 0 && place.rank < place.size, "rank {} of {}", place.rank, place.size);
  names_.assign(static_cast<std::size_t>(place.size), "");
  for (std::int32_t rank = 0; rank < place.size; ++rank)
    names_[static_cast<std::size_t>(rank)] = fmt::format("rank {}", rank);
  names_[rank().index()] += fmt::format(" ({})", process_name());
  hosts_.assign(names_.size(), "");
  hosts_[rank().index()] = host_identity("");
}

Session::~Session() = default;

std::unique_ptr<Session> Session::join(const Place& place, Milliseconds patience, Watch& signals) {
  std::unique_ptr<Session> session(new Session(place, patience, signals));
  if (place.rank != 0) {
    session->visit();
  } else if (place.size > 1 || place.listening >= 0) {
    Descriptor listener =
        place.listening >= 0 ? Descriptor(place.listening) : listen_on({"", ""}, place.master_port);
    set_nonblocking(listener.get());
    session->host(std::move(listener));
  }
  return session;
}

std::string Session::hello() const {
  WireWriter writer;
  writer.number(kMagic).number(place_.rank).number(place_.size);
  writer.text(names_[rank().index()]).text(hosts_[rank().index()]);
  return writer.take();
}

/// Rank 0: waits for everybody, then tells all who they are.
void Session::host(Descriptor listener) {
  const Deadline deadline = Deadline::in(patience_);
  while (lines_.size() + 1 < names_.size()) {
    wait_for(listener.get(), Ready::kRead, deadline, signals_,
             {"rendezvous", fmt::format("port {}", local_port(listener.get())),
              "missing: " + missing()});
    Descriptor socket = accept_from(listener.get());
    if (socket.open())
      greet(std::move(socket), deadline);
    look();
    check();
  }
  std::sort(lines_.begin(), lines_.end(),
            [](const Line& a, const Line& b) { return a.rank < b.rank; });
  for (Line& line : lines_)
    send(line, kWelcome, texts(names_) + texts(hosts_));
}

/// Who connects? Strangers are let go; a rank that cannot be right ends the job.
void Session::greet(Descriptor socket, const Deadline& deadline) {
  const Patience patience{Deadline::in(std::min(kHelloTime, deadline.left())), signals_};
  std::string head(kHeadBytes, '\0');
  if (!read_exactly(socket.get(), head.data(), head.size(), patience))
    return;
  WireReader head_reader(head, "a connecting process");
  const auto type = head_reader.number<std::uint8_t>();
  const auto size = head_reader.number<std::uint32_t>();
  if (type != kHello || size < sizeof kMagic || size > kLongestHello)
    return;
  std::string body(size, '\0');
  if (!read_exactly(socket.get(), body.data(), body.size(), patience))
    return;
  WireReader reader(body, "a connecting process");
  if (reader.number<std::uint64_t>() != kMagic)
    return;
  Line line;
  line.rank = reader.number<std::int32_t>();
  const auto ranks = reader.number<std::int32_t>();
  const std::string name = reader.text();
  const std::string host = reader.text();
  line.socket = std::move(socket);
  std::string wrong;
  if (ranks != place_.size) {
    wrong = fmt::format("it counts {} ranks, rank 0 counts {}", ranks, place_.size);
  } else if (line.rank <= 0 || line.rank >= place_.size) {
    wrong = fmt::format("there is no rank {} of {}", line.rank, place_.size);
  } else if (std::any_of(lines_.begin(), lines_.end(),
                         [&](const Line& known) { return known.rank == line.rank; })) {
    wrong = "this rank is there already: " + names_[static_cast<std::size_t>(line.rank)];
  }
  if (!wrong.empty()) {
    WireWriter writer;
    writer.text("rendezvous").text(wrong);
    try_send(line, kAbort, writer.take());
    note({"rendezvous", wrong, "", name}, line.rank);
    return;
  }
  names_[static_cast<std::size_t>(line.rank)] = name;
  hosts_[static_cast<std::size_t>(line.rank)] = host;
  lines_.push_back(std::move(line));
}

/// Another rank: reports to rank 0 and waits for its welcome.
void Session::visit() {
  const Patience patience{Deadline::in(patience_), signals_};
  Line line;
  line.socket =
      connect_to({"", ""}, resolve(place_.master_address, place_.master_port), patience, "rank 0");
  lines_.push_back(std::move(line));
  send(lines_.front(), kHello, hello());
  wait_for_frames([&] { return !lines_.front().gathered.empty(); }, "rendezvous");
  const std::string welcome = lines_.front().gathered.front();
  lines_.front().gathered.clear();
  WireReader reader(welcome, "rank 0");
  names_ = read_texts(reader);
  hosts_ = read_texts(reader);
  reader.end();
  CHECK(names_.size() == static_cast<std::size_t>(place_.size), "{} names", names_.size());
}

std::vector<bool> Session::same_host() const {
  std::vector<bool> same;
  same.reserve(hosts_.size());
  for (const std::string& host : hosts_)
    same.push_back(host == hosts_[rank().index()]);
  return same;
}

std::int32_t Session::local_rank() const {
  const std::vector<bool> same = same_host();
  return static_cast<std::int32_t>(std::count(same.begin(), same.begin() + place_.rank, true));
}

std::vector<std::string> Session::exchange(const std::string& own) {
  check();
  if (place_.rank != 0) {
    send(lines_.front(), kGather, own);
    wait_for_frames([&] { return !lines_.front().gathered.empty(); }, "exchange");
    const std::string all = lines_.front().gathered.front();
    lines_.front().gathered.erase(lines_.front().gathered.begin());
    WireReader reader(all, "rank 0");
    std::vector<std::string> list = read_texts(reader);
    reader.end();
    return list;
  }
  wait_for_frames(
      [&] {
        return std::none_of(lines_.begin(), lines_.end(),
                            [](const Line& line) { return line.gathered.empty(); });
      },
      "exchange");
  std::vector<std::string> list(names_.size());
  list.front() = own;
  for (Line& line : lines_) {
    list[static_cast<std::size_t>(line.rank)] = std::move(line.gathered.front());
    line.gathered.erase(line.gathered.begin());
  }
  for (Line& line : lines_)
    send(line, kGathered, texts(list));
  return list;
}

void Session::connect(Mover& mover, const std::vector<Link>& links) {
  const std::vector<std::string> offers = exchange(mover.open(group(), links));
  // Less than the others wait for in barrier(), so that who cannot connect says why.
  mover.connect(offers, {Deadline::in(patience_ * 2 / 3), *this});
  barrier();
  mover.established();
}

void Session::report(const std::string& why) {
  if (failure_)
    return;
  failure_ = SystemError::Details{name(), why, "", ""};
  WireWriter writer;
  writer.text(failure_->call).text(failure_->reason);
  const std::string text = writer.take();
  for (Line& line : lines_)
    try_send(line, kAbort, text);
}

void Session::leave() {
  barrier();
  leaving_ = true;
  for (Line& line : lines_)
    try_send(line, kBye, "");
}

std::optional<SystemError> Session::failure() const {
  if (!failure_)
    return std::nullopt;
  return SystemError(*failure_);
}

std::optional<SystemError> Session::cause(Milliseconds longest) {
  const Deadline deadline = Deadline::in(longest);
  std::vector<int> descriptors;
  add_descriptors(descriptors);
  for (;;) {
    look();
    if (failure_)
      return SystemError(*failure_);
    if (deadline.passed())
      return std::nullopt;
    sleep_on(descriptors, deadline.left());
  }
}

void Session::add_descriptors(std::vector<int>& descriptors) const {
  signals_.add_descriptors(descriptors);
  for (const Line& line : lines_) {
    if (line.socket.open())
      descriptors.push_back(line.socket.get());
  }
}

void Session::check() {
  signals_.check();
  look();
  if (failure_)
    throw SystemError(*failure_);
}

/// Takes in what has come; notes failures.
void Session::look() {
  for (Line& line : lines_) {
    if (!line.socket.open())
      continue;
    const bool open = read(line);
    while (line.buffer.size() >= kHeadBytes) {
      const std::string head = line.buffer.substr(0, kHeadBytes);
      WireReader reader(head, names_[static_cast<std::size_t>(line.rank)]);
      Frame frame;
      frame.type = reader.number<std::uint8_t>();
      const auto size = reader.number<std::uint32_t>();
      if (size > kLongestFrame) {
        note({names_[static_cast<std::size_t>(line.rank)],
              fmt::format("sent a frame of {} bytes", size), "", ""},
             line.rank);
        return;
      }
      if (line.buffer.size() < kHeadBytes + size)
        break;
      frame.bytes = line.buffer.substr(kHeadBytes, size);
      line.buffer.erase(0, kHeadBytes + size);
      handle(line, frame);
    }
    if (!open) {
      line.socket.reset();
      if (!line.left && !leaving_) {
        note({names_[static_cast<std::size_t>(line.rank)], kSilentEnd, "", ""}, line.rank);
      }
    }
  }
}

/// False at the end of the connection.
bool Session::read(Line& line) {
  char bytes[16384];
  for (;;) {
    const ssize_t count = ::recv(line.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count > 0) {
      line.buffer.append(bytes, static_cast<std::size_t>(count));
      continue;
    }
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  }
}

void Session::handle(Line& line, const Frame& frame) {
  switch (frame.type) {
    case kWelcome:
    case kGather:
    case kGathered:
      line.gathered.push_back(frame.bytes);
      return;
    case kAbort: {
      WireReader reader(frame.bytes, names_[static_cast<std::size_t>(line.rank)]);
      const std::string who = reader.text();
      note({who, reader.text(), "", ""}, line.rank);
      return;
    }
    case kBye:
      line.left = true;
      return;
    default:
      note({names_[static_cast<std::size_t>(line.rank)],
            fmt::format("sent a frame of type {}: another version of busbw?", frame.type), "", ""},
           line.rank);
  }
}

/// The first failure counts. Rank 0 passes it on to all but `from`, who knows.
void Session::note(const SystemError::Details& failure, std::int32_t from) {
  if (failure_)
    return;
  failure_ = failure;
  if (place_.rank != 0)
    return;
  WireWriter writer;
  writer.text(failure.call).text(failure.reason);
  const std::string text = writer.take();
  for (Line& line : lines_) {
    if (line.rank != from)
      try_send(line, kAbort, text);
  }
}

void Session::send(Line& line, std::uint8_t type, const std::string& bytes) {
  // Not *this as watch: the news that the socket brings is read by look().
  const Patience patience{Deadline::in(patience_), signals_};
  const std::string& peer = names_[static_cast<std::size_t>(line.rank)];
  if (!line.socket.open() ||
      try_write_all(line.socket.get(), frame(type, bytes), patience, peer) != 0) {
    check();  // its last words, if there are any
    note({peer, kSilentEnd, "", ""}, line.rank);
    throw SystemError(*failure_);
  }
}

/// For farewells: a peer that cannot take it is gone already.
void Session::try_send(Line& line, std::uint8_t type, const std::string& bytes) {
  if (!line.socket.open())
    return;
  const std::string text = frame(type, bytes);
  static_cast<void>(
      !::send(line.socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

void Session::wait_for_frames(const std::function<bool()>& done, const std::string& what) {
  // Rank 0 knows who is missing, and shall be the one to say so.
  const Milliseconds longest = place_.rank == 0 ? patience_ : patience_ * 3 / 2;
  const Deadline deadline = Deadline::in(longest);
  std::vector<int> descriptors;
  add_descriptors(descriptors);
  for (;;) {
    check();
    if (done())
      return;
    if (deadline.passed()) {
      throw SystemError({what, "nothing within " + real::to_string(longest), "",
                         place_.rank == 0 ? "missing: " + missing() : names_.front()});
    }
    sleep_on(descriptors, deadline.left());
  }
}

/// Rank 0: who has not reported, or not yet contributed to an exchange.
std::string Session::missing() const {
  std::vector<std::string> list;
  for (std::int32_t rank = 1; rank < place_.size; ++rank) {
    const auto line = std::find_if(lines_.begin(), lines_.end(),
                                   [&](const Line& known) { return known.rank == rank; });
    if (line == lines_.end() || (lines_.size() + 1 == names_.size() && line->gathered.empty()))
      list.push_back(names_[static_cast<std::size_t>(rank)]);
  }
  return busbw::join(list, ", ");
}

}  // namespace busbw::real
