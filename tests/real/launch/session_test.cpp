// The rendezvous: exchanges, who is missing, who died, strangers, and the cause that reaches all.
#include "real/launch/session.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "tests/real/ranks.h"

namespace busbw::real {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Session, EverybodyHearsEverybody) {
  for (const std::int32_t size : {1, 2, 5, 8}) {
    const std::vector<std::string> failures = run_ranks(size, [&](Session& session) {
      for (int round = 0; round < 20; ++round) {
        const auto text = [&](std::int32_t rank) {
          return std::string(static_cast<std::size_t>(rank * 1000 + round), 'x');
        };
        const std::vector<std::string> all = session.exchange(text(session.rank().value()));
        for (std::int32_t rank = 0; rank < size; ++rank) {
          if (all.at(static_cast<std::size_t>(rank)) != text(rank))
            throw std::runtime_error("another text");
        }
      }
      if (session.local_rank() != session.rank().value())
        throw std::runtime_error("threads of one process live on one host");
      if (!contains(session.group().names.back(), "rank " + std::to_string(size - 1) + " ("))
        throw std::runtime_error("name " + session.group().names.back());
    });
    for (const std::string& failure : failures)
      EXPECT_EQ(failure, "");
  }
}

TEST(Session, AFailureReachesEverybodyWithItsName) {
  const std::vector<std::string> failures = run_ranks(4, [](Session& session) {
    if (session.rank().value() == 2)
      throw SystemError({"ibv_create_cq", "no", "fake2", ""});
    session.barrier();
  });
  for (const std::string& failure : failures)
    EXPECT_EQ(plain(failure), "rank 2 (host:pid) failed: ibv_create_cq failed: no (on fake2)");
}

TEST(Session, RankZeroFailsToo) {
  const std::vector<std::string> failures = run_ranks(3, [](Session& session) {
    if (session.rank().value() == 0)
      throw std::runtime_error("rank zero's trouble");
    session.barrier();
  });
  EXPECT_EQ(failures[0], "rank zero's trouble");  // no SystemError: it comes out as it is
  EXPECT_EQ(plain(failures[1]), "rank 0 (host:pid) failed: rank zero's trouble");
  EXPECT_EQ(plain(failures[2]), "rank 0 (host:pid) failed: rank zero's trouble");
}

TEST(Session, ALostConnectionGivesWayToItsCause) {
  const std::vector<std::string> failures = run_ranks(3, [](Session& session) {
    if (session.rank().value() == 1)
      throw PeerLost({"recv", "the peer closed the connection", "link 2 -> 1", "rank 2"});
    if (session.rank().value() == 2) {
      std::this_thread::sleep_for(Milliseconds(100));
      throw std::runtime_error("the cause");
    }
    session.barrier();
  });
  EXPECT_EQ(plain(failures[1]),
            "rank 2 (host:pid) failed: the cause; rank 1 (host:pid) saw: recv failed: the peer "
            "closed the connection (on link 2 -> 1) (peer rank 2)");
  EXPECT_EQ(plain(failures[0]), "rank 2 (host:pid) failed: the cause");
}

/// Joins as `rank` of `size`; the failure's text, "" when it went well.
std::string join_text(std::int32_t rank, std::int32_t size, std::uint16_t port, int listening,
                      Milliseconds patience) {
  Place place;
  place.rank = rank;
  place.size = size;
  place.master_address = "127.0.0.1";
  place.master_port = port;
  place.listening = listening;
  NoWatch none;
  try {
    Session::join(place, patience, none)->leave();
  } catch (const SystemError& error) {
    return error.what();
  }
  return "";
}

TEST(Session, SaysWhoIsMissing) {
  const Descriptor listener = listen_on({"127.0.0.1", ""}, 0);
  const std::uint16_t port = local_port(listener.get());
  std::string one;
  std::thread thread([&] { one = join_text(1, 4, port, -1, Milliseconds(5000)); });
  const std::string text = join_text(0, 4, port, ::dup(listener.get()), Milliseconds(400));
  thread.join();
  EXPECT_EQ(text, "rendezvous failed: nothing within 400 ms (on port " + std::to_string(port) +
                      ") (peer missing: rank 2, rank 3)");
  EXPECT_TRUE(contains(one, "rank 0 failed: it ended without a word")) << one;
}

TEST(Session, RefusesRanksThatCannotBe) {
  struct Wrong {
    std::int32_t rank;
    std::int32_t size;
    std::string text;
  };
  for (const Wrong& wrong : {Wrong{1, 3, "it counts 3 ranks, rank 0 counts 2"},
                             Wrong{2, 4, "it counts 4 ranks, rank 0 counts 2"}}) {
    const Descriptor listener = listen_on({"127.0.0.1", ""}, 0);
    const std::uint16_t port = local_port(listener.get());
    std::string other;
    std::thread thread(
        [&] { other = join_text(wrong.rank, wrong.size, port, -1, Milliseconds(5000)); });
    const std::string text = join_text(0, 2, port, ::dup(listener.get()), Milliseconds(5000));
    thread.join();
    EXPECT_TRUE(contains(text, wrong.text)) << text;
    EXPECT_TRUE(contains(other, wrong.text)) << other;
  }
}

TEST(Session, TheSameRankTwice) {
  const Descriptor listener = listen_on({"127.0.0.1", ""}, 0);
  const std::uint16_t port = local_port(listener.get());
  std::string first;
  std::string second;
  std::thread one([&] { first = join_text(1, 3, port, -1, Milliseconds(5000)); });
  std::thread two([&] { second = join_text(1, 3, port, -1, Milliseconds(5000)); });
  const std::string text = join_text(0, 3, port, ::dup(listener.get()), Milliseconds(5000));
  one.join();
  two.join();
  EXPECT_TRUE(contains(text, "this rank is there already: rank 1 (")) << text;
  EXPECT_TRUE(contains(first + second, "this rank is there already")) << first << second;
}

TEST(Session, StrangersDoNotDisturb) {
  const Descriptor listener = listen_on({"127.0.0.1", ""}, 0);
  const std::uint16_t port = local_port(listener.get());
  NoWatch none;
  const Patience patience{Deadline::in(Milliseconds(5000)), none};
  const SocketAddress target = socket_address("127.0.0.1", port);
  const Descriptor talker = connect_to({"", ""}, target, patience, "");
  write_all(talker.get(), "GET / HTTP/1.1\r\n\r\n", patience, "");
  Descriptor leaver = connect_to({"", ""}, target, patience, "");
  leaver.reset();
  std::string other;
  std::thread thread([&] { other = join_text(1, 2, port, -1, Milliseconds(10000)); });
  const std::string text = join_text(0, 2, port, ::dup(listener.get()), Milliseconds(10000));
  thread.join();
  EXPECT_EQ(text, "");
  EXPECT_EQ(other, "");
}

TEST(Session, NobodyListens) {
  std::uint16_t port = 0;
  {
    const Descriptor listener = listen_on({"127.0.0.1", ""}, 0);
    port = local_port(listener.get());
  }
  const std::string text = join_text(1, 2, port, -1, Milliseconds(300));
  EXPECT_EQ(text, "connect failed: Connection refused (errno 111) (on 127.0.0.1:" +
                      std::to_string(port) + ") (peer rank 0)");
}

}  // namespace
}  // namespace busbw::real
