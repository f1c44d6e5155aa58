// Ranks as threads of one test: each with its session, so that what runs is what runs in processes.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/collectives/generate.h"
#include "real/executor/buffers.h"
#include "real/launch/session.h"
#include "real/movers/verbs_mover.h"
#include "tests/real/verbs/fake_verbs.h"

namespace busbw::real {

/// Thrown by a rank that shall vanish: as when its process is killed it says nothing, its sockets
/// close, and what its device was told to keep is gone.
struct Vanish {};

/// Runs `body` as every rank of `size`, each through run_rank(). Returns each rank's failure, ""
/// where it ended well, "vanished" where it threw Vanish.
std::vector<std::string> run_ranks(std::int32_t size, const std::function<void(Session&)>& body,
                                   Milliseconds patience = Milliseconds(20000));

/// A failure without what differs from run to run: "rank 1 (host:pid)", "QP 0x#".
std::string plain(const std::string& failure);

/// Buffers that count the steps of their rank and call `at_step` before step `step`, from 0.
class CountingBuffers : public HostBuffers {
 public:
  CountingBuffers(const collectives::Schedule& schedule, RankId rank, std::int64_t step,
                  std::function<void()> at_step, bool in_place = false);
  [[nodiscard]] std::span<const std::byte> view(collectives::Buffer buffer, Bytes offset,
                                                Bytes bytes) const override;
  void store(collectives::Buffer buffer, Bytes offset, const Message& message) override;
  void reduce(const collectives::Step& step, ElementType type, Reduction reduction) override;
  void accumulate(const collectives::Step& step, ElementType type, Reduction reduction) override;
  void copy(const collectives::Step& step) override;

 private:
  void count() const;

  mutable std::int64_t left_;
  std::function<void()> at_step_;
};
/// Steps of a rank in one run of a schedule.
std::int64_t steps_of(const collectives::Schedule& schedule, RankId rank);

/// What the rank program (launch/rank_program.cpp) plays round after round.
collectives::Schedule rank_program_schedule(std::int32_t ranks);

/// The ways to move messages that a test goes through.
struct Transport {
  std::string name;
  bool variation = false;  // other settings of a mover that is in the list already
  std::function<std::unique_ptr<Mover>(const Session& session)> make;
};

/// A fake network with one RoCE device per rank ("fake<rank>").
std::shared_ptr<verbs::FakeNetwork> fake_network(std::int32_t ranks, std::uint64_t seed = 1);
/// Options as the tests use them: small enough to meet every limit.
VerbsMoverOptions fake_options(VerbsMethod method);
/// A verbs mover over the fake device of the session's rank.
std::unique_ptr<Mover> fake_mover(const std::shared_ptr<verbs::FakeNetwork>& network,
                                  const Session& session, const VerbsMoverOptions& options);

/// WRITE, READ and SEND over the fake, several settings; TCP; shared memory; two of them together.
std::vector<Transport> transports(const std::shared_ptr<verbs::FakeNetwork>& network);

/// A shape with `channels` rings and trees over `ranks`, in `hosts` hosts of equal size.
collectives::Shape shape_of(std::int32_t ranks, std::int32_t channels, std::int32_t hosts);

}  // namespace busbw::real
