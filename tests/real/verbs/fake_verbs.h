// A network of RDMA devices in memory: every verbs call of real/verbs/api.h without hardware.
//
// Behaves as reliable connections do where busbw could go wrong: bytes move later than they are
// posted (by a thread), send queues fill until a signalled completion is polled, keys and ranges
// are checked, a send waits for a posted receive, a queue pair in error flushes. Any call can be
// made to fail, any completion to carry an error, a link to go down. Left out: packets, MTU, time.
#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
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
  /// The nth next work request that runs completes with `status`.
  void fail_completion(int status, int nth = 1);
  /// How long a request to a peer that does not answer is retried.
  void set_retry_time(Milliseconds time);
  void set_link(const std::string& device, bool up);
  /// From now on work requests carry remote keys that do not exist.
  void spoil_keys();
  void add_event(const std::string& device, const AsyncEvent& event);
  /// Calls of each method so far.
  [[nodiscard]] std::map<std::string, int> calls() const;
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
  void add_event_locked(const std::string& device, const AsyncEvent& event);
  Pair* find_pair(std::uint32_t number);
  Memory* find_remote(const Pair& owner, std::uint32_t key, std::uint64_t address,
                      std::uint32_t length);
  bool local_ok(const Pair& pair, std::uint32_t key, const std::byte* at, std::uint32_t length);
  std::deque<ReceiveRequest>* receives_of(Pair& pair);
  [[nodiscard]] bool reachable(const Pair& from, const Pair& to);

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  bool spoiled_ = false;
  Random random_;
  std::map<std::string, FakeDevice> devices_;
  std::vector<std::string> order_;
  std::map<std::string, int> calls_;
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
