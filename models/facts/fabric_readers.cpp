// The fabric around the HCAs: iblinkinfo, ibnetdiscover, /dev/infiniband, port counters, quality of
// service, and tables with one HCA a row that sites print themselves.
//
// Facts (fields):
//   fabric.link {width, lane_gbps, state, physical, name, remark}
//   fabric.cable {at, hca, switch}           which switch an HCA of the host `at` hangs on
//   dev.uverbs {name}, dev.no_infiniband
//   hca.row {hca, state, width, width_max}   a row of a site's own table; state as in rdma.port
//   counter {name, value}                    port and NIC counters that are not zero
//   qos.trust {mode}, qos.dscp {priority, dscp}, qos.pfc {enabled}   enabled "0,0,0,1,0,0,0,0"
//   qos.traffic_class {value}
#include <algorithm>
#include <optional>

#include "models/facts/line_reader.h"
#include "sim/core/text.h"
#include "topologies/networks/link_lines.h"

namespace busbw::facts {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

/// "node3 mlx5_0" -> host and HCA; nothing for a node that is no host, such as a switch's own.
bool host_and_hca(std::string_view name, std::string& host, std::string& hca) {
  const std::size_t blank = name.find(' ');
  if (blank == kNone || name.find("Aggregation Node") != kNone || name.find(';') != kNone) {
    return false;
  }
  host = std::string(name.substr(0, blank));
  hca = std::string(trim(name.substr(blank)));
  return true;
}

void put_cable(FactStore& facts, const SourceLine& line, std::string_view node,
               std::string_view switch_name) {
  std::string host;
  std::string hca;
  if (!switch_name.empty() && host_and_hca(node, host, hca)) {
    put(facts, line, "fabric.cable",
        {{"at", host}, {"hca", hca}, {"switch", std::string(switch_name)}});
  }
}

/// iblinkinfo: "... 1[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==> 3 1[ ] "switch" ( remark )".
class LinkInfoReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "iblinkinfo"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    if (const auto record = networks::parse_link_info_record(line.bare)) {
      name_ = std::string(record->name);
      is_switch_ = record->is_switch;
      return true;
    }
    const std::optional<networks::LinkInfoPort> port = networks::parse_link_info_port(line.text);
    if (!port) {
      if (line.text.find("==(") == kNone) {
        return false;
      }
      facts.note({line.file, line.number, 1}, "link without its other end: the line is cut");
      return true;
    }
    const std::vector<std::string_view> words = split_blanks(port->state);
    const std::size_t slash = port->state.find('/');
    std::string state;
    std::string physical;
    if (slash != kNone) {
      const std::vector<std::string_view> before = split_blanks(port->state.substr(0, slash));
      state = before.empty() ? "" : lower(before.back());
      physical = lower(trim(port->state.substr(slash + 1)));
    }
    put(facts, line, "fabric.link",
        {{"width", words.empty() ? "" : std::string(words[0])},
         {"lane_gbps", words.size() > 1 ? std::string(words[1]) : ""},
         {"state", state},
         {"physical", physical},
         {"name", std::string(port->peer_name)},
         {"remark", std::string(port->remark)}});
    put_cable(facts, line, is_switch_ ? port->peer_name : name_,
              is_switch_ ? name_ : port->peer_name);
    return true;
  }

 private:
  std::string name_;  // of the record
  bool is_switch_ = false;
};

/// ibnetdiscover: what hangs on which switch.
class DiscoverReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "ibnetdiscover"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    if (const auto record = networks::parse_discover_record(line.bare)) {
      name_ = std::string(record->name.empty() ? record->id : record->name);
      is_switch_ = record->kind == "Switch";
      open_ = true;
      return true;
    }
    static constexpr std::string_view kSettings[] = {"vendid=0x",     "devid=0x",  "sysimgguid=0x",
                                                     "switchguid=0x", "caguid=0x", "hcaguid=0x",
                                                     "rtguid=0x"};
    for (const std::string_view setting : kSettings) {
      if (line.bare.substr(0, setting.size()) == setting) {
        return true;
      }
    }
    if (!open_ || line.bare.empty() || line.bare.front() != '[') {
      return false;
    }
    const std::optional<networks::DiscoverPort> port = networks::parse_discover_port(line.bare);
    if (!port) {
      facts.note({line.file, line.number, 1}, "port without its peer: the line is cut");
      return true;
    }
    const std::string_view peer = port->peer_name.empty() ? port->peer : port->peer_name;
    const bool to_switch = port->peer.substr(0, 2) == "S-";
    if (is_switch_ != to_switch) {
      put_cable(facts, line, is_switch_ ? peer : name_, is_switch_ ? name_ : peer);
    }
    return true;
  }

 private:
  std::string name_;
  bool is_switch_ = false;
  bool open_ = false;
};

/// A listing of /dev/infiniband, short or long.
class DeviceFileReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "list of /dev/infiniband"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    if (line.bare.find("/dev/infiniband") != kNone && line.bare.find("No such file") != kNone) {
      put(facts, line, "dev.no_infiniband", {});
      return true;
    }
    const std::vector<std::string_view>& words = line.words;
    if (words.empty() || words.size() > 64) {
      return false;
    }
    const bool is_long = words[0].size() == 10 && words[0][0] == 'c';
    std::vector<std::string> uverbs;
    for (std::size_t i = is_long ? words.size() - 1 : 0; i < words.size(); i++) {
      const std::string_view name = words[i].substr(words[i].rfind('/') + 1);
      const std::size_t digits = name.find_first_of("0123456789");
      const std::string_view stem = name.substr(0, digits);
      if (name == "rdma_cm") {
        continue;
      }
      if ((stem != "uverbs" && stem != "umad" && stem != "issm") || digits == kNone) {
        return false;
      }
      if (stem == "uverbs") {
        uverbs.emplace_back(name);
      }
    }
    for (const std::string& name : uverbs) {
      put(facts, line, "dev.uverbs", {{"name", name}});
    }
    return true;
  }
};

/// " 000a:11:00.0 | mlx5_0 | ib0 | 2 | down | down | IB | 10* | x16 G3 | x8 >!< | MT4119".
class HcaTableReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "table of HCAs"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    if (line.bare.find('|') == kNone) {
      return false;
    }
    const std::vector<std::string_view> cells = split(line.bare, '|');
    if (cells.size() < 4) {
      return false;
    }
    std::string hca;
    std::string state;
    std::vector<std::string> widths;
    for (const std::string_view cell : cells) {
      const std::vector<std::string_view> words = split_blanks(cell);
      if (words.empty()) {
        continue;
      }
      const std::string word = lower(words[0]);
      if (hca.empty() && (word.rfind("mlx", 0) == 0 || word.rfind("rocep", 0) == 0 ||
                          word.rfind("ibp", 0) == 0 || word.rfind("bnxt_re", 0) == 0)) {
        hca = word;
      } else if (state.empty() && (word == "down" || word == "init" || word == "initializing" ||
                                   word == "armed" || word == "active" || word == "polling")) {
        state = word == "initializing" ? "init" : word == "polling" ? "down" : word;
      } else if (word.size() > 1 && word[0] == 'x' && parse_integer(word.substr(1))) {
        widths.push_back(word.substr(1));
      }
    }
    if (hca.empty() || state.empty()) {
      return false;
    }
    put(facts, line, "hca.row",
        {{"hca", hca},
         {"state", state},
         {"width_max", widths.empty() ? "" : widths[0]},
         {"width", widths.size() < 2 ? "" : widths[1]}});
    return true;
  }
};

/// Counters of perfquery, ethtool -S and /sys/.../hw_counters: "name: 12", "Name:.......12".
class CounterReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "counters"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    static constexpr std::string_view kNames[] = {
        "symbolerrorcounter",  "linkdownedcounter", "linkerrorrecoverycounter",
        "portrcverrors",       "portxmitwait",      "portxmitdiscards",
        "symbol_error",        "link_downed",       "link_error_recovery",
        "port_rcv_errors",     "port_xmit_wait",    "port_xmit_discards",
        "out_of_sequence",     "packet_seq_err",    "local_ack_timeout_err",
        "rnr_nak_retry_err",   "np_cnp_sent",       "np_ecn_marked_roce_packets",
        "rp_cnp_handled",      "rx_discards_phy",   "tx_discards_phy",
        "rx_out_of_buffer",    "roce_adp_retrans",  "rx_crc_errors_phy",
        "link_down_events_phy"};
    std::string_view key;
    std::string_view value;
    if (!key_and_value(line.bare, key, value)) {
      return false;
    }
    if (value.empty() ||
        (value[0] != '.' && (value[0] < '0' || value[0] > '9') && key.find('_') == kNone)) {
      return false;
    }
    std::string name = lower(key.substr(key.rfind('/') == kNone ? 0 : key.rfind('/') + 1));
    while (!value.empty() && value.front() == '.') {
      value.remove_prefix(1);
    }
    const bool pause = name.rfind("rx_prio", 0) == 0 || name.rfind("tx_prio", 0) == 0;
    if (!pause && std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames)) {
      return false;
    }
    const std::optional<std::int64_t> number = parse_integer(value);
    if (!number) {
      facts.note({line.file, line.number, 1},
                 "counter " + name + ": '" + quote(value) + "' is no number");
    } else if (*number != 0) {
      put(facts, line, "counter", {{"name", name}, {"value", std::string(value)}});
    }
    return true;
  }
};

/// mlnx_qos, and the traffic class that the driver forces.
class QosReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "mlnx_qos"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::vector<std::string_view>& words = line.words;
    std::string_view key;
    std::string_view value;
    const bool pair = key_and_value(line.bare, key, value);
    if (pair && lower(key) == "priority trust state") {
      put(facts, line, "qos.trust", {{"mode", lower(value)}});
      return true;
    }
    if (pair && (lower(key) == "global tclass" || lower(key) == "traffic_class")) {
      put(facts, line, "qos.traffic_class", {{"value", std::string(value)}});
      return true;
    }
    if (words.size() >= 2 && words[0].substr(0, 5) == "prio:" && words[1].substr(0, 5) == "dscp:") {
      put(facts, line, "qos.dscp",
          {{"priority", std::string(words[0].substr(5))},
           {"dscp", std::string(words[1].substr(5))}});
      return true;
    }
    if (words.size() == 9 && words[0] == "enabled") {
      std::vector<std::string> enabled(words.begin() + 1, words.end());
      put(facts, line, "qos.pfc", {{"enabled", join(enabled, ",")}});
      return true;
    }
    return line.bare == "PFC configuration:" || line.bare == "dscp2prio mapping:" ||
           (words.size() == 9 && words[0] == "priority");
  }
};

}  // namespace

void add_fabric_readers(LineReaders& readers) {
  readers.push_back(std::make_unique<LinkInfoReader>());
  readers.push_back(std::make_unique<DiscoverReader>());
  readers.push_back(std::make_unique<DeviceFileReader>());
  readers.push_back(std::make_unique<HcaTableReader>());
  readers.push_back(std::make_unique<CounterReader>());
  readers.push_back(std::make_unique<QosReader>());
}

}  // namespace busbw::facts
