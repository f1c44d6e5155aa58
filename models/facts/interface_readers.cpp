// Interfaces of a host: `ip addr`, `ip link` (by ip_text.h), `ip route`, ethtool, and a list of
// interfaces that somebody typed ("2: eth0 -> 10 GbE management (10.0.0.1)").
//
// Facts (fields):
//   ip.interface {name, index, mtu, state, up, running, type, peer}
//   ip.address {name, address, scope}   address with its prefix length
//   ip.route {to, via, device}
//   eth.speed {name, mbps}, bond.mode {mode}
#include <optional>

#include "models/facts/ip_text.h"
#include "models/facts/line_reader.h"
#include "sim/core/text.h"

namespace busbw::facts {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
/// Lines of one listing that are kept; ours: no host has so many interfaces.
constexpr std::size_t kMostLines = 20'000;

struct KeptLine {
  int number = 0;
  std::string text;
};

/// Gathers the lines of a listing and hands them to parse_ip.
class IpReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "ip addr or ip link"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::vector<std::string_view>& words = line.words;
    const bool heading = is_heading(words);
    const bool brief =
        !heading && words.size() > 1 && is_state(words[1]) && !parse_ip(line.bare, "").empty();
    if (heading || brief) {
      file_ = line.file;
      host_ = line.host;
      keep(line);
      return true;
    }
    if (lines_.empty() || words.empty()) {
      return false;
    }
    static constexpr std::string_view kDetails[] = {"link/",     "inet", "inet6", "altname",
                                                    "valid_lft", "vf",   "RX:",   "TX:"};
    for (const std::string_view detail : kDetails) {
      if (words[0].substr(0, detail.size()) == detail) {
        if (words.size() < 2) {
          facts.note({line.file, line.number, 1},
                     "'" + quote(words[0]) + "' without a value: the line is cut");
        }
        keep(line);
        return true;
      }
    }
    return false;
  }

  void finish(FactStore& facts) override {
    std::string text;
    for (const KeptLine& line : lines_) {
      text += line.text + '\n';
    }
    for (const IpInterface& interface : parse_ip(text, file_)) {
      if (interface.where.line < 1 || interface.where.line > static_cast<int>(lines_.size())) {
        continue;
      }
      const KeptLine& kept = lines_[static_cast<std::size_t>(interface.where.line - 1)];
      const SourceLine line{file_, kept.number, kept.text, kept.text, host_};
      put(facts, line, "ip.interface",
          {{"name", interface.name},
           {"index", std::to_string(interface.index)},
           {"mtu", interface.mtu > 0 ? std::to_string(interface.mtu) : ""},
           {"state", lower(interface.state)},
           {"up", interface.has_flag("UP") ? "yes" : "no"},
           {"running", interface.has_flag("LOWER_UP") ? "yes" : "no"},
           {"type", interface.link_type},
           {"peer", interface.peer.value_or("")}});
      for (const IpAddress& address : interface.addresses) {
        put(facts, line, "ip.address",
            {{"name", interface.name}, {"address", address.text}, {"scope", address.scope}});
      }
    }
    lines_.clear();
  }

 private:
  static bool is_state(std::string_view word) {
    return word == "UP" || word == "DOWN" || word == "UNKNOWN" || word == "LOWERLAYERDOWN" ||
           word == "DORMANT" || word == "NOTPRESENT" || word == "TESTING";
  }

  static bool is_heading(const std::vector<std::string_view>& words) {
    return words.size() >= 3 && words[0].size() > 1 && words[0].back() == ':' &&
           parse_integer(words[0].substr(0, words[0].size() - 1)) && words[1].back() == ':' &&
           words[2].front() == '<';
  }

  void keep(const SourceLine& line) {
    if (lines_.size() < kMostLines) {
      lines_.push_back({line.number, std::string(line.bare)});
    }
  }

  std::vector<KeptLine> lines_;
  std::string file_;
  std::string host_;
};

/// "10 GbE", "100GbE", "200 Gb/s" in a remark -> Mb/s.
std::string speed_of_remark(std::string_view text) {
  const std::string words = lower(text);
  for (const char* unit : {"gbe", "gb/s", "gbit"}) {
    const std::size_t at = words.find(unit);
    if (at == std::string::npos) {
      continue;
    }
    std::size_t end = at;
    while (end > 0 && words[end - 1] == ' ') {
      end--;
    }
    std::size_t begin = end;
    while (begin > 0 && words[begin - 1] >= '0' && words[begin - 1] <= '9') {
      begin--;
    }
    const std::optional<std::int64_t> value =
        parse_integer(std::string_view(words).substr(begin, end - begin));
    if (value && *value > 0 && *value < 10'000) {
      return std::to_string(*value * 1000);
    }
  }
  return {};
}

/// A list of interfaces with a remark on each, behind an arrow or a dash.
class TypedListReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "list of interfaces"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::vector<std::string_view>& words = line.words;
    if (words.size() < 4 || words[0].back() != ':' ||
        !parse_integer(words[0].substr(0, words[0].size() - 1)) ||
        (words[2] != "\xe2\x86\x92" && words[2] != "->" && words[2] != "=>" && words[2] != "-")) {
      return false;
    }
    const std::string name(words[1].substr(0, words[1].find(':')));
    const std::string_view remark = line.bare.substr(line.bare.find(words[2]) + words[2].size());
    put(facts, line, "ip.interface",
        {{"name", name},
         {"index", std::string(words[0].substr(0, words[0].size() - 1))},
         {"mtu", ""},
         {"state", ""},
         {"up", "yes"},
         {"running", "yes"},
         {"type", lower(remark).find("loopback") != std::string::npos ? "loopback" : ""},
         {"peer", ""}});
    const std::string speed = speed_of_remark(remark);
    if (!speed.empty()) {
      put(facts, line, "eth.speed", {{"name", name}, {"mbps", speed}});
    }
    return true;
  }
};

/// `ip route`: "default via 10.0.0.254 dev eth0", "10.0.0.0/24 dev eth0 proto kernel ...".
class RouteReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "ip route"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::vector<std::string_view>& words = line.words;
    if (words.size() < 3 || (words[0] != "default" && words[0].find('/') == kNone) ||
        (words[1] != "via" && words[1] != "dev")) {
      return false;
    }
    std::string via;
    std::string device;
    for (std::size_t i = 1; i + 1 < words.size(); i++) {
      if (words[i] == "via") {
        via = std::string(words[i + 1]);
      } else if (words[i] == "dev") {
        device = std::string(words[i + 1]);
      }
    }
    put(facts, line, "ip.route", {{"to", std::string(words[0])}, {"via", via}, {"device", device}});
    return true;
  }
};

/// ethtool: "Settings for eth0:", "Speed: 10000Mb/s".
class EthtoolReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "ethtool"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    constexpr std::string_view kHeading = "Settings for ";
    if (line.bare.substr(0, kHeading.size()) == kHeading) {
      name_ = std::string(line.bare.substr(kHeading.size()));
      name_ = name_.substr(0, name_.find(':'));
      return true;
    }
    std::string_view key;
    std::string_view value;
    if (name_.empty() || !key_and_value(line.bare, key, value) || key != "Speed") {
      return false;
    }
    const std::size_t end = value.find_first_not_of("0123456789");
    if (parse_integer(value.substr(0, end))) {
      put(facts, line, "eth.speed", {{"name", name_}, {"mbps", std::string(value.substr(0, end))}});
    }
    return true;
  }

 private:
  std::string name_;
};

/// /proc/net/bonding: "Bonding Mode: IEEE 802.3ad Dynamic link aggregation".
class BondingReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "/proc/net/bonding"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    std::string_view key;
    std::string_view value;
    if (!key_and_value(line.bare, key, value)) {
      return false;
    }
    if (key == "Bonding Mode") {
      put(facts, line, "bond.mode", {{"mode", std::string(value)}});
      return true;
    }
    return key == "Transmit Hash Policy" || key == "Slave Interface" || key == "MII Status";
  }
};

}  // namespace

void add_interface_readers(LineReaders& readers) {
  readers.push_back(std::make_unique<IpReader>());
  readers.push_back(std::make_unique<TypedListReader>());
  readers.push_back(std::make_unique<RouteReader>());
  readers.push_back(std::make_unique<EthtoolReader>());
  readers.push_back(std::make_unique<BondingReader>());
}

}  // namespace busbw::facts
