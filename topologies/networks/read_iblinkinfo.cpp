// Reads the output of iblinkinfo: a block a node, a line a port.
//
//   CA: node3 HCA-1:
//         0x5ad82...   6    1[  ] ==( 4X   25.78125 Gbps Active/  LinkUp)==>   3    3[  ] "name" (
//         )
//   Switch: 0x05af... MF0;ibsw1:MQM8700/U1:
//              3    1[  ] ==( 4X   25.78125 Gbps Active/  LinkUp)==>   1    1[  ] "node0 HCA-1" ( )
//
// Nodes are told apart by LID. The rate is signalling of one lane. A port that is down has no peer.
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "sim/core/text.h"
#include "topologies/networks/fabric_spec.h"
#include "topologies/networks/link_lines.h"
#include "topologies/networks/subnet_draft.h"

namespace busbw::networks {
namespace {

/// "3    1[  ]": LID and port.
std::optional<std::pair<std::int32_t, std::int32_t>> parse_place(std::string_view text) {
  const std::size_t bracket = text.find('[');
  const std::vector<std::string_view> words = split_blanks(text.substr(0, bracket));
  if (bracket == std::string_view::npos || words.size() != 2) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> lid = parse_integer(words[0]);
  const std::optional<std::int64_t> port = parse_integer(words[1]);
  if (!lid || !port || *lid < 1 || *lid > kTopLid || *port < 1 || *port > 254) {
    return std::nullopt;
  }
  return std::pair(static_cast<std::int32_t>(*lid), static_cast<std::int32_t>(*port));
}

std::string id_of(std::int32_t lid) {
  return fmt::format("LID {}", lid);
}

class Reader {
 public:
  Reader(const std::string& file, const topologies::Catalog& catalog, Problems& problems)
      : file_(file), problems_(problems), draft_(file, catalog, problems) {}

  Imported read(std::string_view text) {
    int number = 0;
    for (const std::string_view line : split_lines(text)) {
      number++;
      const Location where{file_, number, static_cast<int>(line.find_first_not_of(" \t") + 1)};
      if (trim(line).empty()) {
        continue;
      }
      if (const std::optional<LinkInfoRecord> record = parse_link_info_record(line)) {
        read_header(*record);
      } else {
        read_port(line, where);
      }
    }
    return draft_.finish();
  }

 private:
  void read_header(const LinkInfoRecord& record) {
    is_switch_ = record.is_switch;
    guid_ = 0;
    parse_hex(record.guid, guid_);
    name_ = std::string(record.name);
    in_record_ = true;
  }

  static void parse_hex(std::string_view text, std::uint64_t& value) {
    if (text.rfind("0x", 0) == 0) {
      std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    }
  }

  void read_port(std::string_view line, const Location& where) {
    const std::optional<LinkInfoPort> port = parse_link_info_port(line);
    if (!port) {
      problems_.add(where,
                    "no line of iblinkinfo; allowed: 'CA: NAME:', 'Switch: GUID NAME:', "
                    "'LID PORT[ ] ==( WIDTH SPEED STATE)==> LID PORT[ ] \"NAME\"'");
      return;
    }
    if (!in_record_) {
      problems_.add(where, "a port outside a record of 'CA:' or 'Switch:'");
      return;
    }
    std::uint64_t guid = guid_;
    parse_hex(port->guid, guid);
    const auto here = parse_place(port->here);
    if (!here) {
      problems_.add(where, fmt::format("'{}' must be 'LID PORT[ ]'", port->here));
      return;
    }
    declare(here->first, guid, where);
    read_link(*port, *here, where);
  }

  void declare(std::int32_t lid, std::uint64_t guid, const Location& where) {
    DraftNode& node = draft_.node(id_of(lid), is_switch_, where);
    node.is_switch = is_switch_;
    node.declared = true;
    node.description = name_;
    node.lid = lid;
    node.guid = guid;
  }

  void read_link(const LinkInfoPort& port, std::pair<std::int32_t, std::int32_t> here,
                 const Location& where) {
    const std::vector<std::string_view> words = split_blanks(port.state);
    if (port.state.find("Down") != std::string_view::npos) {
      return;  // nothing is known of the other end
    }
    DraftLink link;
    link.where = where;
    const std::optional<std::int32_t> lanes =
        words.empty() ? std::nullopt : parse_width(std::string(words[0]));
    const std::optional<double> rate = words.size() < 2 ? std::nullopt : parse_number(words[1]);
    if (!lanes || !rate || !draft_.set_signalling(link, *lanes, *rate)) {
      problems_.add(where, fmt::format("'{}' must be a width and a rate such as '4X 25.78125 Gbps'",
                                       port.state));
      return;
    }
    const auto there = parse_place(port.there);
    if (!there) {
      problems_.add(where, fmt::format("'{}' must be 'LID PORT[ ] \"NAME\"'", port.there));
      return;
    }
    link.peer = id_of(there->first);
    link.peer_port = there->second;
    // A CA hangs on a switch; what a switch leads to is a switch unless it has a record as a CA.
    DraftNode& other = draft_.node(link.peer, !is_switch_, where);
    other.lid = there->first;
    if (other.description.empty()) {
      other.description = std::string(port.peer_name);
    }
    other.is_switch = other.is_switch || other.description.find(';') != std::string::npos;
    draft_.link(id_of(here.first), here.second, std::move(link));
  }

  std::string file_;
  Problems& problems_;
  SubnetDraft draft_;
  bool in_record_ = false;
  bool is_switch_ = false;
  std::string name_;
  std::uint64_t guid_ = 0;
};

}  // namespace

Imported read_iblinkinfo(std::string_view text, const std::string& file,
                         const topologies::Catalog& catalog, Problems& problems) {
  return Reader(file, catalog, problems).read(text);
}

}  // namespace busbw::networks
