// See value_reader.h.
#include "sim/core/value_reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw {

const Value* ObjectReader::given(const std::string& key) const {
  const Value* value = object_.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

void ObjectReader::expected(const Value& value, const std::string& key,
                            const std::string& allowed) {
  problem(value, fmt::format("key '{}' in {} must be {}", key, what_, allowed));
}

const Value* ObjectReader::required(const std::string& key) {
  const Value* value = object_.find(key);
  if (value == nullptr)
    problem(object_, fmt::format("missing key '{}' in {}", key, what_));
  return value;
}

std::optional<std::string> ObjectReader::required_text(const std::string& key) {
  const Value* value = required(key);
  if (value == nullptr)
    return std::nullopt;
  if (value->is_string() && !value->as_string().empty())
    return value->as_string();
  expected(*value, key, "a text that is not empty");
  return std::nullopt;
}

std::optional<std::string> ObjectReader::text(const std::string& key) {
  const Value* value = given(key);
  if (value == nullptr)
    return std::nullopt;
  if (value->is_string())
    return value->as_string();
  expected(*value, key, "a text or null");
  return std::nullopt;
}

std::optional<std::int64_t> ObjectReader::integer(const std::string& key, std::int64_t least,
                                                  std::int64_t most) {
  const Value* value = given(key);
  if (value == nullptr)
    return std::nullopt;
  if (value->is_integer() && value->as_integer() >= least && value->as_integer() <= most)
    return value->as_integer();
  expected(*value, key, fmt::format("an integer from {} to {}", least, most));
  return std::nullopt;
}

std::optional<bool> ObjectReader::boolean(const std::string& key) {
  const Value* value = given(key);
  if (value == nullptr)
    return std::nullopt;
  if (value->is_bool())
    return value->as_bool();
  expected(*value, key, "true or false");
  return std::nullopt;
}

std::optional<double> ObjectReader::positive(const std::string& key, double most) {
  const Value* value = given(key);
  if (value == nullptr)
    return std::nullopt;
  if (value->is_number() && value->as_number() > 0 && value->as_number() <= most)
    return value->as_number();
  expected(*value, key, fmt::format("a number above 0 and up to {:.15g}, or null", most));
  return std::nullopt;
}

std::optional<double> ObjectReader::not_negative(const std::string& key, double most) {
  const Value* value = given(key);
  if (value == nullptr)
    return std::nullopt;
  if (value->is_number() && value->as_number() >= 0 && value->as_number() <= most)
    return value->as_number();
  expected(*value, key, fmt::format("a number from 0 to {:.15g}, or null", most));
  return std::nullopt;
}

const Value* ObjectReader::object(const std::string& key) {
  const Value* value = given(key);
  if (value != nullptr && !value->is_object()) {
    expected(*value, key, "an object");
    return nullptr;
  }
  return value;
}

const Value* ObjectReader::list(const std::string& key) {
  const Value* value = given(key);
  if (value != nullptr && !value->is_array()) {
    expected(*value, key, "a list");
    return nullptr;
  }
  return value;
}

void ObjectReader::check_spelling(const std::vector<std::string>& known) {
  for (const auto& [key, value] : object_.as_object()) {
    if (std::find(known.begin(), known.end(), key) != known.end())
      continue;
    const std::string advice = did_you_mean(key, known);
    if (!advice.empty())
      problem(value, fmt::format("unknown key '{}' in {}{}", key, what_, advice));
  }
}

}  // namespace busbw
