// The two kinds of failure a user can cause or meet. Only main catches them (exit codes 2 and 3).
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

namespace busbw {

/// A place in a text: line and column count from 1; 0 means unknown (the whole file).
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
  bool operator==(const Location&) const = default;
};

/// One thing wrong with the input. Message: lower case, no full stop; what was found, what is
/// allowed.
struct InputProblem {
  Location where;
  std::string message;
};

/// "file:line:col: error: message"; parts that are unknown are left out. Control characters
/// of the message are shown as \n and \x1b, so that it stays one line.
std::string to_string(const InputProblem& problem);

/// The user's file or flag is wrong. Carries every problem found; what() is one line each.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::vector<InputProblem> problems);
  /// A single problem that has no place, e.g. of a flag.
  explicit InputError(const std::string& message);
  [[nodiscard]] const std::vector<InputProblem>& problems() const { return problems_; }

 private:
  std::vector<InputProblem> problems_;
};

/// The operating system, verbs or CUDA refused. Names the call, the error text and, where they
/// exist, device, port and peer.
class SystemError : public std::runtime_error {
 public:
  struct Details {
    std::string call;    // "open", "ibv_modify_qp"
    std::string reason;  // strerror text or the library's own
    std::string object;  // file, device:port; may be empty
    std::string peer;    // may be empty
  };
  explicit SystemError(Details details);
  [[nodiscard]] const Details& details() const { return details_; }

 private:
  Details details_;
};

/// Collects the problems of one or several files so that all are reported at once.
class Problems {
 public:
  void add(Location where, std::string message);
  [[nodiscard]] bool empty() const { return problems_.empty(); }
  [[nodiscard]] const std::vector<InputProblem>& all() const { return problems_; }
  /// Throws InputError with all problems in order of file (first seen), line, column.
  void throw_if_any() const;

 private:
  std::vector<InputProblem> problems_;
};

}  // namespace busbw
