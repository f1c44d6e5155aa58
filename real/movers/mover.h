// Moving messages between ranks: one interface over RDMA, TCP and shared memory.
//
// A link is a connection of a schedule (models/collectives): an ordered stream of messages from one
// rank to another. The k-th send fills the k-th receive and may run ahead of it by at most `slots`
// messages, which wait in slots of the receiver. Nothing here blocks except connect(): a rank is
// one thread that drives all of its links by progress() and sleeps by Waiter (waiter.h).
//
// Order of calls: add_memory() for what send() will read, open(), exchange of the offers,
// connect(), a barrier, established(); then messages; a barrier before a mover goes, because its
// end looks to the others like the death of the rank. Failures are SystemError and final.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/collectives/connections.h"
#include "real/base/watch.h"
#include "real/base/wire.h"
#include "real/verbs/types.h"
#include "sim/core/errors.h"
#include "sim/core/units.h"

namespace busbw::real {

/// Source and destination rank, channel and index: names a link on both of its ends.
using LinkId = collectives::Connection;
/// "link 1 -> 2 channel 0", for messages.
std::string to_string(const LinkId& id);

struct Link {
  LinkId id;
  Bytes slot_bytes;        // of the largest message; both ends must agree
  std::int32_t slots = 8;  // at most 4096
};

/// This rank's end of a link as failures name it, and what is known about why nothing comes.
struct LinkView {
  std::string object;  // "rxe0 port 1 QP 0x11"
  std::string peer;    // "rank 3 (node2:4711) QP 0x12 GID fe80::1"
  std::string cause;   // "the port is Down: link down"
};

/// Who is who: position is the rank.
struct Group {
  RankId self;
  std::vector<std::string> names;  // "rank 3 (node2:4711)"
};

/// A message that has arrived. Its parts in order make up its bytes; valid until pop().
struct Message {
  std::vector<std::span<const std::byte>> parts;
  std::size_t bytes = 0;
};

/// The sending end of a link.
class Sender {
 public:
  Sender() = default;
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  virtual ~Sender() = default;
  /// A slot of the receiver is free for one more message.
  [[nodiscard]] virtual bool ready() const = 0;
  /// Only when ready(). The bytes lie in memory that was added, and do not change until the
  /// receiver has popped the message. Not empty.
  virtual void send(std::span<const std::byte> bytes) = 0;
  /// The receiver has popped every message and said so.
  [[nodiscard]] virtual bool drained() const = 0;
};

/// The receiving end of a link.
class Receiver {
 public:
  Receiver() = default;
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  virtual ~Receiver() = default;
  /// The oldest message that was not popped; nullptr while none has arrived in full.
  [[nodiscard]] virtual const Message* front() = 0;
  /// Frees the slot of front(). Slots go back to the sender in batches.
  virtual void pop() = 0;
  /// Gives all free slots back now: the sender waits for them. False: not yet on its way, ask again
  /// after progress().
  virtual bool settle() = 0;
};

class Mover {
 public:
  Mover() = default;
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;
  virtual ~Mover() = default;

  /// "RDMA WRITE on rxe0 port 1 GID index 0": for reports.
  [[nodiscard]] virtual std::string describe() const = 0;
  /// Memory that send() may read; registered once, until the mover goes: it must outlive the mover,
  /// also when an error ends the run, since a NIC reads what was posted to it.
  virtual void add_memory(std::byte* start, std::size_t bytes) = 0;
  /// What add_memory() and open() have registered so far; nothing where no device is used.
  [[nodiscard]] virtual verbs::Registration registration() const { return {}; }
  /// Makes the ends of `links` that `group.self` has (others are passed over) and returns what the
  /// other ranks need to connect to them.
  virtual std::string open(const Group& group, const std::vector<Link>& links) = 0;
  /// Connects to the others: offers[rank] is what its open() returned.
  virtual void connect(const std::vector<std::string>& offers, const Patience& patience) = 0;
  /// Every rank has connected.
  virtual void established() {}

  virtual Sender& sender(const LinkId& id) = 0;
  virtual Receiver& receiver(const LinkId& id) = 0;
  /// For a wait that came to nothing. Asks the device; does not throw for what it answers.
  [[nodiscard]] virtual LinkView look_at(const LinkId& id) = 0;
  /// Does what can be done without waiting; true if anything happened.
  virtual bool progress() = 0;
  /// Prepares for sleep: `descriptors` become readable when progress() has something to do. False:
  /// it has now.
  virtual bool arm(std::vector<int>& descriptors) = 0;
};

/// Slots that may wait at the receiver before they are given back: half of them.
std::int32_t credit_batch(std::int32_t slots);

/// Names a link on the wire.
void write_id(WireWriter& writer, const LinkId& id);
LinkId read_id(WireReader& reader);

/// The other end of a link is gone; the cause may be known to another rank (run_rank waits for it).
class PeerLost : public SystemError {
 public:
  /// `echo`: only the consequence of another failure, so that others are waited for longer.
  explicit PeerLost(const Details& details, bool echo = false)
      : SystemError(details), echo_(echo) {}
  [[nodiscard]] bool echo() const { return echo_; }

 private:
  bool echo_;
};

/// Throws SystemError unless both ends describe the link alike. `name` is the peer's.
void check_same_link(const Link& own, const Link& other, const std::string& name);

}  // namespace busbw::real
