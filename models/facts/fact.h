// What a file says, as plain data: the one form in which every parser hands on what it read, so
// that a rule can ask any of them in the same way.
//
// A fact has a name ("nccl.network", "ibstat.port"), the host that it is about where the file says
// so, fields, and the place and the text that it was read from. Repeated facts are counted, not
// kept: a log of a gigabyte holds few different ones.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/errors.h"

namespace busbw::facts {

struct Fact {
  using Field = std::pair<std::string, std::string>;

  std::string name;
  std::string host;  // empty: not said
  std::vector<Field> fields;
  Location where;          // of the first occurrence
  std::string line;        // the text there, cleaned, at most kLongestQuote bytes
  std::int64_t count = 1;  // occurrences
  int last_line = 0;       // of the last occurrence, in the same or a later file

  /// The value of a field; empty when it is absent.
  [[nodiscard]] std::string_view get(std::string_view field) const;
};

constexpr std::size_t kLongestQuote = 240;
/// Different facts of one name that are kept. Ours: beyond it more of them say nothing new.
constexpr std::size_t kMostOfOneName = 20'000;

/// The text of a line as it is quoted: printable, at most kLongestQuote bytes.
std::string quote(std::string_view line);

/// The facts of all files of a question, in the order in which they were first seen.
class FactStore {
 public:
  /// Counts a fact that is there already (equal name, host and fields).
  void add(Fact fact);
  /// The same for a fact that was read from `line`, which is quoted only when the fact is new.
  void add(Fact fact, std::string_view line);
  /// Something that could not be read: a cut line, a value that is none. The rest was read.
  void note(Location where, std::string message);

  [[nodiscard]] const std::vector<Fact>& all() const { return facts_; }
  [[nodiscard]] std::vector<const Fact*> named(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  /// Notes in the order in which they were made, at most kMostNotes of a file.
  [[nodiscard]] const std::vector<InputProblem>& notes() const { return notes_; }

 private:
  std::vector<Fact> facts_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> by_name_;
  std::map<std::string, std::size_t> by_key_;
  std::vector<InputProblem> notes_;
  std::map<std::string, int> notes_of_file_;
};

/// Notes of one file; after these one more says that there are others.
constexpr int kMostNotes = 20;

}  // namespace busbw::facts
