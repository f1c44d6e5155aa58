// Ports of HCAs, as ibstat, ibstatus, ibv_devinfo and `rdma link` print them, their GIDs, P_Keys
// and interfaces. Forms of infiniband-diags, rdma-core, iproute2 and MLNX_OFED (show_gids,
// ibdev2netdev).
//
// Facts (fields):
//   rdma.port {tool, hca, port, state, physical, link, rate, sm_lid, active_mtu, max_mtu}
//       state active, init, armed, down; physical linkup, polling, disabled ...; link ib, ethernet;
//       rate in Gb/s. What the tool did not print is empty.
//   rdma.contradiction {hca, port, text}
//   rdma.gid {hca, port, index, gid, ip, version, netdev}
//   rdma.netdev {hca, port, netdev, state}
//   rdma.pkey {hca, port, index, value}
#include <algorithm>
#include <optional>

#include "models/facts/ibstat_text.h"
#include "models/facts/line_reader.h"
#include "sim/core/text.h"

namespace busbw::facts {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

/// "4: ACTIVE", "PORT_ACTIVE (4)", "Initializing", "INIT" -> "active", "init", "armed", "down".
std::string plain_state(std::string_view text) {
  std::string word = lower(text);
  for (const char* state : {"active", "init", "armed", "down"}) {
    if (word.find(state) != std::string::npos) {
      return state;
    }
  }
  return word;
}

/// "5: LinkUp", "LINK_UP" -> "linkup".
std::string plain_physical(std::string_view text) {
  const std::size_t colon = text.find(':');
  std::string word = lower(trim(colon == kNone ? text : text.substr(colon + 1)));
  word.erase(std::remove(word.begin(), word.end(), '_'), word.end());
  return word.substr(0, word.find(' '));
}

std::string plain_link(std::string_view text) {
  const std::string word = lower(text);
  return word == "infiniband" || word == "ib" ? "ib" : word;
}

/// "0x47", "13" -> "71", "13".
std::string lid(std::string_view text) {
  if (!starts_with(text, "0x")) {
    return std::string(text);
  }
  std::int64_t value = 0;
  for (const char c : lower(text.substr(2))) {
    const bool digit = c >= '0' && c <= '9';
    if ((!digit && (c < 'a' || c > 'f')) || value > 0xffff) {
      return {};
    }
    value = value * 16 + (digit ? c - '0' : c - 'a' + 10);
  }
  return std::to_string(value);
}

struct Port {
  std::string tool;
  std::string hca;
  std::string port;
  std::string state;
  std::string physical;
  std::string link;
  std::string rate;
  std::string sm_lid;
  std::string active_mtu;
  std::string max_mtu;
  Location where;    // of its state, else of its first line
  std::string line;  // the text there
  bool open = false;
};

/// ibstat, ibstatus and ibv_devinfo: a heading, then "key: value" lines in any order.
class PortReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override {
    return port_.tool.empty() ? "ibstat" : port_.tool;
  }

  bool read(const SourceLine& line, FactStore& facts) override {
    if (heading(line, facts)) {
      return true;
    }
    std::string_view key;
    std::string_view value;
    if (!key_and_value(line.bare, key, value)) {
      return port_.open && line.bare.empty();
    }
    const std::string name = lower(key);
    if (!port_.open && (name == "active_mtu" || name == "max_mtu")) {
      open(line, "ibv_devinfo", "", "");  // an excerpt without its heading
    }
    return port_.open && set(line, name, value, facts);
  }

  void finish(FactStore& facts) override { flush(facts); }

 private:
  bool heading(const SourceLine& line, FactStore& facts) {
    const std::vector<std::string_view>& words = line.words;
    if (words.size() == 2 && words[0] == "CA" && words[1].size() > 2 && words[1].front() == '\'' &&
        words[1].back() == '\'') {
      flush(facts);
      open(line, "ibstat", words[1].substr(1, words[1].size() - 2), "");
      return true;
    }
    if (words.size() >= 5 && lower(words[0]) == "infiniband" && words[1] == "device" &&
        words[2].size() > 2) {
      flush(facts);
      open(line, "ibstatus", words[2].substr(1, words[2].size() - 2), words[4]);
      return true;
    }
    if (words.size() == 2 && words[0] == "hca_id:") {
      flush(facts);
      open(line, "ibv_devinfo", words[1], "");
      return true;
    }
    const bool ibstat_port = words.size() == 2 && words[0] == "Port" && words[1].back() == ':';
    if (port_.open && (ibstat_port || (words.size() == 2 && words[0] == "port:"))) {
      const Port before = port_;
      if (!port_.port.empty()) {
        flush(facts);
      }
      open(line, before.tool, before.hca,
           ibstat_port ? words[1].substr(0, words[1].size() - 1) : words[1]);
      return true;
    }
    return false;
  }

  void open(const SourceLine& line, std::string_view tool, std::string_view hca,
            std::string_view port) {
    port_ = {};
    port_.tool = std::string(tool);
    port_.hca = std::string(hca);
    port_.port = std::string(port);
    port_.where = {line.file, line.number, 1};
    port_.line = quote(line.text);
    port_.open = true;
    host_ = line.host;
  }

  bool set(const SourceLine& line, const std::string& key, std::string_view value,
           FactStore& facts) {
    static constexpr std::string_view kOthers[] = {"ca type",          "number of ports",
                                                   "firmware version", "hardware version",
                                                   "node guid",        "system image guid",
                                                   "base lid",         "lmc",
                                                   "capability mask",  "port guid",
                                                   "default gid",      "transport",
                                                   "fw_ver",           "node_guid",
                                                   "sys_image_guid",   "vendor_id",
                                                   "vendor_part_id",   "hw_ver",
                                                   "board_id",         "phys_port_cnt",
                                                   "port_lid",         "port_lmc",
                                                   "gid[  0]",         "gid[  1]"};
    const std::string_view word = value.substr(0, value.find_first_of(" \t"));
    if (key == "state") {
      port_.state = plain_state(value);
      port_.where = {line.file, line.number, 1};
      port_.line = quote(line.text);
    } else if (key == "physical state" || key == "phys state" || key == "phys_state") {
      port_.physical = plain_physical(value);
    } else if (key == "rate") {
      if (parse_number(word)) {
        port_.rate = std::string(word);
      } else {
        facts.note({line.file, line.number, 1},
                   "rate of " + port_.hca + ": '" + quote(value) + "' is no number");
      }
    } else if (key == "sm lid" || key == "sm_lid") {
      port_.sm_lid = lid(word);
    } else if (key == "link layer" || key == "link_layer") {
      port_.link = plain_link(word);
    } else if (key == "active_mtu" || key == "max_mtu") {
      (key == "max_mtu" ? port_.max_mtu : port_.active_mtu) = std::string(word);
      if (port_.state.empty() && key == "active_mtu") {
        port_.where = {line.file, line.number, 1};
        port_.line = quote(line.text);
      }
    } else {
      return std::find(std::begin(kOthers), std::end(kOthers), key) != std::end(kOthers);
    }
    return true;
  }

  void flush(FactStore& facts) {
    if (!port_.open) {
      return;
    }
    port_.open = false;
    if (port_.state.empty() && port_.active_mtu.empty()) {
      if (!port_.port.empty()) {
        facts.note(port_.where,
                   "port " + port_.port + " of " + port_.hca + " has no state: the output is cut");
      }
      return;
    }
    add("rdma.port",
        {{"tool", port_.tool},
         {"hca", port_.hca},
         {"port", port_.port},
         {"state", port_.state},
         {"physical", port_.physical},
         {"link", port_.link},
         {"rate", port_.rate},
         {"sm_lid", port_.sm_lid},
         {"active_mtu", port_.active_mtu},
         {"max_mtu", port_.max_mtu}},
        facts);
    IbstatAdapter adapter;
    adapter.name = port_.hca;
    IbstatPort port;
    port.number = static_cast<int>(parse_integer(port_.port).value_or(0) % 256);
    port.state = port_.state == "active" ? "Active" : port_.state;
    port.physical_state = port_.physical == "polling" ? "Polling" : port_.physical;
    port.link_layer = port_.link == "ib" ? "InfiniBand" : port_.link;
    port.sm_lid = parse_integer(port_.sm_lid);
    for (const std::string& text : contradictions(adapter, port)) {
      add("rdma.contradiction", {{"hca", port_.hca}, {"port", port_.port}, {"text", text}}, facts);
    }
  }

  void add(const char* name, std::vector<Fact::Field> fields, FactStore& facts) const {
    Fact fact;
    fact.name = name;
    fact.host = host_;
    fact.fields = std::move(fields);
    fact.where = port_.where;
    fact.line = port_.line;
    facts.add(std::move(fact));
  }

  Port port_;
  std::string host_;
};

/// Value of the word behind `key`.
std::string after(const std::vector<std::string_view>& words, std::string_view key) {
  for (std::size_t i = 0; i + 1 < words.size(); i++) {
    if (words[i] == key) {
      return std::string(words[i + 1]);
    }
  }
  return {};
}

/// `rdma link`: "link mlx5_7/1 ... state DOWN physical_state POLLING netdev ib7".
class RdmaLinkReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "rdma link"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::vector<std::string_view>& words = line.words;
    const std::size_t slash = words.size() > 3 ? words[1].find('/') : kNone;
    if (words.empty() || words[0] != "link" || slash == kNone) {
      return false;
    }
    const std::string hca(words[1].substr(0, slash));
    const std::string port(words[1].substr(slash + 1));
    const std::string state = after(words, "state");
    if (state.empty()) {
      facts.note({line.file, line.number, 1}, "link of " + hca + " has no state: the line is cut");
      return true;
    }
    put(facts, line, "rdma.port",
        {{"tool", "rdma link"},
         {"hca", hca},
         {"port", port},
         {"state", plain_state(state)},
         {"physical", plain_physical(after(words, "physical_state"))},
         {"link", ""},
         {"rate", ""},
         {"sm_lid", after(words, "sm_lid")},
         {"active_mtu", ""},
         {"max_mtu", ""}});
    const std::string netdev = after(words, "netdev");
    if (!netdev.empty()) {
      put(facts, line, "rdma.netdev",
          {{"hca", hca}, {"port", port}, {"netdev", netdev}, {"state", plain_state(state)}});
    }
    return true;
  }
};

/// show_gids: "mlx5_2 1 3 0000:...:0a00:0101 10.0.1.1 v2 net1".
class GidReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "show_gids"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::vector<std::string_view>& words = line.words;
    if (words.size() >= 4 && words[0] == "DEV" && words[1] == "PORT") {
      put(facts, line, "rdma.gid_table", {});
      return true;
    }
    if (words.size() < 4 || !parse_integer(words[1]) || !parse_integer(words[2]) ||
        std::count(words[3].begin(), words[3].end(), ':') != 7) {
      return starts_with(line.bare, "n_gids_found");
    }
    std::string ip;
    std::string version;
    std::string netdev;
    for (std::size_t i = 4; i < words.size(); i++) {
      if (words[i].find('.') != kNone && ip.empty()) {
        ip = std::string(words[i]);
      } else if (lower(words[i]) == "v1" || lower(words[i]) == "v2") {
        version = lower(words[i]);
      } else {
        netdev = std::string(words[i]);
      }
    }
    put(facts, line, "rdma.gid",
        {{"hca", std::string(words[0])},
         {"port", std::string(words[1])},
         {"index", std::string(words[2])},
         {"gid", std::string(words[3])},
         {"ip", ip},
         {"version", version},
         {"netdev", netdev}});
    return true;
  }
};

/// ibdev2netdev: "mlx5_0 port 1 ==> ib0 (Up)".
class NetdevReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "ibdev2netdev"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::vector<std::string_view>& words = line.words;
    if (words.size() < 5 || words[1] != "port" || words[3] != "==>") {
      return false;
    }
    const std::string state = words.size() > 5 ? lower(words[5]) : "";
    put(facts, line, "rdma.netdev",
        {{"hca", std::string(words[0])},
         {"port", std::string(words[2])},
         {"netdev", std::string(words[4])},
         {"state", state == "(up)" ? "up" : "down"}});
    return true;
  }
};

/// Files of sysfs: ".../infiniband/mlx5_0/ports/1/pkeys/0: 0x7fff".
class PkeyReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "P_Key table"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::size_t at = line.bare.find("/pkeys/");
    if (at == kNone) {
      return false;
    }
    const std::vector<std::string_view> parts = split(line.bare, '/');
    if (parts.size() < 5) {
      return false;
    }
    std::string_view key;
    std::string_view value;
    if (!key_and_value(line.bare.substr(at + 7), key, value) || !starts_with(value, "0x")) {
      facts.note({line.file, line.number, 1}, "P_Key without value: the line is cut");
      return true;
    }
    const auto ports = std::find(parts.begin(), parts.end(), "ports");
    const bool whole = ports != parts.begin() && ports != parts.end() && ports + 1 != parts.end();
    put(facts, line, "rdma.pkey",
        {{"hca", whole ? std::string(*(ports - 1)) : ""},
         {"port", whole ? std::string(*(ports + 1)) : ""},
         {"index", std::string(key)},
         {"value", lower(value)}});
    return true;
  }
};

}  // namespace

void add_rdma_readers(LineReaders& readers) {
  readers.push_back(std::make_unique<PortReader>());
  readers.push_back(std::make_unique<RdmaLinkReader>());
  readers.push_back(std::make_unique<GidReader>());
  readers.push_back(std::make_unique<NetdevReader>());
  readers.push_back(std::make_unique<PkeyReader>());
}

}  // namespace busbw::facts
