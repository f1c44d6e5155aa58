// See ranks.h.
#include "tests/real/ranks.h"

#include <regex>
#include <thread>

#include "real/movers/host_mover.h"
#include "real/movers/shm_mover.h"
#include "real/movers/tcp_mover.h"

namespace busbw::real {

std::vector<std::string> run_ranks(std::int32_t size, const std::function<void(Session&)>& body,
                                   Milliseconds patience) {
  Descriptor listener = listen_on({"127.0.0.1", ""}, 0);
  const std::uint16_t port = local_port(listener.get());
  std::vector<std::string> failures(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < size; ++rank) {
    Place place;
    place.rank = rank;
    place.size = size;
    place.master_address = "127.0.0.1";
    place.master_port = port;
    if (rank == 0)
      place.listening = ::dup(listener.get());
    threads.emplace_back([&failures, &body, place, patience] {
      NoWatch none;
      try {
        const std::unique_ptr<Session> session = Session::join(place, patience, none);
        run_rank(*session, [&] { body(*session); });
      } catch (const std::exception& error) {
        failures[static_cast<std::size_t>(place.rank)] = error.what();
      } catch (const Vanish&) {
        failures[static_cast<std::size_t>(place.rank)] = "vanished";
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  return failures;
}

std::string plain(const std::string& failure) {
  const std::string named =
      std::regex_replace(failure, std::regex(R"((rank \d+) \([^ ()]+:\d+\))"), "$1 (host:pid)");
  return std::regex_replace(named, std::regex("QP 0x[0-9a-f]+"), "QP 0x#");
}

CountingBuffers::CountingBuffers(const collectives::Schedule& schedule, RankId rank,
                                 std::int64_t step, std::function<void()> at_step,
                                 bool in_place)
    : HostBuffers(schedule, rank, in_place), left_(step), at_step_(std::move(at_step)) {}

void CountingBuffers::count() const {
  if (left_-- == 0)
    at_step_();
}

std::span<const std::byte> CountingBuffers::view(collectives::Buffer buffer, Bytes offset,
                                                 Bytes bytes) const {
  count();
  return HostBuffers::view(buffer, offset, bytes);
}
void CountingBuffers::store(collectives::Buffer buffer, Bytes offset, const Message& message) {
  count();
  HostBuffers::store(buffer, offset, message);
}
void CountingBuffers::reduce(const collectives::Step& step, ElementType type, Reduction reduction) {
  count();
  HostBuffers::reduce(step, type, reduction);
}
void CountingBuffers::accumulate(const collectives::Step& step, ElementType type,
                                 Reduction reduction) {
  count();
  HostBuffers::accumulate(step, type, reduction);
}
void CountingBuffers::copy(const collectives::Step& step) {
  count();
  HostBuffers::copy(step);
}

std::int64_t steps_of(const collectives::Schedule& schedule, RankId rank) {
  std::int64_t steps = 0;
  for (const collectives::Lane& lane : schedule.lanes)
    steps += lane.rank == rank ? static_cast<std::int64_t>(lane.steps.size()) : 0;
  return steps;
}

collectives::Schedule rank_program_schedule(std::int32_t ranks) {
  collectives::Options options;
  options.bytes = Bytes(40004);
  options.chunk = Bytes::kib(4);
  return ring_all_reduce(shape_of(ranks, 1, 1), options);
}

std::shared_ptr<verbs::FakeNetwork> fake_network(std::int32_t ranks, std::uint64_t seed) {
  auto network = std::make_shared<verbs::FakeNetwork>(seed);
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    network->add(verbs::roce_device(rank));
  return network;
}

VerbsMoverOptions fake_options(VerbsMethod method) {
  VerbsMoverOptions options;
  options.method = method;
  options.gid_index = 3;
  options.signal_every = 4;
  return options;
}

std::unique_ptr<Mover> fake_mover(const std::shared_ptr<verbs::FakeNetwork>& network,
                                  const Session& session, const VerbsMoverOptions& options) {
  const std::string name = "fake" + std::to_string(session.rank().value());
  return make_verbs_mover(verbs::Device::open(verbs::make_fake_verbs(network), name), options);
}

std::vector<Transport> transports(const std::shared_ptr<verbs::FakeNetwork>& network) {
  std::vector<Transport> list;
  const auto add_verbs = [&](const std::string& name, const VerbsMoverOptions& options) {
    const bool variation = options.settings.queue_pairs > 1;
    list.push_back({name, variation, [network, options](const Session& session) {
                      return fake_mover(network, session, options);
                    }});
  };
  for (const VerbsMethod method : {VerbsMethod::kWrite, VerbsMethod::kRead, VerbsMethod::kSend}) {
    VerbsMoverOptions options = fake_options(method);
    add_verbs(to_string(method), options);
    // Its own receive queues, three queue pairs in turn, every send signalled, nothing inlined.
    options.shared_receives = false;
    options.settings.queue_pairs = 3;
    options.signal_every = 1;
    options.inline_bytes = 0;
    add_verbs(to_string(method) + "OverThree", options);
    // Each message cut over two queue pairs.
    options.shared_receives = true;
    options.settings.queue_pairs = 2;
    options.settings.split_data = true;
    options.signal_every = 7;
    add_verbs(to_string(method) + "Split", options);
  }
  list.push_back({"TCP", false, [](const Session&) {
                    return make_tcp_mover({"127.0.0.1", "lo"});
                  }});
  list.push_back({"SharedMemory", false, [](const Session&) { return make_shm_mover(); }});
  // Two "hosts": even and odd ranks.
  list.push_back(
      {"SharedMemoryAndTCP", false, [](const Session& session) {
         std::vector<bool> same;
         for (std::int32_t rank = 0; rank < session.size(); ++rank)
           same.push_back((rank - session.rank().value()) % 2 == 0);
         return make_host_mover(make_shm_mover(), make_tcp_mover({"127.0.0.1", ""}), same);
       }});
  return list;
}

collectives::Shape shape_of(std::int32_t ranks, std::int32_t channels, std::int32_t hosts) {
  collectives::Shape shape;
  shape.ranks = ranks;
  for (std::int32_t channel = 0; channel < channels; ++channel) {
    collectives::RingOrder ring;
    collectives::TreeParents tree;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      // Odd channels run backwards.
      ring.emplace_back(channel % 2 == 0 ? rank : ranks - 1 - rank);
      const std::int32_t place = channel % 2 == 0 ? rank : ranks - 1 - rank;
      const std::int32_t parent = (place - 1) / 2;
      tree.push_back(place == 0 ? std::optional<RankId>()
                                : RankId(channel % 2 == 0 ? parent : ranks - 1 - parent));
    }
    shape.rings.push_back(ring);
    shape.trees.push_back(tree);
  }
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    shape.host_of.push_back(rank / (ranks / hosts));
  return shape;
}

}  // namespace busbw::real
