// The ranks of a job, connected through rank 0: exchange of addresses, barriers, and the news that
// a rank has failed or died.
//
// A star of TCP connections. A rank that fails says why before it ends (abort); one that ends
// without a word is noticed by its closed connection. Rank 0 passes both on, so that every rank
// ends with the same cause and name. The session is the Watch of every wait. Frames: type, length,
// bytes.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "real/base/socket.h"
#include "real/base/watch.h"
#include "real/launch/place.h"
#include "real/movers/mover.h"

namespace busbw::real {

class Session : public Watch {
 public:
  /// Meets the other ranks within `patience`; it is also the time-out of later exchanges. `signals`
  /// ends every wait as well and must outlive the session. Throws SystemError naming who is
  /// missing.
  static std::unique_ptr<Session> join(const Place& place, Milliseconds patience, Watch& signals);
  ~Session() override;

  [[nodiscard]] RankId rank() const { return RankId(place_.rank); }
  [[nodiscard]] std::int32_t size() const { return place_.size; }
  /// Names of all ranks, for movers.
  [[nodiscard]] Group group() const { return {rank(), names_}; }
  /// "rank 3 (node2:4711)", this rank.
  [[nodiscard]] const std::string& name() const { return names_[rank().index()]; }
  /// Per rank: whether it lives on this rank's host (host_identity).
  [[nodiscard]] std::vector<bool> same_host() const;
  /// Position of this rank among the ranks of its host.
  [[nodiscard]] std::int32_t local_rank() const;

  /// Everybody's text, by rank. Every rank calls it in the same order.
  std::vector<std::string> exchange(const std::string& own);
  void barrier() { static_cast<void>(exchange("")); }
  /// Connects `mover` over `links`: open, exchange of offers, connect, barrier, established.
  void connect(Mover& mover, const std::vector<Link>& links);

  /// Tells all that this rank fails. Does not throw.
  void report(const std::string& why);
  /// The end of a rank is announced; from now on others may close. Every rank calls it last.
  void leave();
  /// Waits a moment for word from the others; what they say is the cause of a lost connection.
  std::optional<SystemError> cause(Milliseconds longest);
  /// The first failure that this rank has reported or heard of.
  [[nodiscard]] std::optional<SystemError> failure() const;

  void add_descriptors(std::vector<int>& descriptors) const override;
  void check() override;

 private:
  struct Frame {
    std::uint8_t type = 0;
    std::string bytes;
  };
  /// One connection: at rank 0 to every other rank, else to rank 0 alone.
  struct Line {
    std::int32_t rank = 0;
    Descriptor socket;
    std::string buffer;
    std::vector<std::string> gathered;  // exchanges that have come and were not used yet
    bool left = false;
  };
  Session(const Place& place, Milliseconds patience, Watch& signals);
  void host(Descriptor listener);
  void visit();
  [[nodiscard]] std::string hello() const;
  void greet(Descriptor socket, const Deadline& deadline);
  void send(Line& line, std::uint8_t type, const std::string& bytes);
  void try_send(Line& line, std::uint8_t type, const std::string& bytes);
  bool read(Line& line);
  void handle(Line& line, const Frame& frame);
  void note(const SystemError::Details& failure, std::int32_t from);
  void look();
  void wait_for_frames(const std::function<bool()>& done, const std::string& what);
  [[nodiscard]] std::string missing() const;

  Place place_;
  Milliseconds patience_;
  Watch& signals_;
  std::vector<std::string> names_;
  std::vector<std::string> hosts_;
  std::vector<Line> lines_;
  std::optional<SystemError::Details> failure_;
  bool leaving_ = false;
};

/// Runs `body`. If it fails the others hear why, and the SystemError that comes out names the rank
/// that failed: "rank 1 (node2:4711) failed: ...". A lost connection is replaced by its cause if
/// another rank knows it. Other exceptions come out as they are. Whoever holds a mover calls it
/// around its use: what a mover holds may take seconds to free (a device that was overrun waits for
/// its own requests), and the others must not wait for that.
void tell_others(Session& session, const std::function<void()>& body);

/// Runs a rank: `body` between join and leave, as tell_others() does.
void run_rank(Session& session, const std::function<void()>& body);

}  // namespace busbw::real
