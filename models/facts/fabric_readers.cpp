// The fabric around the HCAs: iblinkinfo, /dev/infiniband, port counters, quality of service, and
// tables with one HCA a row that sites print themselves.
//
// Facts (fields):
//   fabric.link {width, lane_gbps, state, physical, name, remark}
//   dev.uverbs {name}, dev.no_infiniband
//   hca.row {hca, state, width, width_max}   a row of a site's own table; state as in rdma.port
//   counter {name, value}                    port and NIC counters that are not zero
//   qos.trust {mode}, qos.dscp {priority, dscp}, qos.pfc {enabled}   enabled "0,0,0,1,0,0,0,0"
//   qos.traffic_class {value}
#include <algorithm>

#include "models/facts/line_reader.h"
#include "sim/core/text.h"

namespace busbw::facts {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

/// iblinkinfo: "... 1[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==> 3 1[ ] "switch" ( remark )".
class LinkInfoReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "iblinkinfo"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::size_t open = line.text.find("==(");
    if (open == kNone) {
      return line.bare.substr(0, 4) == "CA: " || line.bare.substr(0, 10) == "Switch: 0x";
    }
    const std::size_t close = line.text.find(")==>", open);
    if (close == kNone) {
      facts.note({line.file, line.number, 1}, "link without its other end: the line is cut");
      return true;
    }
    const std::string_view inside = line.text.substr(open + 3, close - open - 3);
    const std::vector<std::string_view> words = split_blanks(inside);
    const std::size_t slash = inside.find('/');
    std::string state;
    std::string physical;
    if (slash != kNone) {
      const std::vector<std::string_view> before = split_blanks(inside.substr(0, slash));
      state = before.empty() ? "" : lower(before.back());
      physical = lower(trim(inside.substr(slash + 1)));
    }
    const std::string_view far = line.text.substr(close + 4);
    const std::size_t quote_open = far.find('"');
    const std::size_t quote_close = quote_open == kNone ? kNone : far.find('"', quote_open + 1);
    const std::size_t remark = far.rfind('(');
    put(facts, line, "fabric.link",
        {{"width", words.empty() ? "" : std::string(words[0])},
         {"lane_gbps", words.size() > 1 ? std::string(words[1]) : ""},
         {"state", state},
         {"physical", physical},
         {"name", quote_close == kNone
                      ? ""
                      : std::string(far.substr(quote_open + 1, quote_close - quote_open - 1))},
         {"remark", remark == kNone
                        ? ""
                        : std::string(trim(far.substr(remark + 1, far.size() - remark - 2)))}});
    return true;
  }
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
  readers.push_back(std::make_unique<DeviceFileReader>());
  readers.push_back(std::make_unique<HcaTableReader>());
  readers.push_back(std::make_unique<CounterReader>());
  readers.push_back(std::make_unique<QosReader>());
}

}  // namespace busbw::facts
