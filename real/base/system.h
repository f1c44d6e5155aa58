// The operating system with its failures named: descriptors that close themselves, errno as
// SystemError.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "real/base/deadline.h"
#include "real/base/watch.h"

namespace busbw::real {

/// "Connection refused (errno 111)".
std::string errno_text(int error);

/// Throws SystemError for `call` with errno_text(error).
[[noreturn]] void fail_call(const std::string& call, int error, const std::string& object = "",
                            const std::string& peer = "");

/// "30 s", "250 ms".
std::string to_string(Milliseconds span);

/// Owns a file descriptor; -1 is none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const { return value_; }
  [[nodiscard]] bool open() const { return value_ >= 0; }
  void reset();

 private:
  int value_ = -1;
};

/// O_NONBLOCK on. Throws SystemError.
void set_nonblocking(int descriptor);

/// Which events wait_for() waits for.
enum class Ready { kRead, kWrite };

/// Waits until `descriptor` is ready. Throws what `watch` throws, and SystemError with `what` and
/// `peer` when the deadline passes first.
struct WaitText {
  std::string what;  // "accept", "connect": names the call in the failure
  std::string object;
  std::string peer;
};
void wait_for(int descriptor, Ready ready, const Deadline& deadline, Watch& watch,
              const WaitText& text);

/// Sleeps until one of `descriptors` is readable, a signal comes, or `longest` is over.
void sleep_on(const std::vector<int>& descriptors, Milliseconds longest);

/// Text that identifies the place where shared memory and loopback reach: kernel boot, network and
/// IPC name spaces, unless `override_id` (NCCL_HOSTID) is set.
std::string host_identity(const std::string& override_id);

/// The running kernel: equal for all processes of a machine, in containers too.
std::string boot_identity();

/// Numbers of the processors that this process may run on, ascending. Throws SystemError.
std::vector<std::int32_t> allowed_processors();

/// The host's name.
std::string host_name();

/// "name:pid".
std::string process_name();

}  // namespace busbw::real
