// See name_filter.h. The parser follows NCCL's own character loop, so that odd texts ("a::b", ",,",
// "=^x", ":1") give the same items.
#include "models/nccl/name_filter.h"

#include <algorithm>
#include <cstdlib>

#include "sim/core/text.h"

namespace busbw::nccl {
namespace {

/// C's atoi on the text after a colon, saturated to int.
int leading_number(std::string_view text) {
  const long value = std::strtol(std::string(text).c_str(), nullptr, 10);
  constexpr long kLimit = 2147483647L;
  return static_cast<int>(value > kLimit ? kLimit : (value < -kLimit ? -kLimit : value));
}

}  // namespace

NameFilter::NameFilter(std::string_view text, std::size_t max_items) {
  if (!text.empty() && text.front() == '^')
    exclude_ = true, text.remove_prefix(1);
  if (!text.empty() && text.front() == '=')
    exact_ = true, text.remove_prefix(1);
  // The parser itself skips one more mark: "=^x" is an exact match of "x".
  if (!text.empty() && (text.front() == '^' || text.front() == '='))
    text.remove_prefix(1);
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, end - at);
    at = end + 1;
    // Leading colons without a name swallow the rest of the item.
    const std::size_t colon = part.find(':');
    const std::string_view name = part.substr(0, colon);
    if (name.empty())
      continue;
    if (items_.size() == max_items) {
      truncated_ = true;
      break;
    }
    Item item{std::string(name), -1};
    if (colon != std::string_view::npos) {
      const std::string_view digits = part.substr(colon + 1);
      item.port = digits.empty() ? -1 : leading_number(digits);
    }
    items_.push_back(std::move(item));
  }
}

bool NameFilter::listed(std::string_view name, int port) const {
  if (items_.empty())
    return true;
  for (const Item& item : items_) {
    const bool same = exact_ ? name == item.name : name.substr(0, item.name.size()) == item.name;
    if (same && (port == -1 || item.port == -1 || port == item.port))
      return true;
  }
  return false;
}

bool NameFilter::admits(std::string_view name, int port) const {
  return listed(name, port) != exclude_;
}

std::string NameFilter::describe() const {
  if (items_.empty())
    return exclude_ ? "no name at all" : "every name";
  std::vector<std::string> names;
  names.reserve(items_.size());
  for (const Item& item : items_) {
    names.push_back(item.port == -1 ? "'" + item.name + "'"
                                    : "'" + item.name + "' port " + std::to_string(item.port));
  }
  std::string text = exclude_ ? "every name but " : "only ";
  text += exact_ ? "exactly " : "those that start with ";
  return text + join(names, " or ");
}

}  // namespace busbw::nccl
