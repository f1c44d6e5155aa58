// See link_lines.h.
#include "topologies/networks/link_lines.h"

#include <algorithm>

#include "sim/core/text.h"

namespace busbw::networks {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

/// A text eaten from the left.
class Eater {
 public:
  explicit Eater(std::string_view text) : text_(text) {}

  [[nodiscard]] bool done() const { return text_.empty(); }
  void skip_blanks() {
    const std::size_t first = text_.find_first_not_of(" \t\r");
    text_.remove_prefix(first == kNone ? text_.size() : first);
  }
  bool take(char c) {
    if (text_.empty() || text_.front() != c) {
      return false;
    }
    text_.remove_prefix(1);
    return true;
  }
  /// The text up to `end`, which is taken too; nothing (and nothing eaten) when it does not come.
  std::optional<std::string_view> until(char end) {
    const std::size_t found = text_.find(end);
    if (found == kNone) {
      return std::nullopt;
    }
    const std::string_view before = text_.substr(0, found);
    text_.remove_prefix(found + 1);
    return before;
  }
  /// The letters up to the next blank.
  std::string_view word() {
    skip_blanks();
    const std::string_view result = text_.substr(0, text_.find_first_of(" \t\r"));
    text_.remove_prefix(result.size());
    return result;
  }
  /// "..." here; nothing when there is none, or no end of it.
  std::optional<std::string_view> quoted() {
    skip_blanks();
    return take('"') ? until('"') : std::nullopt;
  }

 private:
  std::string_view text_;
};

bool is_port(std::int64_t number) {
  return number >= 1 && number <= 254;
}

}  // namespace

std::optional<LinkInfoRecord> parse_link_info_record(std::string_view line) {
  const bool is_switch = line.rfind("Switch:", 0) == 0;
  if (!is_switch && line.rfind("CA:", 0) != 0) {
    return std::nullopt;
  }
  LinkInfoRecord record;
  record.is_switch = is_switch;
  record.name = trim(line.substr(line.find(':') + 1));
  if (is_switch) {
    const std::size_t blank = record.name.find(' ');
    record.guid = record.name.substr(0, blank);
    record.name = blank == kNone ? std::string_view() : trim(record.name.substr(blank));
  }
  if (!record.name.empty() && record.name.back() == ':') {
    record.name.remove_suffix(1);
  }
  return record;
}

std::optional<LinkInfoPort> parse_link_info_port(std::string_view line) {
  const std::size_t open = line.find("==(");
  const std::size_t close = open == kNone ? kNone : line.find(")==>", open);
  if (close == kNone) {
    return std::nullopt;
  }
  LinkInfoPort port;
  port.here = trim(line.substr(0, open));
  if (port.here.rfind("0x", 0) == 0) {  // the port's GUID comes first on CAs
    port.guid = port.here.substr(0, port.here.find(' '));
    port.here = trim(port.here.substr(port.guid.size()));
  }
  port.state = trim(line.substr(open + 3, close - open - 3));
  port.there = trim(line.substr(close + 4));
  const std::size_t quote = port.there.find('"');
  const std::size_t end = port.there.rfind('"');
  if (quote != kNone && end > quote) {
    port.peer_name = port.there.substr(quote + 1, end - quote - 1);
  }
  const std::size_t bracket = port.there.rfind('(');
  if (bracket != kNone && port.there.back() == ')') {
    port.remark = trim(port.there.substr(bracket + 1, port.there.size() - bracket - 2));
  }
  return port;
}

std::optional<DiscoverRecord> parse_discover_record(std::string_view line) {
  Eater eater(line);
  DiscoverRecord record;
  record.kind = eater.word();
  if (record.kind != "Switch" && record.kind != "Ca" && record.kind != "Hca" &&
      record.kind != "Rt") {
    return std::nullopt;
  }
  record.ports = parse_integer(eater.word()).value_or(0);
  record.id = eater.quoted().value_or("");
  if (!is_port(record.ports) || record.id.empty()) {
    return std::nullopt;
  }
  if (!eater.until('#')) {
    return record;
  }
  record.name = eater.quoted().value_or("");
  while (!eater.done()) {
    if (eater.word() == "lid") {
      record.lid = parse_integer(eater.word()).value_or(0);
    }
  }
  return record;
}

std::optional<DiscoverPort> parse_discover_port(std::string_view line) {
  Eater eater(line);
  eater.skip_blanks();
  if (!eater.take('[')) {
    return std::nullopt;
  }
  DiscoverPort port;
  port.port = parse_integer(eater.until(']').value_or("")).value_or(0);
  if (eater.take('(')) {
    eater.until(')');
  }
  port.peer = eater.quoted().value_or("");
  if (!port.peer.empty() && eater.take('[')) {
    port.peer_port = parse_integer(eater.until(']').value_or("")).value_or(0);
  }
  if (!is_port(port.port) || port.peer.empty() || !is_port(port.peer_port)) {
    return std::nullopt;
  }
  if (!eater.until('#')) {
    return port;
  }
  for (eater.skip_blanks(); !eater.done(); eater.skip_blanks()) {
    if (const std::optional<std::string_view> name = eater.quoted()) {
      port.peer_name = port.peer_name.empty() ? *name : port.peer_name;
      continue;
    }
    const std::string_view word = eater.word();
    if (word == "lid") {
      const std::int64_t lid = parse_integer(eater.word()).value_or(0);
      // A CA's line has its own LID first, the peer's behind the peer's name.
      port.peer_lid = port.peer_lid == 0 && !port.peer_name.empty() ? lid : port.peer_lid;
    } else if (!word.empty()) {
      port.words.push_back(word);
    }
  }
  return port;
}

}  // namespace busbw::networks
