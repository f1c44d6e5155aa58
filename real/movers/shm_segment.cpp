// See shm_segment.h.
#include "real/movers/shm_segment.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "real/base/socket.h"
#include "real/base/system.h"
#include "sim/core/errors.h"

namespace busbw::real {
namespace {

std::byte* map(int descriptor, std::size_t bytes, const std::string& name) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED)  // NOLINT(cppcoreguidelines-pro-type-cstyle-cast): the system's macro
    fail_call("mmap", errno, name);
  return static_cast<std::byte*>(memory);
}

}  // namespace

SharedSegment SharedSegment::create(std::size_t bytes) {
  SharedSegment segment;
  segment.name_ = fmt::format("/busbw-{}-{:016x}", ::getpid(), random_token());
  const Descriptor file(
      ::shm_open(segment.name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.open())
    fail_call("shm_open", errno, segment.name_);
  segment.named_ = true;
  // Without this a full /dev/shm would end the process by SIGBUS at the first touch.
  if (const int error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)); error != 0) {
    throw SystemError(
        {"posix_fallocate",
         errno_text(error) + (error == ENOSPC ? ": /dev/shm is too small (containers: "
                                                "--shm-size, --ipc=host)"
                                              : ""),
         fmt::format("{} of {} bytes", segment.name_, bytes), ""});
  }
  segment.memory_ = map(file.get(), bytes, segment.name_);
  segment.bytes_ = bytes;
  return segment;
}

SharedSegment SharedSegment::open(const std::string& name, std::size_t bytes,
                                  const std::string& peer) {
  SharedSegment segment;
  segment.name_ = name;
  const Descriptor file(::shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0));
  if (!file.open())
    fail_call("shm_open", errno, name, peer);
  segment.memory_ = map(file.get(), bytes, name);
  segment.bytes_ = bytes;
  return segment;
}

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : name_(std::move(other.name_)),
      memory_(std::exchange(other.memory_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      named_(std::exchange(other.named_, false)) {}

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  std::swap(named_, other.named_);
  return *this;
}

SharedSegment::~SharedSegment() {
  unlink();
  if (memory_ != nullptr)
    ::munmap(memory_, bytes_);
}

void SharedSegment::unlink() {
  if (std::exchange(named_, false))
    ::shm_unlink(name_.c_str());
}

}  // namespace busbw::real
