// Typed access to the members of a JSON object: every problem names the object, the key, what is
// allowed, and the place in the file.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/value.h"

namespace busbw {

/// Reads one object. A member that is missing or null is nothing unless the name says `required`.
/// Keeps references: object and problems must outlive it.
class ObjectReader {
 public:
  /// `what` names the object in messages: "record 'x'".
  ObjectReader(const Value& object, std::string what, Problems& problems)
      : object_(object), what_(std::move(what)), problems_(problems) {}

  void problem(const Value& at, const std::string& message) { problems_.add(at.where(), message); }

  /// The member, or nullptr with a problem.
  const Value* required(const std::string& key);
  /// A text that is not empty; else nothing with a problem.
  std::optional<std::string> required_text(const std::string& key);
  /// A text, which may be empty.
  std::optional<std::string> text(const std::string& key);
  std::optional<std::int64_t> integer(const std::string& key, std::int64_t least,
                                      std::int64_t most);
  std::optional<bool> boolean(const std::string& key);
  /// A number above 0.
  std::optional<double> positive(const std::string& key, double most);
  /// A number, 0 included.
  std::optional<double> not_negative(const std::string& key, double most);
  /// The member if it is an object, or a list.
  const Value* object(const std::string& key);
  const Value* list(const std::string& key);

  /// A problem for every key that is none of `known` but looks like one of them misspelt. Files may
  /// carry more than is read here.
  void check_spelling(const std::vector<std::string>& known);

  [[nodiscard]] const Value& value() const { return object_; }
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  /// The member unless it is missing or null.
  [[nodiscard]] const Value* given(const std::string& key) const;
  void expected(const Value& value, const std::string& key, const std::string& allowed);

  const Value& object_;
  std::string what_;
  Problems& problems_;
};

}  // namespace busbw
