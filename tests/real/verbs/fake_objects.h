// The objects behind the handles of FakeNetwork. Internal to the fake.
#pragma once
#include <sys/eventfd.h>
#include <unistd.h>

#include "real/base/system.h"
#include "tests/real/verbs/fake_verbs.h"

namespace busbw::real::verbs {

/// An eventfd: readable once set.
class FakeEvent {
 public:
  FakeEvent() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  void set() const {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(descriptor_.get(), &one, sizeof one));
  }
  void clear() const {
    std::uint64_t value = 0;
    static_cast<void>(!::read(descriptor_.get(), &value, sizeof value));
  }

 private:
  Descriptor descriptor_;
};

struct FakeNetwork::Context {
  std::string device;
  FakeEvent event;
  std::deque<AsyncEvent> events;
};
struct FakeNetwork::Domain {
  Context* context = nullptr;
};
struct FakeNetwork::Memory {
  Domain* domain = nullptr;
  std::byte* start = nullptr;
  std::size_t length = 0;
  std::uint32_t key = 0;
};
struct FakeNetwork::Channel {
  FakeEvent event;
};
struct FakeNetwork::Queue {
  Context* context = nullptr;
  Channel* channel = nullptr;
  std::size_t depth = 0;
  bool armed = false;
  bool overflowed = false;
  struct Entry {
    Completion completion;
    std::uint32_t retires = 0;
  };
  std::deque<Entry> entries;
};
struct FakeNetwork::Shared {
  Domain* domain = nullptr;
  std::size_t depth = 0;
  std::deque<ReceiveRequest> receives;
};
enum class FakeState { kReset, kInit, kReceive, kSend, kError };
struct FakeNetwork::Pair {
  Domain* domain = nullptr;
  QueuePairOptions options;
  Queue* queue = nullptr;
  Shared* shared = nullptr;
  std::uint32_t number = 0;
  FakeState state = FakeState::kReset;
  int pkey_index = 0;  // fixed in INIT
  ConnectOptions connected;
  std::deque<Work> sends;
  std::deque<ReceiveRequest> receives;
  std::uint32_t used = 0;         // send queue entries not yet retired by a polled completion
  std::uint32_t unsignalled = 0;  // since the last signalled one
};

}  // namespace busbw::real::verbs
