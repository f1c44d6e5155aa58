// See root.h.
#include "real/collect/root.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include "real/base/system.h"
#include "sim/core/text.h"

namespace busbw::real::collect {

namespace fs = std::filesystem;

Root::Root(std::string path) : path_(std::move(path)) {
  std::error_code error;
  if (!path_.empty()) {
    const fs::path whole = fs::canonical(path_, error);
    path_ = error ? path_ : whole.string();
  }
  if (path_ == "/")
    path_.clear();
}

void Root::deny(const std::string& path, int error) const {
  const bool known = std::find(denied_.begin(), denied_.end(), path) != denied_.end();
  if ((error == EACCES || error == EPERM) && !known)
    denied_.push_back(path);
}

std::optional<std::string> Root::text(const std::string& path, std::size_t most) const {
  const std::string real = target(path);
  if (real.empty())
    return std::nullopt;
  // O_NONBLOCK: a pipe or terminal in the place of a file does not stop us.
  const Descriptor file(::open((path_ + real).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.open()) {
    deny(path, errno);
    return std::nullopt;
  }
  std::string text;
  constexpr std::size_t kPiece = 65536;
  while (text.size() < most) {
    const std::size_t before = text.size();
    text.resize(std::min(most, before + kPiece));
    const ssize_t size = ::read(file.get(), text.data() + before, text.size() - before);
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(0, size)));
    if (size < 0 && errno != EINTR) {
      deny(path, errno);
      return before == 0 ? std::nullopt : std::optional(text);
    }
    if (size == 0)
      break;
  }
  return text;
}

std::string Root::line(const std::string& path) const {
  constexpr std::size_t kSmall = 4096;
  const std::optional<std::string> found = text(path, kSmall);
  return found ? std::string(trim(*found)) : "";
}

std::vector<std::string> Root::names(const std::string& folder) const {
  std::vector<std::string> found;
  const std::string real = target(folder);
  if (real.empty())
    return found;
  std::error_code error;
  fs::directory_iterator entry(path_ + real, error);
  if (error) {
    deny(folder, error.value());
    return found;
  }
  for (; entry != fs::directory_iterator(); entry.increment(error)) {
    if (error)
      break;
    found.push_back(entry->path().filename().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool Root::has(const std::string& path) const {
  return !target(path).empty();
}

std::string Root::target(const std::string& path) const {
  std::error_code error;
  const std::string real = fs::canonical(path_ + path, error).string();
  if (error) {
    deny(path, error.value());
    return "";
  }
  const bool inside = real.compare(0, path_.size(), path_) == 0 &&
                      (real.size() == path_.size() || real[path_.size()] == '/');
  return inside ? real.substr(path_.size()) : "";
}

}  // namespace busbw::real::collect
