// Texts of the exceptions, and the order in which problems are reported.
#include "sim/core/errors.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace busbw {
namespace {

std::string all_lines(const std::vector<InputProblem>& problems) {
  std::string lines;
  for (const InputProblem& problem : problems) {
    lines += (lines.empty() ? "" : "\n") + to_string(problem);
  }
  return lines;
}

/// One problem is one line, whatever the user's text holds.
std::string one_line(const std::string& message) {
  std::string line;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  return line;
}

std::string describe(const SystemError::Details& details) {
  std::string text = fmt::format("{} failed: {}", details.call, details.reason);
  if (!details.object.empty()) {
    text += fmt::format(" (on {})", details.object);
  }
  if (!details.peer.empty()) {
    text += fmt::format(" (peer {})", details.peer);
  }
  return text;
}

}  // namespace

std::string to_string(const InputProblem& problem) {
  std::string text;
  if (!problem.where.file.empty()) {
    text += problem.where.file + ":";
    if (problem.where.line > 0) {
      text += fmt::format("{}:", problem.where.line);
      if (problem.where.column > 0) {
        text += fmt::format("{}:", problem.where.column);
      }
    }
    text += " ";
  }
  return text + "error: " + one_line(problem.message);
}

InputError::InputError(std::vector<InputProblem> problems)
    : std::runtime_error(all_lines(problems)), problems_(std::move(problems)) {}

InputError::InputError(const std::string& message)
    : InputError(std::vector<InputProblem>{{Location{}, message}}) {}

SystemError::SystemError(Details details)
    : std::runtime_error(describe(details)), details_(std::move(details)) {}

void Problems::add(Location where, std::string message) {
  problems_.push_back({std::move(where), std::move(message)});
}

void Problems::throw_if_any() const {
  if (problems_.empty()) {
    return;
  }
  std::map<std::string, std::size_t> file_order;
  for (const InputProblem& problem : problems_) {
    file_order.try_emplace(problem.where.file, file_order.size());
  }
  std::vector<InputProblem> sorted = problems_;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const InputProblem& a, const InputProblem& b) {
    const auto key = [&](const InputProblem& p) {
      return std::make_tuple(file_order.at(p.where.file), p.where.line, p.where.column);
    };
    return key(a) < key(b);
  });
  throw InputError(std::move(sorted));
}

}  // namespace busbw
