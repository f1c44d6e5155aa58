// The sending and the receiving end of a link over queue pairs, for WRITE, READ and SEND. See
// verbs_mover.h for the protocol.
#include <algorithm>
#include <cstring>
#include <deque>

#include <fmt/format.h>

#include "real/movers/verbs_end.h"
#include "real/verbs/status.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"

namespace busbw::real {
namespace {

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// How a message is cut over the queue pairs: all parts but the last have this size.
std::size_t part_bytes(const nccl::ConnectionSettings& settings, std::size_t bytes) {
  const auto lanes = static_cast<std::size_t>(settings.queue_pairs);
  return settings.split_data ? round_up((bytes + lanes - 1) / lanes, kPartUnit) : bytes;
}

std::size_t slot_stride(const Link& link) {
  return round_up(static_cast<std::size_t>(link.slot_bytes.count()), 64);
}

class VerbsSender : public VerbsEnd, public Sender {
 public:
  VerbsSender(VerbsShared& shared, const Link& link) : VerbsEnd(shared, link, true) {
    if (shared.options.method == VerbsMethod::kRead) {
      control_ = std::make_unique<RegisteredBytes>(
          shared.device, static_cast<std::size_t>(link.slots) * lanes_.size() * kControlBytes);
    }
  }

  [[nodiscard]] bool ready() const override {
    if (sent_ - popped_ >= static_cast<std::uint64_t>(link_.slots))
      return false;
    if (!shared_.options.settings.split_data)
      return can_post(sent_ % lanes_.size());
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      if (!can_post(lane))
        return false;
    }
    return true;
  }

  void send(std::span<const std::byte> bytes) override {
    CHECK(ready() && !bytes.empty() &&
              bytes.size() <= static_cast<std::size_t>(link_.slot_bytes.count()),
          "{}: {} bytes into slots of {}", to_string(link_.id), bytes.size(),
          link_.slot_bytes.count());
    const verbs::MemoryRegion& region = shared_.region_of(bytes);
    const std::size_t each = part_bytes(shared_.options.settings, bytes.size());
    const std::size_t parts = (bytes.size() + each - 1) / each;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t lane =
          parts == 1 && !shared_.options.settings.split_data ? sent_ % lanes_.size() : part;
      const std::size_t offset = part * each;
      const DataTag tag{static_cast<std::uint16_t>(sent_), static_cast<std::uint8_t>(parts),
                        static_cast<std::uint8_t>(part)};
      send_part(lane, tag, bytes.subspan(offset, std::min(each, bytes.size() - offset)), offset,
                region);
    }
    ++sent_;
  }

  [[nodiscard]] bool drained() const override { return popped_ == sent_; }
  bool progress() override { return false; }

 private:
  void send_part(std::size_t lane, DataTag tag, std::span<const std::byte> bytes,
                 std::size_t offset, const verbs::MemoryRegion& region) {
    verbs::SendRequest request;
    request.immediate = tag.pack();
    if (shared_.options.method == VerbsMethod::kRead) {
      WireWriter writer;
      writer.number(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(bytes.data())));
      writer.number(region.remote_key()).number(static_cast<std::uint32_t>(bytes.size()));
      writer.number(static_cast<std::uint64_t>(offset));
      const std::string text = writer.take();
      const std::size_t slot = sent_ % static_cast<std::uint64_t>(link_.slots);
      std::byte* at = control_->at((slot * lanes_.size() + lane) * kControlBytes);
      std::memcpy(at, text.data(), kControlBytes);
      request.local = at;
      request.length = kControlBytes;
      request.local_key = control_->local_key();
      post(lane, request, WorkKind::kControl, 0);
      return;
    }
    request.local = bytes.data();
    request.length = static_cast<std::uint32_t>(bytes.size());
    request.local_key = region.local_key();
    if (shared_.options.method == VerbsMethod::kWrite) {
      const std::size_t slot = sent_ % static_cast<std::uint64_t>(link_.slots);
      request.opcode = verbs::Opcode::kWriteWithImmediate;
      request.remote_address = slots_address_ + slot * slot_stride(link_) + offset;
      request.remote_key = slots_key_;
    }
    post(lane, request, WorkKind::kData, 0);
  }

  /// Credits: how many messages were popped in all, 32 bits of it.
  void on_receive(std::size_t lane, std::uint32_t number,
                  const verbs::Completion& completion) override {
    const auto news =
        static_cast<std::uint32_t>(completion.immediate - static_cast<std::uint32_t>(popped_));
    if (news > sent_ - popped_) {
      throw SystemError({"receive of credits",
                         fmt::format("{} messages popped of {} sent", completion.immediate, sent_),
                         to_string(link_.id), peer()});
    }
    popped_ += news;
    repost(lane, number);
  }
  void write_target(WireWriter& writer) const override {
    writer.number(std::uint64_t{0}).number(std::uint32_t{0});
  }
  void read_target(std::uint64_t address, std::uint32_t key) override {
    slots_address_ = address;
    slots_key_ = key;
  }

  std::uint64_t sent_ = 0;
  std::uint64_t popped_ = 0;  // by the receiver
  std::uint64_t slots_address_ = 0;
  std::uint32_t slots_key_ = 0;
  std::unique_ptr<RegisteredBytes> control_;
};

class VerbsReceiver : public VerbsEnd, public Receiver {
 public:
  VerbsReceiver(VerbsShared& shared, const Link& link)
      : VerbsEnd(shared, link, false), incoming_(static_cast<std::size_t>(link.slots)) {
    if (shared.options.method != VerbsMethod::kSend) {
      slots_ = std::make_unique<RegisteredBytes>(
          shared.device, static_cast<std::size_t>(link.slots) * slot_stride(link));
    }
  }

  [[nodiscard]] const Message* front() override {
    Incoming& oldest = incoming_[popped_ % incoming_.size()];
    if (oldest.parts == 0 || oldest.arrived < oldest.parts)
      return nullptr;
    if (oldest.message.parts.empty())
      assemble(oldest, popped_ % incoming_.size());
    return &oldest.message;
  }

  void pop() override {
    Incoming& oldest = incoming_[popped_ % incoming_.size()];
    CHECK(front() != nullptr, "{}: nothing has arrived", to_string(link_.id));
    for (const Piece& piece : oldest.pieces) {
      if (piece.held)
        repost(piece.lane, piece.number);
    }
    oldest = Incoming();
    ++popped_;
    if (popped_ - told_ >= static_cast<std::uint64_t>(credit_batch(link_.slots)))
      static_cast<void>(settle());
  }

  bool settle() override {
    settling_ = told_ != popped_ && !can_post(0);  // then progress() comes back to it
    if (told_ == popped_ || settling_)
      return !settling_;
    verbs::SendRequest request;
    request.immediate = static_cast<std::uint32_t>(popped_);
    told_ = popped_;
    post(0, request, WorkKind::kCredit, 0);
    return true;
  }

  bool progress() override {
    bool moved = false;
    while (!reads_.empty() && can_post(reads_.front().lane)) {
      const WaitingRead read = reads_.front();
      reads_.pop_front();
      post(read.lane, read.request, WorkKind::kRead, read.number);
      moved = true;
    }
    if (settling_ && can_post(0))
      moved = settle();
    return moved;
  }

 private:
  /// One part of a message that has come in, in whatever order.
  struct Piece {
    std::size_t part = 0;
    std::size_t bytes = 0;
    std::size_t lane = 0;
    std::uint32_t number = 0;  // SEND: receive buffer
    bool held = false;         // the buffer is reposted by pop()
  };
  struct Incoming {
    std::size_t parts = 0;
    std::size_t arrived = 0;
    std::vector<Piece> pieces;
    Message message;
  };
  struct WaitingRead {
    std::size_t lane = 0;
    verbs::SendRequest request;
    std::uint32_t number = 0;
  };

  [[noreturn]] void wrong(const std::string& why) const {
    throw SystemError({"receive", why, to_string(link_.id), peer()});
  }

  void assemble(Incoming& incoming, std::size_t slot) {
    std::sort(incoming.pieces.begin(), incoming.pieces.end(),
              [](const Piece& a, const Piece& b) { return a.part < b.part; });
    Message& message = incoming.message;
    for (const Piece& piece : incoming.pieces)
      message.bytes += piece.bytes;
    if (slots_ != nullptr) {
      message.parts.emplace_back(slots_->at(slot * slot_stride(link_)), message.bytes);
      return;
    }
    for (const Piece& piece : incoming.pieces)
      message.parts.emplace_back(pool().at(piece.number), piece.bytes);
  }

  void on_receive(std::size_t lane, std::uint32_t number,
                  const verbs::Completion& completion) override {
    const DataTag tag = DataTag::unpack(completion.immediate);
    const auto ahead =
        static_cast<std::uint16_t>(tag.sequence - static_cast<std::uint16_t>(popped_));
    if (ahead >= incoming_.size() || tag.parts == 0 || tag.part >= tag.parts) {
      wrong(fmt::format("message {} part {} of {} does not belong here", tag.sequence, tag.part,
                        tag.parts));
    }
    const std::size_t slot = (popped_ + ahead) % incoming_.size();
    Incoming& incoming = incoming_[slot];
    incoming.parts = tag.parts;
    if (shared_.options.method == VerbsMethod::kRead) {
      pull(lane, number, slot, tag);
      repost(lane, number);
      return;
    }
    const bool held = shared_.options.method == VerbsMethod::kSend;
    incoming.pieces.push_back({tag.part, completion.bytes, lane, number, held});
    ++incoming.arrived;
    if (!held)
      repost(lane, number);
  }

  /// A control message has come in: reads the bytes it names into the slot.
  void pull(std::size_t lane, std::uint32_t number, std::size_t slot, DataTag tag) {
    const auto* at = reinterpret_cast<const char*>(pool().at(number));
    WireReader reader({at, kControlBytes}, peer());
    WaitingRead read;
    read.lane = lane;
    read.number = static_cast<std::uint32_t>(slot);
    read.request.opcode = verbs::Opcode::kRead;
    read.request.remote_address = reader.number<std::uint64_t>();
    read.request.remote_key = reader.number<std::uint32_t>();
    read.request.length = reader.number<std::uint32_t>();
    const auto offset = reader.number<std::uint64_t>();
    const auto room = static_cast<std::uint64_t>(link_.slot_bytes.count());
    if (offset > room || read.request.length > room - offset) {
      wrong(fmt::format("{} bytes at {} do not fit a slot of {}: the peer sends another byte count",
                        read.request.length, offset, room));
    }
    read.request.local = slots_->at(slot * slot_stride(link_) + offset);
    read.request.local_key = slots_->local_key();
    incoming_[slot].pieces.push_back({tag.part, read.request.length, lane, number, false});
    reads_.push_back(read);
    static_cast<void>(progress());
  }

  void on_read(std::uint32_t number) override { ++incoming_[number].arrived; }
  void write_target(WireWriter& writer) const override {
    const bool target = shared_.options.method == VerbsMethod::kWrite;
    writer.number(target
                      ? static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(slots_->at(0)))
                      : std::uint64_t{0});
    writer.number(target ? slots_->remote_key() : std::uint32_t{0});
  }
  void read_target(std::uint64_t /*address*/, std::uint32_t /*key*/) override {}

  std::vector<Incoming> incoming_;  // ring; the oldest is popped_ modulo slots
  std::uint64_t popped_ = 0;
  std::uint64_t told_ = 0;  // credits sent
  bool settling_ = false;   // credits are due, but the send queue was full
  std::deque<WaitingRead> reads_;
  std::unique_ptr<RegisteredBytes> slots_;  // WRITE and READ
};

}  // namespace

std::unique_ptr<VerbsEnd> make_verbs_sender(VerbsShared& shared, const Link& link,
                                            Sender** interface) {
  auto end = std::make_unique<VerbsSender>(shared, link);
  *interface = end.get();
  return end;
}

std::unique_ptr<VerbsEnd> make_verbs_receiver(VerbsShared& shared, const Link& link,
                                              Receiver** interface) {
  auto end = std::make_unique<VerbsReceiver>(shared, link);
  *interface = end.get();
  return end;
}

}  // namespace busbw::real
