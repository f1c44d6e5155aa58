// A tree of plain data: what a report holds before it is printed as JSON, and what a JSON file is
// read into.
//
// It keeps the JSON library out of every folder but tools/json. Objects keep the order in which
// keys were added. A value read from a file knows its place, so that errors can name it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/core/errors.h"

namespace busbw {

class Value {
 public:
  using Array = std::vector<Value>;
  using Member = std::pair<std::string, Value>;
  using Object = std::vector<Member>;

  Value() = default;                                     // null
  Value(std::nullptr_t) {}                               // NOLINT(google-explicit-constructor)
  Value(bool v) : data_(v) {}                            // NOLINT(google-explicit-constructor)
  Value(int v) : data_(static_cast<std::int64_t>(v)) {}  // NOLINT(google-explicit-constructor)
  Value(std::int64_t v) : data_(v) {}                    // NOLINT(google-explicit-constructor)
  Value(double v) : data_(v) {}                          // NOLINT(google-explicit-constructor)
  Value(const char* v) : data_(std::string(v)) {}        // NOLINT(google-explicit-constructor)
  Value(std::string v) : data_(std::move(v)) {}          // NOLINT(google-explicit-constructor)
  Value(std::string_view v) : data_(std::string(v)) {}   // NOLINT(google-explicit-constructor)
  Value(Array v) : data_(std::move(v)) {}                // NOLINT(google-explicit-constructor)
  Value(Object v) : data_(std::move(v)) {}               // NOLINT(google-explicit-constructor)
  Value(const void*) = delete;                           // else any pointer would become a bool
  static Value array() { return Value(Array{}); }
  static Value object() { return Value(Object{}); }

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  [[nodiscard]] bool is_bool() const { return std::holds_alternative<bool>(data_); }
  [[nodiscard]] bool is_integer() const { return std::holds_alternative<std::int64_t>(data_); }
  [[nodiscard]] bool is_number() const {
    return is_integer() || std::holds_alternative<double>(data_);
  }
  [[nodiscard]] bool is_string() const { return std::holds_alternative<std::string>(data_); }
  [[nodiscard]] bool is_array() const { return std::holds_alternative<Array>(data_); }
  [[nodiscard]] bool is_object() const { return std::holds_alternative<Object>(data_); }

  // Each accessor CHECKs the kind; test with is_*() first when the value comes from a user.
  [[nodiscard]] bool as_bool() const;
  [[nodiscard]] std::int64_t as_integer() const;
  [[nodiscard]] double as_number() const;  // integers too
  [[nodiscard]] const std::string& as_string() const;
  [[nodiscard]] const Array& as_array() const;
  [[nodiscard]] const Object& as_object() const;

  /// Appends to an array.
  Value& push(Value element);
  /// Sets or replaces a member of an object; returns *this for chaining.
  Value& set(std::string_view key, Value element);
  /// Member of an object, or nullptr. Also nullptr when this is no object.
  [[nodiscard]] const Value* find(std::string_view key) const;

  /// Where it was read; empty file when it was built by the program.
  [[nodiscard]] const Location& where() const { return where_; }
  void set_where(Location where) { where_ = std::move(where); }

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> data_;
  Location where_;
};

}  // namespace busbw
