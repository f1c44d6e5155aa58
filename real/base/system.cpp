// See system.h. Linux.
#include "real/base/system.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::real {

std::string errno_text(int error) {
  return fmt::format("{} (errno {})", std::generic_category().message(error), error);
}

void fail_call(const std::string& call, int error, const std::string& object,
               const std::string& peer) {
  throw SystemError({call, errno_text(error), object, peer});
}

std::string to_string(Milliseconds span) {
  return span.count() % 1000 == 0 ? fmt::format("{} s", span.count() / 1000)
                                  : fmt::format("{} ms", span.count());
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    value_ = std::exchange(other.value_, -1);
  }
  return *this;
}

void Descriptor::reset() {
  if (value_ >= 0)
    ::close(std::exchange(value_, -1));
}

void set_nonblocking(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0)
    fail_call("fcntl", errno);
}

void wait_for(int descriptor, Ready ready, const Deadline& deadline, Watch& watch,
              const WaitText& text) {
  const auto wanted = static_cast<short>(ready == Ready::kRead ? POLLIN : POLLOUT);
  std::vector<int> watched;
  watch.add_descriptors(watched);
  std::vector<pollfd> polled{{descriptor, wanted, 0}};
  for (const int other : watched)
    polled.push_back({other, POLLIN, 0});
  for (;;) {
    watch.check();
    const int count =
        ::poll(polled.data(), polled.size(), static_cast<int>(deadline.left().count()));
    if (count < 0 && errno != EINTR)
      fail_call("poll", errno, text.object, text.peer);
    // A hang-up or error counts as ready: the call that follows reports it.
    if (count > 0 && polled.front().revents != 0)
      return;
    if (deadline.passed()) {
      watch.check();
      throw SystemError(
          {text.what, "nothing within " + to_string(deadline.span()), text.object, text.peer});
    }
  }
}

void sleep_on(const std::vector<int>& descriptors, Milliseconds longest) {
  std::vector<pollfd> polled;
  polled.reserve(descriptors.size());
  for (const int descriptor : descriptors)
    polled.push_back({descriptor, POLLIN, 0});
  const int count = ::poll(polled.data(), polled.size(),
                           static_cast<int>(std::max<std::int64_t>(0, longest.count())));
  if (count < 0 && errno != EINTR)
    fail_call("poll", errno);
}

std::string boot_identity() {
  return std::string(trim(read_file("/proc/sys/kernel/random/boot_id", 64)));
}

std::string host_identity(const std::string& override_id) {
  if (!override_id.empty())
    return override_id;
  std::string id = boot_identity();
  for (const char* space : {"/proc/self/ns/net", "/proc/self/ns/ipc", "/dev/shm"}) {
    struct stat about {};
    if (::stat(space, &about) != 0)
      fail_call("stat", errno, space);
    id += fmt::format("/{}:{}", about.st_dev, about.st_ino);
  }
  return id;
}

std::vector<std::int32_t> allowed_processors() {
  // A set that is too small for the machine's processors is refused with EINVAL.
  constexpr int kMostProcessors = 1 << 16;
  for (int room = CPU_SETSIZE; room <= kMostProcessors; room *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(room), [](cpu_set_t* one) { CPU_FREE(one); });
    const std::size_t size = CPU_ALLOC_SIZE(room);
    if (::sched_getaffinity(0, size, set.get()) == 0) {
      std::vector<std::int32_t> processors;
      for (int processor = 0; processor < room; ++processor) {
        if (CPU_ISSET_S(processor, size, set.get()))
          processors.push_back(processor);
      }
      return processors;
    }
    if (errno != EINVAL)
      break;
  }
  fail_call("sched_getaffinity", errno);
}

std::string host_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0)
    fail_call("gethostname", errno);
  return host.data();
}

std::string process_name() {
  return fmt::format("{}:{}", host_name(), ::getpid());
}

}  // namespace busbw::real
