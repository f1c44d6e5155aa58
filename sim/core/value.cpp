// Access to the tree of plain data.
#include "sim/core/value.h"

#include "sim/core/check.h"

namespace busbw {

bool Value::as_bool() const {
  CHECK(is_bool());
  return std::get<bool>(data_);
}

std::int64_t Value::as_integer() const {
  CHECK(is_integer());
  return std::get<std::int64_t>(data_);
}

double Value::as_number() const {
  CHECK(is_number());
  return is_integer() ? static_cast<double>(std::get<std::int64_t>(data_))
                      : std::get<double>(data_);
}

const std::string& Value::as_string() const {
  CHECK(is_string());
  return std::get<std::string>(data_);
}

const Value::Array& Value::as_array() const {
  CHECK(is_array());
  return std::get<Array>(data_);
}

const Value::Object& Value::as_object() const {
  CHECK(is_object());
  return std::get<Object>(data_);
}

Value& Value::push(Value element) {
  CHECK(is_array());
  std::get<Array>(data_).push_back(std::move(element));
  return *this;
}

Value& Value::set(std::string_view key, Value element) {
  CHECK(is_object());
  for (Member& member : std::get<Object>(data_)) {
    if (member.first == key) {
      member.second = std::move(element);
      return *this;
    }
  }
  std::get<Object>(data_).emplace_back(std::string(key), std::move(element));
  return *this;
}

const Value* Value::find(std::string_view key) const {
  if (!is_object()) {
    return nullptr;
  }
  for (const Member& member : std::get<Object>(data_)) {
    if (member.first == key) {
      return &member.second;
    }
  }
  return nullptr;
}

}  // namespace busbw
