// Reads the topology files of ibnetdiscover and the net files of ibsim.
//
//   switchguid=0x2c9...(2c9...)            GUID of the record that follows; caguid likewise
//   Switch  65 "S-..."  # "name" enhanced port 0 lid 73 lmc 0
//   Ca      2 "H-..."   # "host mlx5_0"
//   [35](portguid)  "S-..."[32](portguid)  # "name" lid 236 4xNDR s=.. w=..
//
// What stands behind `#` counts here, as in the tool's own output: names, LIDs, widths and speeds.
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "sim/core/text.h"
#include "topologies/networks/link_lines.h"
#include "topologies/networks/subnet_draft.h"

namespace busbw::networks {
namespace {

/// One line, eaten from the left; columns count from 1.
class Line {
 public:
  Line(std::string_view text, std::string file, int number)
      : text_(text), file_(std::move(file)), number_(number) {}

  [[nodiscard]] Location where() const { return {file_, number_, static_cast<int>(at_) + 1}; }
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
  void skip_blanks() {
    while (!done() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) {
      at_++;
    }
  }
  bool take(char c) {
    if (done() || text_[at_] != c) {
      return false;
    }
    at_++;
    return true;
  }
  /// The text up to `end`, which is taken too; nothing (and nothing eaten) when it does not come.
  std::optional<std::string> until(char end) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) {
      return std::nullopt;
    }
    std::string text(text_.substr(at_, found - at_));
    at_ = found + 1;
    return text;
  }
  /// The letters up to the next blank.
  std::string word() {
    skip_blanks();
    const std::size_t start = at_;
    while (!done() && text_[at_] != ' ' && text_[at_] != '\t') {
      at_++;
    }
    return std::string(text_.substr(start, at_ - start));
  }

 private:
  std::string_view text_;
  std::string file_;
  int number_;
  std::size_t at_ = 0;
};

std::optional<std::uint64_t> parse_guid(std::string_view text) {
  if (text.rfind("0x", 0) == 0) {
    text.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end != text.data() ? std::optional(value) : std::nullopt;
}

class Reader {
 public:
  Reader(const std::string& file, const topologies::Catalog& catalog, Problems& problems)
      : file_(file), problems_(problems), draft_(file, catalog, problems) {}

  Imported read(std::string_view text) {
    int number = 0;
    for (const std::string_view line : split_lines(text)) {
      number++;
      read_line(Line(line, file_, number));
    }
    return draft_.finish();
  }

 private:
  void read_line(Line line) {
    line.skip_blanks();
    if (line.done() || line.rest().front() == '#') {
      if (line.done()) {
        current_.clear();
      }
      return;
    }
    if (line.rest().front() == '[') {
      read_port(line);
    } else if (line.rest().find('=') != std::string_view::npos &&
               line.rest().find('=') < line.rest().find('"')) {
      read_setting(line);
    } else {
      read_header(line);
    }
  }

  void read_setting(Line& line) {
    const Location where = line.where();
    const std::string key = line.until('=').value_or("");
    if (key != "switchguid" && key != "caguid" && key != "hcaguid" && key != "rtguid") {
      return;  // vendid, devid, sysimgguid, and settings of ibsim
    }
    const std::optional<std::uint64_t> guid = parse_guid(trim(line.rest()));
    if (!guid) {
      problems_.add(where, fmt::format("'{}' must be a GUID, found '{}'", key, trim(line.rest())));
      return;
    }
    guid_ = *guid;
  }

  void read_header(Line& line) {
    const Location where = line.where();
    const std::string_view whole = line.rest();
    const std::string kind = line.word();
    const bool is_switch = kind == "Switch";
    if (!is_switch && kind != "Ca" && kind != "Hca" && kind != "Rt") {
      problems_.add(where, fmt::format("unknown record '{}'; allowed: 'Switch', 'Ca', 'Hca', 'Rt', "
                                       "'[PORT] ...'{}",
                                       kind, did_you_mean(kind, {"Switch", "Ca", "Hca", "Rt"})));
      return;
    }
    const std::optional<DiscoverRecord> record = parse_discover_record(whole);
    if (!record) {
      problems_.add(where,
                    fmt::format("a record must be '{} PORTS \"ID\"' with 1 to 254 ports", kind));
      return;
    }
    const std::string id(record->id);
    DraftNode& node = draft_.node(id, is_switch, where);
    if (node.declared) {
      problems_.add(
          where, fmt::format("second record of '{}'; the first is line {}", id, node.where.line));
    }
    node.is_switch = is_switch;
    node.declared = true;
    node.where = where;
    node.ports = static_cast<std::int32_t>(record->ports);
    node.guid = guid_.value_or(guid_of(id));
    guid_.reset();
    if (node.description.empty()) {
      node.description = std::string(record->name);
    }
    node.lid = record->lid != 0 ? static_cast<std::int32_t>(record->lid) : node.lid;
    current_ = id;
  }

  /// GUID in an id such as "S-0002c903...".
  static std::uint64_t guid_of(const std::string& id) {
    const bool has = id.rfind("S-", 0) == 0 || id.rfind("H-", 0) == 0 || id.rfind("R-", 0) == 0;
    return has ? parse_guid(std::string_view(id).substr(2)).value_or(0) : 0;
  }

  void read_port(Line& line) {
    DraftLink link;
    link.where = line.where();
    const std::optional<DiscoverPort> port = parse_discover_port(line.rest());
    if (!port) {
      problems_.add(link.where, "a port must be '[PORT] \"ID\"[PORT]', ports from 1 to 254");
      return;
    }
    if (current_.empty()) {
      problems_.add(link.where, "a port outside a record of 'Switch' or 'Ca'");
      return;
    }
    link.peer = std::string(port->peer);
    link.peer_port = static_cast<std::int32_t>(port->peer_port);
    DraftNode& there = draft_.node(link.peer, port->peer.rfind("H-", 0) != 0, link.where);
    if (there.guid == 0) {
      there.guid = guid_of(link.peer);
    }
    if (there.description.empty()) {
      there.description = std::string(port->peer_name);
    }
    if (there.lid == 0) {
      there.lid = static_cast<std::int32_t>(port->peer_lid);
    }
    for (const std::string_view word : port->words) {
      draft_.set_speed(link, std::string(word));
    }
    draft_.link(current_, static_cast<std::int32_t>(port->port), std::move(link));
  }

  std::string file_;
  Problems& problems_;
  SubnetDraft draft_;
  std::string current_;  // id of the record
  std::optional<std::uint64_t> guid_;
};

}  // namespace

Imported read_ibnetdiscover(std::string_view text, const std::string& file,
                            const topologies::Catalog& catalog, Problems& problems) {
  return Reader(file, catalog, problems).read(text);
}

}  // namespace busbw::networks
