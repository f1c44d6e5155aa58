// One end of a link over queue pairs: posting with bookkeeping of the send queue, and what is told
// to the other end. Internal to the verbs mover.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "real/base/wire.h"
#include "real/movers/verbs_mover.h"

namespace busbw::real {

/// What a work request was for; travels in its id.
enum class WorkKind : std::uint8_t { kData, kControl, kRead, kCredit, kReceive };

/// Work request id: kind, how many requests of the send queue its completion retires, and a number
/// (receive buffer, or slot and part of a READ).
struct WorkId {
  WorkKind kind = WorkKind::kData;
  std::uint16_t retires = 0;
  std::uint32_t number = 0;
  [[nodiscard]] std::uint64_t pack() const {
    return static_cast<std::uint64_t>(kind) << 56U | static_cast<std::uint64_t>(retires) << 32U |
           number;
  }
  static WorkId unpack(std::uint64_t id) {
    return {static_cast<WorkKind>(id >> 56U), static_cast<std::uint16_t>(id >> 32U),
            static_cast<std::uint32_t>(id)};
  }
};

/// The immediate of a data message: its number (low 16 bits), how many parts it has and which this
/// is.
struct DataTag {
  std::uint16_t sequence = 0;
  std::uint8_t parts = 1;
  std::uint8_t part = 0;
  [[nodiscard]] std::uint32_t pack() const {
    return static_cast<std::uint32_t>(sequence) << 16U | static_cast<std::uint32_t>(parts) << 8U |
           part;
  }
  static DataTag unpack(std::uint32_t bits) {
    return {static_cast<std::uint16_t>(bits >> 16U), static_cast<std::uint8_t>(bits >> 8U),
            static_cast<std::uint8_t>(bits)};
  }
};

/// Registered memory of the mover itself: slots, receive buffers, control messages.
class RegisteredBytes {
 public:
  RegisteredBytes(const std::shared_ptr<verbs::Device>& device, std::size_t bytes);
  [[nodiscard]] std::byte* at(std::size_t offset) { return memory_.get() + offset; }
  [[nodiscard]] std::uint32_t local_key() const { return region_->local_key(); }
  [[nodiscard]] std::uint32_t remote_key() const { return region_->remote_key(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;  // page aligned
  std::unique_ptr<verbs::MemoryRegion> region_;
};

/// Where received SENDs land: equal buffers, posted to the shared queue or to one queue pair each.
class ReceivePool {
 public:
  /// `bytes` 0: notifications only, no memory.
  ReceivePool(const std::shared_ptr<verbs::Device>& device, std::size_t count, std::size_t bytes);
  [[nodiscard]] verbs::ReceiveRequest request(std::uint32_t number);
  [[nodiscard]] const std::byte* at(std::uint32_t number) const;
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::size_t count_;
  std::size_t bytes_;
  std::unique_ptr<RegisteredBytes> memory_;
};

/// What all ends of a mover share.
struct VerbsShared {
  std::shared_ptr<verbs::Device> device;
  VerbsMoverOptions options;
  Group group;
  std::unique_ptr<verbs::CompletionQueue> completions;
  std::unique_ptr<verbs::SharedReceiveQueue> shared_queue;
  std::unique_ptr<ReceivePool> shared_pool;
  std::vector<std::unique_ptr<verbs::MemoryRegion>> user_memory;

  /// Key of the memory that holds these bytes. CHECKs that it was added.
  [[nodiscard]] const verbs::MemoryRegion& region_of(std::span<const std::byte> bytes) const;
};

/// IBV_PORT_ACTIVE.
inline constexpr int kActivePort = 4;

/// What a port tells about itself.
struct PortOffer {
  std::uint16_t lid = 0;
  std::uint16_t pkey = 0;  // at the index of this connection
  verbs::Gid gid{};
  int mtu = 0;
  bool ethernet = false;
  int reads = 1;
};

/// Size of a control message of READ: address, key, length, offset.
inline constexpr std::size_t kControlBytes = 24;
/// Parts of split messages are multiples of it, as NCCL cuts them.
inline constexpr std::size_t kPartUnit = 128;

class VerbsEnd {
 public:
  VerbsEnd(VerbsShared& shared, Link link, bool sending);
  VerbsEnd(const VerbsEnd&) = delete;
  VerbsEnd& operator=(const VerbsEnd&) = delete;
  virtual ~VerbsEnd() = default;

  /// Makes the queue pairs and posts the first receives.
  void create();
  /// Destroys the queue pairs, before the memory they reach. Nothing else may be called after it.
  void close() { lanes_.clear(); }
  void write_offer(WireWriter& writer) const;
  /// `reader` stands at what the other end's write_offer() wrote.
  void connect(WireReader& reader, const PortOffer& own, const PortOffer& other,
               const Patience& patience);
  /// Queue pair numbers, in order of the lanes.
  [[nodiscard]] std::vector<std::uint32_t> numbers() const;
  [[nodiscard]] const Link& link() const { return link_; }
  [[nodiscard]] bool sending() const { return sending_; }
  [[nodiscard]] const std::string& peer() const { return shared_.group.names[peer_.index()]; }
  [[nodiscard]] RankId peer_rank() const { return peer_; }

  /// A completion of lane `lane`, success only.
  void complete(std::size_t lane, const verbs::Completion& completion);
  [[noreturn]] void fail(std::size_t lane, const verbs::Completion& completion) const;
  [[noreturn]] void fail(std::size_t lane, const verbs::AsyncEvent& event) const;
  /// A signalled request of some lane is not complete.
  [[nodiscard]] bool waits() const;
  /// The first lane that waits, else the first. `silent`: the peer's device acknowledges nothing.
  [[nodiscard]] LinkView look(bool silent) const;
  /// Posts what had to wait; true if it could.
  virtual bool progress() = 0;

 protected:
  struct Lane {
    std::unique_ptr<verbs::QueuePair> queue_pair;
    std::int32_t used = 0;     // send requests not known to be complete
    std::int32_t pending = 0;  // of them, since the last signalled one
    static bool waits(const Lane& lane) { return lane.used > lane.pending; }
  };
  [[nodiscard]] bool can_post(std::size_t lane) const { return lanes_[lane].used < depth_; }
  /// Sets id (from `kind` and `number`), signalling and inlining.
  void post(std::size_t lane, verbs::SendRequest request, WorkKind kind, std::uint32_t number);
  void repost(std::size_t lane, std::uint32_t number);
  [[nodiscard]] ReceivePool& pool() const;

  /// A message came in (`completion`) into receive buffer `number`; who calls repost() is up to it.
  virtual void on_receive(std::size_t lane, std::uint32_t number,
                          const verbs::Completion& completion) = 0;
  virtual void on_read(std::uint32_t /*number*/) {}
  /// Region that the other end may write to; the receiving end of WRITE.
  virtual void write_target(WireWriter& writer) const = 0;
  virtual void read_target(std::uint64_t address, std::uint32_t key) = 0;
  /// Receives that a lane must hold posted, and bytes of each.
  [[nodiscard]] std::int32_t receives_per_lane() const;
  [[nodiscard]] std::size_t receive_bytes() const;

  VerbsShared& shared_;
  Link link_;
  bool sending_;
  RankId peer_;
  std::int32_t depth_ = 0;
  std::vector<Lane> lanes_;
  std::unique_ptr<ReceivePool> own_pool_;

 private:
  /// What is wrong with the port now, if anything.
  [[nodiscard]] std::string port_trouble() const;
  [[nodiscard]] std::uint32_t first_sequence(std::size_t lane) const;
};

/// Receives and completions that an end can have outstanding: for the size of shared queues.
std::int32_t receives_of(const VerbsMoverOptions& options, const Link& link, bool sending);
std::int32_t send_depth_of(const VerbsMoverOptions& options, const Link& link);
/// Bytes of the largest SEND into a receive buffer.
std::size_t receive_bytes_of(const VerbsMoverOptions& options, const Link& link, bool sending);

std::unique_ptr<VerbsEnd> make_verbs_sender(VerbsShared& shared, const Link& link,
                                            Sender** interface);
std::unique_ptr<VerbsEnd> make_verbs_receiver(VerbsShared& shared, const Link& link,
                                              Receiver** interface);

}  // namespace busbw::real
