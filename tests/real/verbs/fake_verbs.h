// A network of RDMA devices in memory: every verbs call of real/verbs/api.h without hardware.
//
// Behaves as reliable connections do where busbw could go wrong: bytes move later than they are
// posted (by a thread), send queues fill until a signalled completion is polled, keys and ranges
// are checked, a send waits for a posted receive, a queue pair in error flushes. Any call can be
// made to fail, any completion to carry an error, a link to go down, requests to be lost (and sent
// again). Left out: packets, MTU, time.
#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "real/base/deadline.h"
#include "real/verbs/api.h"
#include "sim/core/random.h"

namespace busbw::real::verbs {

struct FakeDevice {
  std::string name;
  DeviceLimits limits;
  PortFacts port;
  std::vector<GidEntry> gids;
  std::vector<std::uint16_t> pkeys{0xffff};
  bool link_up = true;
};

/// A RoCE device "fake<number>": link-local and IPv4 GIDs (10.0.0.<number + 1>) as mlx5 has them.
FakeDevice roce_device(int number);
/// An InfiniBand device with LID number + 1.
FakeDevice infiniband_device(int number);

/// All devices and everything made of them. Thread safe.
class FakeNetwork {
 public:
  explicit FakeNetwork(std::uint64_t seed = 1);
  ~FakeNetwork();
  FakeNetwork(const FakeNetwork&) = delete;
  FakeNetwork& operator=(const FakeNetwork&) = delete;

  void add(const FakeDevice& device);
  /// The `nth` next call (1: the next) of `method` ("create_queue_pair") fails with `error`.
  void fail_call(const std::string& method, int error, int nth = 1);
  /// Every call of `method` takes so long.
  void slow_call(const std::string& method, Milliseconds time);
  /// The nth next work request that runs completes with `status`.
  void fail_completion(int status, int nth = 1);
  /// How long a request to a peer that does not answer is retried.
  void set_retry_time(Milliseconds time);
  /// Also the state of the port, with the event that says so.
  void set_link(const std::string& device, bool up);
  /// Only what the port says of itself.
  void set_port_state(const std::string& device, int state);
  /// The subnet manager gives a port another P_Key: packets of other partitions are dropped.
  void set_pkey(const std::string& device, int index, std::uint16_t pkey);
  /// The share of requests that get lost on their way, and are sent again a millisecond later.
  void set_loss(double share);
  /// From now on no more memory can be registered than RLIMIT_MEMLOCK of this process allows.
  void limit_memory();
  void add_event(const std::string& device, const AsyncEvent& event);
  /// Whether devices report events of their own accord (they do); add_event() always works.
  void set_events(bool on);
  /// Calls of each method so far.
  [[nodiscard]] std::map<std::string, int> calls() const;
  /// Connected queue pairs that are alive, as they were told to connect.
  [[nodiscard]] std::vector<ConnectOptions> connections() const;
  /// Requests posted so far, and how many of them were signalled, inlined, and lost.
  struct Requests {
    std::int64_t posted = 0;
    std::int64_t signalled = 0;
    std::int64_t inlined = 0;
    std::int64_t lost = 0;
  };
  [[nodiscard]] Requests requests() const;
  /// Objects alive: contexts, domains, regions, channels, queues, queue pairs.
  [[nodiscard]] int alive() const;

 private:
  friend class FakeVerbs;
  struct Context;
  struct Domain;
  struct Memory;
  struct Channel;
  struct Queue;
  struct Shared;
  struct Pair;
  struct Work {
    SendRequest request;
    std::vector<std::byte> inlined;
    std::uint32_t retires = 0;  // send queue entries that its completion frees
    bool waiting = false;
    Clock::time_point since;
    std::optional<Clock::time_point> resent;  // lost: when it is sent again
  };

  int enter(const std::string& method);
  void work();
  bool run_one();
  enum class Outcome { kDone, kWait };
  Outcome run(Pair& pair, Work& work);
  Outcome deliver(Pair& pair, Pair& peer, Work& work);
  void complete(Queue& queue, const Completion& completion, std::uint32_t retires);
  void finish_send(Pair& pair, Work& work, int status, std::uint32_t bytes = 0);
  void break_pair(Pair& pair);
  void report(const std::string& device, const AsyncEvent& event);
  void add_event_locked(const std::string& device, const AsyncEvent& event);
  Pair* find_pair(std::uint32_t number);
  Memory* find_remote(const Pair& owner, std::uint32_t key, std::uint64_t address,
                      std::uint32_t length);
  bool local_ok(const Pair& pair, std::uint32_t key, const std::byte* at, std::uint32_t length);
  std::deque<ReceiveRequest>* receives_of(Pair& pair);
  [[nodiscard]] bool reachable(const Pair& from, const Pair& to);
  [[nodiscard]] std::uint16_t pkey_of(const Pair& pair) const;
  [[nodiscard]] bool is_lost(Work& work);

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  double loss_ = 0;
  bool limits_memory_ = false;
  bool events_ = true;
  Requests requests_;
  Random random_;
  std::map<std::string, FakeDevice> devices_;
  std::vector<std::string> order_;
  std::map<std::string, int> calls_;
  std::map<std::string, Milliseconds> slow_;
  std::map<std::string, std::pair<int, int>> failures_;  // method -> (calls left, errno)
  int completion_status_ = 0;
  int completion_left_ = 0;
  Milliseconds retry_time_{300};
  std::uint32_t next_number_ = 0x11;
  std::uint32_t next_key_ = 0x100;
  std::vector<std::unique_ptr<Context>> contexts_;
  std::vector<std::unique_ptr<Domain>> domains_;
  std::vector<std::unique_ptr<Memory>> memories_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<std::unique_ptr<Shared>> shared_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::thread thread_;
};

/// The calls of one process. `visible`: the devices it sees; empty: all.
std::shared_ptr<Api> make_fake_verbs(std::shared_ptr<FakeNetwork> network,
                                     std::vector<std::string> visible = {});

}  // namespace busbw::real::verbs
