// The tree that facts are read from: "/" or, in tests and for a copy of another machine's files,
// another folder. Reading never fails: what is not there or not allowed is absent, and what was not
// allowed is remembered.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace busbw::real::collect {

class Root {
 public:
  /// `path` without a slash at its end; "" is the machine itself.
  explicit Root(std::string path);

  /// This machine: its kernel and libraries may be asked, too.
  [[nodiscard]] bool is_machine() const { return path_.empty(); }

  // Paths begin with '/', as on the machine: "/sys/class/net".
  /// The file's first `most` bytes.
  [[nodiscard]] std::optional<std::string> text(const std::string& path,
                                                std::size_t most = std::size_t{1} << 20U) const;
  /// A small file without blanks around; "" when it is absent.
  [[nodiscard]] std::string line(const std::string& path) const;
  /// What a folder holds, sorted; empty when it is absent.
  [[nodiscard]] std::vector<std::string> names(const std::string& folder) const;
  [[nodiscard]] bool has(const std::string& path) const;
  /// Where a path leads with all links followed, as on the machine; "" when that is nowhere or
  /// outside of the tree.
  [[nodiscard]] std::string target(const std::string& path) const;

  /// Paths that may not be read, each once.
  [[nodiscard]] const std::vector<std::string>& denied() const { return denied_; }

 private:
  void deny(const std::string& path, int error) const;

  std::string path_;
  mutable std::vector<std::string> denied_;
};

}  // namespace busbw::real::collect
