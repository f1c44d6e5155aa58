// Figures that users measured: nccl-tests, perftest (ib_write_bw and its kin), iperf3, and tables
// of pairs of hosts with one figure a row.
//
// Facts (fields):
//   test.row {bytes, time_us, algbw, busbw}     bandwidths in GB/s, out-of-place block
//   test.average {busbw}, test.checked {errors}, test.rank {rank, host, gpu}, test.collective
//   {name} perftest.row {bytes, gbps}                  Gb/s, average perftest.setting {name, value}
//   mtu, link, gid, device iperf.rate {gbps} pair.row {a, b, value}, node.row {a, value}  rows of a
//   table with hosts and a figure
#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "models/facts/line_reader.h"
#include "sim/core/text.h"

namespace busbw::facts {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

/// "980.5ms" -> 980500; "99.4us", "1234.5" -> microseconds.
std::optional<double> microseconds(std::string_view word) {
  double unit = 1;
  if (word.size() > 2 && word.substr(word.size() - 2) == "ms") {
    unit = 1000;
    word.remove_suffix(2);
  } else if (word.size() > 2 && word.substr(word.size() - 2) == "us") {
    word.remove_suffix(2);
  }
  const std::optional<double> value = parse_number(word);
  return value ? std::optional<double>(*value * unit) : std::nullopt;
}

/// nccl-tests: "size count type [redop] [root] time algbw busbw #wrong ...".
class NcclTestsReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "nccl-tests"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    collective(line, facts);
    if (heading(line, facts)) {
      return true;
    }
    const std::vector<std::string_view>& words = line.words;
    static constexpr std::string_view kTypes[] = {
        "float",  "half",  "bfloat16", "double",   "int8",   "uint8", "int32",
        "uint32", "int64", "uint64",   "fp8_e4m3", "f8e4m3", "f8e5m2"};
    if (words.size() < 6 || !parse_integer(words[0]) || !parse_integer(words[1]) ||
        std::find(std::begin(kTypes), std::end(kTypes), words[2]) == std::end(kTypes)) {
      return false;
    }
    row(line, words, facts);
    return true;
  }

 private:
  static void collective(const SourceLine& line, FactStore& facts) {
    const std::size_t at = line.bare.find("_perf");
    if (at == kNone || at == 0) {
      return;
    }
    std::size_t begin = at;
    while (begin > 0 && ((line.bare[begin - 1] >= 'a' && line.bare[begin - 1] <= 'z') ||
                         line.bare[begin - 1] == '_')) {
      begin--;
    }
    if (at > begin) {
      put(facts, line, "test.collective",
          {{"name", std::string(line.bare.substr(begin, at - begin))}});
    }
  }

  static bool heading(const SourceLine& line, FactStore& facts) {
    std::string_view key;
    std::string_view value;
    const bool pair = key_and_value(line.bare, key, value);
    if (pair && key == "Avg bus bandwidth" && !value.empty()) {
      const std::string_view word = value.substr(0, value.find_first_of(" \t"));
      if (parse_number(word)) {
        put(facts, line, "test.average", {{"busbw", std::string(word)}});
      } else {
        facts.note({line.file, line.number, 1},
                   "average bus bandwidth: '" + quote(word) + "' is no number");
      }
      return true;
    }
    if (pair && key == "Out of bounds values") {
      const std::string_view word = value.substr(0, value.find(' '));
      put(facts, line, "test.checked", {{"errors", std::string(word)}});
      return true;
    }
    const std::vector<std::string_view>& words = line.words;
    if (words.size() > 6 && words[0] == "Rank" && parse_integer(words[1])) {
      for (std::size_t i = 2; i + 1 < words.size(); i++) {
        if (words[i] == "on") {
          // "on host device  0 [0x0f] NVIDIA A100-SXM4-80GB"
          const std::size_t bus = line.bare.find(']');
          const std::string_view gpu =
              bus == kNone ? std::string_view() : trim(line.bare.substr(bus + 1));
          put(facts, line, "test.rank",
              {{"rank", std::string(words[1])},
               {"host", std::string(words[i + 1])},
               {"gpu", std::string(gpu)}});
          return true;
        }
      }
    }
    return line.bare.rfind("nThread ", 0) == 0 || line.bare == "Using devices" ||
           (words.size() > 5 && words[0] == "size" && words[1] == "count") ||
           (words.size() > 3 && words[0] == "(B)" && words[1] == "(elements)");
  }

  static void row(const SourceLine& line, const std::vector<std::string_view>& words,
                  FactStore& facts) {
    std::size_t at = 3;
    if (!microseconds(words[at])) {  // the reduction's name
      at++;
      const std::optional<std::int64_t> root = parse_integer(words[at]);
      if (root && (*root < 0 || at + 3 < words.size())) {
        at++;
      }
    }
    std::vector<double> figures;
    for (; at < words.size() && figures.size() < 3; at++) {
      const std::string_view word = words[at];
      const std::optional<double> figure =
          figures.empty() ? microseconds(word) : parse_number(word);
      if (figure) {
        figures.push_back(*figure);
      } else if (lower(word) != "gb/s" && lower(word) != "us" && lower(word) != "ms") {
        break;
      }
    }
    if (figures.size() < 3) {
      facts.note({line.file, line.number, 1},
                 "row of nccl-tests without time, algbw and busbw: the line is cut");
      return;
    }
    put(facts, line, "test.row",
        {{"bytes", std::string(words[0])},
         {"time_us", fmt::format("{}", figures[0])},
         {"algbw", fmt::format("{}", figures[1])},
         {"busbw", fmt::format("{}", figures[2])}});
  }
};

/// perftest: headings name the unit; rows hold bytes, iterations, peak, average.
class PerftestReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "perftest"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::vector<std::string_view>& words = line.words;
    if (line.bare.rfind("RDMA_", 0) == 0 || line.bare.rfind("Send BW", 0) == 0 ||
        line.bare.rfind("Send Latency", 0) == 0) {
      open_ = true;
      return true;
    }
    if (line.bare.find("#bytes") != kNone || line.bare.rfind("bytes ", 0) == 0) {
      open_ = true;
      rate_ = line.bare.find("BW average") != kNone;
      megabytes_ = line.bare.find("[MB/sec]") != kNone || line.bare.find("[MiB/sec]") != kNone;
      return true;
    }
    if (!open_) {
      return false;
    }
    if (rate_ && words.size() >= 4 && parse_integer(words[0]) && parse_integer(words[1])) {
      const std::optional<double> value = parse_number(words[3]);
      if (!value) {
        facts.note({line.file, line.number, 1},
                   "average of perftest: '" + quote(words[3]) + "' is no number");
        return true;
      }
      // perftest counts MB as 2^20 bytes.
      const double gbps = megabytes_ ? *value * 8 * 1048576 / 1e9 : *value;
      put(facts, line, "perftest.row",
          {{"bytes", std::string(words[0])}, {"gbps", fmt::format("{:.2f}", gbps)}});
      return true;
    }
    std::string_view key;
    std::string_view value;
    if (!key_and_value(line.bare, key, value)) {
      return line.bare.rfind("----", 0) == 0;
    }
    static const std::map<std::string_view, std::string_view> kSettings = {
        {"Mtu", "mtu"}, {"Link type", "link"}, {"GID index", "gid"}, {"Device", "device"}};
    const auto setting = kSettings.find(key);
    if (setting != kSettings.end()) {
      put(facts, line, "perftest.setting",
          {{"name", std::string(setting->second)},
           {"value", lower(value.substr(0, value.find_first_of("[ \t")))}});
      return true;
    }
    return line.bare.rfind("local address", 0) == 0 || line.bare.rfind("remote address", 0) == 0 ||
           line.bare.rfind("GID:", 0) == 0 || line.bare.rfind("Number of qps", 0) == 0;
  }

 private:
  bool open_ = false;
  bool rate_ = false;
  bool megabytes_ = false;
};

/// iperf3: "[SUM] 0.00-10.00 sec 107 GBytes 92.0 Gbits/sec receiver".
class IperfReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "iperf3"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::vector<std::string_view>& words = line.words;
    for (std::size_t i = 1; i < words.size(); i++) {
      const double unit = words[i] == "Gbits/sec" ? 1 : words[i] == "Mbits/sec" ? 0.001 : 0;
      const std::optional<double> value =
          unit > 0 ? parse_number(words[i - 1]) : std::optional<double>();
      if (value) {
        put(facts, line, "iperf.rate", {{"gbps", fmt::format("{}", *value * unit)}});
        return true;
      }
    }
    return false;
  }
};

/// Rows "node-p,node-q 49.36": two names, or one, and a figure, and nothing else. One such line
/// says nothing; a table of them compares hosts.
class PairTableReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "table of hosts"; }

  bool read(const SourceLine& line, FactStore& /*facts*/) override {
    constexpr std::size_t kMostWords = 6;  // with marks and a unit between and behind them
    if (line.words.size() < 2 || line.words.size() > kMostWords) {
      return false;
    }
    std::string text(line.bare);
    const bool unit =
        text.find("GB/s") != std::string::npos || text.find("GBps") != std::string::npos;
    for (const char* mark : {"<->", "->", "<>", " - ", ",", ":", "|", "=", "GB/s", "GBps"}) {
      for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
        text.replace(at, std::string_view(mark).size(), " ");
      }
    }
    const std::vector<std::string_view> words = split_blanks(text);
    const bool pair = words.size() == 3 && is_name(words[1]) && words[0] != words[1];
    if ((!pair && (words.size() != 2 || !unit)) || !is_name(words[0]) ||
        rows_.size() >= kMostOfOneName) {
      return false;
    }
    const std::optional<double> value = parse_number(words.back());
    if (!value || *value <= 0 || words.back().find('.') == kNone) {
      return false;
    }
    rows_.push_back({line.number, std::string(line.text), std::string(words[0]),
                     pair ? std::string(words[1]) : "", std::string(words.back())});
    file_ = line.file;
    host_ = line.host;
    return true;
  }

  void finish(FactStore& facts) override {
    constexpr std::size_t kLeast = 3;  // fewer rows name no host
    for (const Row& row : rows_) {
      if (rows_.size() < kLeast) {
        break;
      }
      const SourceLine line{file_, row.number, row.text, row.text, host_};
      if (row.b.empty()) {
        put(facts, line, "node.row", {{"a", row.a}, {"value", row.value}});
      } else {
        put(facts, line, "pair.row", {{"a", row.a}, {"b", row.b}, {"value", row.value}});
      }
    }
    rows_.clear();
  }

 private:
  struct Row {
    int number = 0;
    std::string text;
    std::string a;
    std::string b;
    std::string value;
  };

  /// A host's name: letters, digits and "-._", at least one letter and one that is none.
  static bool is_name(std::string_view word) {
    bool letter = false;
    bool other = false;
    for (const char c : word) {
      const bool alpha = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      const bool rest = (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
      if (!alpha && !rest) {
        return false;
      }
      letter = letter || alpha;
      other = other || rest;
    }
    return letter && other;
  }

  std::vector<Row> rows_;
  std::string file_;
  std::string host_;
};

}  // namespace

void add_test_readers(LineReaders& readers) {
  readers.push_back(std::make_unique<NcclTestsReader>());
  readers.push_back(std::make_unique<PerftestReader>());
  readers.push_back(std::make_unique<IperfReader>());
  readers.push_back(std::make_unique<PairTableReader>());
}

}  // namespace busbw::facts
