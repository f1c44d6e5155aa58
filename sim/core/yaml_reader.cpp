// MappingReader: the typed accessors over a parsed mapping and their messages.
#include <functional>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/core/text.h"
#include "sim/core/yaml.h"

namespace busbw {
namespace {

/// A node whose problem has been reported already has no place.
bool reported(const YamlNode& node) {
  return node.where().line == 0;
}

bool digits_only(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "-12" and the like: what a whole number looks like, leading zeros or not.
bool whole_form(std::string_view text) {
  if (text.substr(0, 1) == "-") {
    text.remove_prefix(1);
  }
  return digits_only(text);
}

bool leading_zero(std::string_view text) {
  if (text.substr(0, 1) == "-") {
    text.remove_prefix(1);
  }
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

/// -12, 1.5, 2e-6: JSON's numbers, leading zeros or not.
bool number_form(std::string_view text) {
  const std::size_t exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos) {
    std::string_view digits = text.substr(exponent + 1);
    if (digits.substr(0, 1) == "+" || digits.substr(0, 1) == "-") {
      digits.remove_prefix(1);
    }
    if (!digits_only(digits)) {
      return false;
    }
    text = text.substr(0, exponent);
  }
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) {
    return whole_form(text);
  }
  return whole_form(text.substr(0, point)) && digits_only(text.substr(point + 1));
}

std::string found(const YamlNode& node) {
  if (!node.is_scalar()) {
    return node.describe();
  }
  return fmt::format("'{}'{}", node.text(), node.quoted() ? " in quotes" : "");
}

/// " from 1 to 16", " of at least 1", " of at most 16" or "".
template <class Number>
std::string range(Number min, Number max) {
  const bool bounded_below = min > std::numeric_limits<Number>::lowest();
  const bool bounded_above = max < std::numeric_limits<Number>::max();
  if (bounded_below && bounded_above) {
    return fmt::format(" from {} to {}", min, max);
  }
  if (bounded_below) {
    return fmt::format(" of at least {}", min);
  }
  return bounded_above ? fmt::format(" of at most {}", max) : "";
}

}  // namespace

MappingReader::MappingReader(YamlNode node, std::string what, Problems& problems)
    : node_(std::move(node)), what_(std::move(what)), problems_(problems) {
  if (!node_.is_mapping() && !reported(node_)) {
    problems_.add(node_.where(),
                  fmt::format("{} must be a mapping, found {}", what_, node_.describe()));
  }
}

bool MappingReader::has(std::string_view key) const {
  return node_.find(key) != nullptr;
}

Location MappingReader::where(std::string_view key) const {
  if (!node_.is_mapping()) {
    return node_.where();
  }
  for (const YamlNode::Entry& entry : node_.entries()) {
    if (entry.key == key) {
      return reported(entry.value) ? entry.key_where : entry.value.where();
    }
  }
  return node_.where();
}

const YamlNode* MappingReader::lookup(std::string_view key) {
  known_.emplace(key);
  const YamlNode* node = node_.find(key);
  return node == nullptr || reported(*node) ? nullptr : node;
}

bool MappingReader::require(std::string_view key) {
  if (has(key)) {
    return true;
  }
  known_.emplace(key);
  if (node_.is_mapping() && !reported(node_)) {
    problems_.add(node_.where(), fmt::format("missing key '{}' in {}", key, what_));
  }
  return false;
}

void MappingReader::wrong(std::string_view key, const std::string& must_be, const YamlNode& node) {
  problems_.add(node.where(),
                fmt::format("'{}' in {} must be {}, found {}", key, what_, must_be, found(node)));
}

std::optional<std::string> MappingReader::text(std::string_view key) {
  const YamlNode* node = lookup(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  if (!node->is_scalar()) {
    wrong(key, "a text", *node);
    return std::nullopt;
  }
  return node->text();
}

std::optional<std::int64_t> MappingReader::integer(std::string_view key, std::int64_t min,
                                                   std::int64_t max) {
  const YamlNode* node = lookup(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  const bool plain = node->is_scalar() && !node->quoted();
  if (plain && whole_form(node->text()) && leading_zero(node->text())) {
    problems_.add(node->where(),
                  fmt::format("'{}' in {}: leading zeros are not allowed, found '{}'", key, what_,
                              node->text()));
    return std::nullopt;
  }
  const std::optional<std::int64_t> value =
      plain && whole_form(node->text()) ? parse_integer(node->text()) : std::nullopt;
  if (!value || *value < min || *value > max) {
    const bool overflow = plain && whole_form(node->text()) && !value;
    const std::string must_be = "a whole number" + range(min, max);
    wrong(key, overflow && range(min, max).empty() ? must_be + " of 64 bits" : must_be, *node);
    return std::nullopt;
  }
  return value;
}

std::optional<double> MappingReader::number(std::string_view key, double min, double max) {
  const YamlNode* node = lookup(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  const bool plain = node->is_scalar() && !node->quoted() && number_form(node->text());
  if (plain && leading_zero(node->text())) {
    problems_.add(node->where(),
                  fmt::format("'{}' in {}: leading zeros are not allowed, found '{}'", key, what_,
                              node->text()));
    return std::nullopt;
  }
  const std::optional<double> value = plain ? parse_number(node->text()) : std::nullopt;
  if (!value || *value < min || *value > max) {
    wrong(key, "a number" + range(min, max), *node);
    return std::nullopt;
  }
  return value;
}

std::optional<bool> MappingReader::boolean(std::string_view key) {
  const YamlNode* node = lookup(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  const bool plain = node->is_scalar() && !node->quoted();
  if (!plain || (node->text() != "true" && node->text() != "false")) {
    wrong(key, "true or false", *node);
    return std::nullopt;
  }
  return node->text() == "true";
}

template <class Quantity>
std::optional<Quantity> MappingReader::quantity(
    std::string_view key, const char* noun,
    std::variant<Quantity, QuantityError> (*parse)(std::string_view)) {
  const YamlNode* node = lookup(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  if (!node->is_scalar()) {
    wrong(key, noun, *node);
    return std::nullopt;
  }
  std::variant<Quantity, QuantityError> result = parse(node->text());
  if (const auto* error = std::get_if<QuantityError>(&result)) {
    problems_.add(node->where(), fmt::format("'{}' in {}: {}", key, what_, error->message));
    return std::nullopt;
  }
  return std::get<Quantity>(result);
}

std::optional<Bytes> MappingReader::bytes(std::string_view key) {
  return quantity<Bytes>(key, "a size such as '1 GiB'", &parse_bytes);
}

std::optional<Bandwidth> MappingReader::bandwidth(std::string_view key) {
  return quantity<Bandwidth>(key, "a bandwidth such as '100 Gb/s'", &parse_bandwidth);
}

std::optional<Duration> MappingReader::duration(std::string_view key) {
  return quantity<Duration>(key, "a duration such as '1.5 us'", &parse_duration);
}

std::optional<std::string> MappingReader::choice(std::string_view key,
                                                 const std::vector<std::string>& allowed) {
  const YamlNode* node = lookup(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  if (!node->is_scalar()) {
    wrong(key, quoted_list(allowed), *node);
    return std::nullopt;
  }
  for (const std::string& word : allowed) {
    if (word == node->text()) {
      return word;
    }
  }
  problems_.add(node->where(),
                fmt::format("'{}' in {} must be {}, found '{}'{}", key, what_, quoted_list(allowed),
                            node->text(), did_you_mean(node->text(), allowed)));
  return std::nullopt;
}

std::optional<std::vector<std::string>> MappingReader::texts(std::string_view key) {
  const YamlNode* node = lookup(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  if (node->is_scalar()) {
    return std::vector<std::string>{node->text()};
  }
  if (!node->is_sequence()) {
    wrong(key, "a list of texts", *node);
    return std::nullopt;
  }
  std::vector<std::string> result;
  for (const YamlNode& element : node->elements()) {
    if (element.is_scalar()) {
      result.push_back(element.text());
    } else if (!reported(element)) {
      wrong(key, "a list of texts", element);
    }
  }
  if (result.size() < node->elements().size()) {
    return std::nullopt;
  }
  return result;
}

std::optional<YamlNode> MappingReader::node(std::string_view key) {
  const YamlNode* node = lookup(key);
  return node == nullptr ? std::nullopt : std::optional<YamlNode>(*node);
}

std::optional<YamlNode> MappingReader::mapping(std::string_view key) {
  const YamlNode* node = lookup(key);
  if (node != nullptr && !node->is_mapping()) {
    wrong(key, "a mapping", *node);
    return std::nullopt;
  }
  return node == nullptr ? std::nullopt : std::optional<YamlNode>(*node);
}

std::optional<YamlNode> MappingReader::sequence(std::string_view key) {
  const YamlNode* node = lookup(key);
  if (node != nullptr && !node->is_sequence()) {
    wrong(key, "a list", *node);
    return std::nullopt;
  }
  return node == nullptr ? std::nullopt : std::optional<YamlNode>(*node);
}

std::string MappingReader::required_text(std::string_view key) {
  return require(key) ? text(key).value_or("") : "";
}

std::int64_t MappingReader::required_integer(std::string_view key, std::int64_t min,
                                             std::int64_t max) {
  return require(key) ? integer(key, min, max).value_or(min) : min;
}

double MappingReader::required_number(std::string_view key, double min, double max) {
  return require(key) ? number(key, min, max).value_or(min) : min;
}

bool MappingReader::required_boolean(std::string_view key) {
  return require(key) && boolean(key).value_or(false);
}

Bytes MappingReader::required_bytes(std::string_view key) {
  return require(key) ? bytes(key).value_or(Bytes()) : Bytes();
}

Bandwidth MappingReader::required_bandwidth(std::string_view key) {
  return require(key) ? bandwidth(key).value_or(Bandwidth()) : Bandwidth();
}

Duration MappingReader::required_duration(std::string_view key) {
  return require(key) ? duration(key).value_or(Duration()) : Duration();
}

std::string MappingReader::required_choice(std::string_view key,
                                           const std::vector<std::string>& allowed) {
  const std::string fallback = allowed.empty() ? "" : allowed.front();
  return require(key) ? choice(key, allowed).value_or(fallback) : fallback;
}

std::vector<std::string> MappingReader::required_texts(std::string_view key) {
  return require(key) ? texts(key).value_or(std::vector<std::string>{})
                      : std::vector<std::string>{};
}

YamlNode MappingReader::required_node(std::string_view key) {
  return require(key) ? node(key).value_or(YamlNode()) : YamlNode();
}

YamlNode MappingReader::required_mapping(std::string_view key) {
  const YamlNode nothing = YamlNode::empty(YamlNode::Kind::kMapping);
  return require(key) ? mapping(key).value_or(nothing) : nothing;
}

YamlNode MappingReader::required_sequence(std::string_view key) {
  const YamlNode nothing = YamlNode::empty(YamlNode::Kind::kSequence);
  return require(key) ? sequence(key).value_or(nothing) : nothing;
}

void MappingReader::problem(std::string_view key, const std::string& message) {
  problems_.add(where(key), message);
}

void MappingReader::finish() {
  if (!node_.is_mapping()) {
    return;
  }
  const std::vector<std::string> candidates(known_.begin(), known_.end());
  for (const YamlNode::Entry& entry : node_.entries()) {
    if (known_.count(entry.key) == 0) {
      problems_.add(entry.key_where, fmt::format("unknown key '{}' in {}{}", entry.key, what_,
                                                 did_you_mean(entry.key, candidates)));
    }
  }
}

}  // namespace busbw
