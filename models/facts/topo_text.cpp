// See topo_text.h. Forms of nvidia-smi from driver 418 to 580; the CPU and NUMA columns are
// optional and rows of NICs leave them out.
#include "models/facts/topo_text.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw::facts {
namespace {

/// Removes terminal colour codes: ESC [ ... letter, and their remains "[4m" when the escape was
/// lost.
std::string plain(std::string_view line) {
  std::string result;
  for (std::size_t i = 0; i < line.size(); i++) {
    const bool escape = line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[';
    const bool remains =
        line[i] == '[' && i + 1 < line.size() && line[i + 1] >= '0' && line[i + 1] <= '9';
    if (escape || remains) {
      std::size_t end = escape ? i + 2 : i + 1;
      while (end < line.size() && ((line[end] >= '0' && line[end] <= '9') || line[end] == ';')) {
        end++;
      }
      if (end < line.size() && line[end] == 'm') {
        i = end;
        continue;
      }
    }
    result += line[i];
  }
  return result;
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool is_gpu(std::string_view name) {
  return starts_with(name, "GPU") && parse_integer(name.substr(3)).has_value();
}

std::optional<TopoCell> parse_cell(std::string_view word) {
  static const std::map<std::string_view, TopoLink> kWords = {
      {"X", TopoLink::kSelf},  {"PIX", TopoLink::kPix},   {"PXB", TopoLink::kPxb},
      {"PHB", TopoLink::kPhb}, {"NODE", TopoLink::kNode}, {"SYS", TopoLink::kSys},
      {"SOC", TopoLink::kSys}};  // SOC: drivers before 384
  const auto known = kWords.find(word);
  if (known != kWords.end()) {
    return TopoCell{known->second, 0};
  }
  if (starts_with(word, "NV")) {
    const std::optional<std::int64_t> links = parse_integer(word.substr(2));
    if (links && *links >= 1 && *links <= 72) {
      return TopoCell{TopoLink::kNvLink, static_cast<int>(*links)};
    }
  }
  return std::nullopt;
}

/// Device columns of a heading: words up to "CPU" (of "CPU Affinity"). Nothing if it is no heading.
std::optional<std::vector<std::string>> parse_heading(const std::vector<std::string_view>& words) {
  if (words.empty() || !is_gpu(words[0])) {
    return std::nullopt;
  }
  std::vector<std::string> devices;
  for (const std::string_view word : words) {
    if (word == "CPU" || word == "NUMA") {
      break;
    }
    if (word == "X" || (devices.size() == 1 && parse_cell(word))) {
      return std::nullopt;  // a row of the matrix, not its heading
    }
    devices.emplace_back(word);
  }
  return devices;
}

/// "NIC0: mlx5_0" -> renames the device.
void apply_legend(TopoMatrix& matrix, const std::vector<std::string_view>& words) {
  if (words.size() != 2 || words[0].size() < 2 || words[0].back() != ':') {
    return;
  }
  const std::string_view key = words[0].substr(0, words[0].size() - 1);
  for (std::string& device : matrix.devices) {
    if (device == key && starts_with(key, "NIC")) {
      device = std::string(words[1]);
    }
  }
}

class MatrixReader {
 public:
  MatrixReader(std::string file, Problems& problems)
      : file_(std::move(file)), problems_(problems) {}

  void line(int number, std::string_view text) {
    const std::vector<std::string_view> words = split_blanks(text);
    if (matrix_.devices.empty()) {
      if (const auto heading = parse_heading(words)) {
        matrix_.devices = *heading;
        matrix_.where = {file_, number, 1};
      }
      return;
    }
    const std::size_t row = matrix_.cells.size();
    if (row < matrix_.devices.size() && !words.empty() && words[0] == matrix_.devices[row]) {
      add_row(number, words);
    } else {
      apply_legend(matrix_, words);
    }
  }

  TopoMatrix finish() {
    if (matrix_.cells.size() != matrix_.devices.size()) {
      problems_.add(matrix_.where, fmt::format("topology matrix has {} columns and {} rows",
                                               matrix_.devices.size(), matrix_.cells.size()));
      return TopoMatrix{};
    }
    return std::move(matrix_);
  }

 private:
  void add_row(int number, const std::vector<std::string_view>& words) {
    std::vector<TopoCell> row;
    const std::size_t columns = matrix_.devices.size();
    for (std::size_t i = 1; i < words.size() && row.size() < columns; i++) {
      const std::optional<TopoCell> cell = parse_cell(words[i]);
      if (!cell) {
        problems_.add({file_, number, 1},
                      fmt::format("unknown link '{}' in the row of {}; allowed: X, NV#, PIX, PXB, "
                                  "PHB, NODE, SYS",
                                  words[i], words[0]));
        row.push_back({TopoLink::kSys, 0});
        continue;
      }
      row.push_back(*cell);
    }
    if (row.size() != columns) {
      problems_.add({file_, number, 1}, fmt::format("row of {} has {} cells, its heading has {}",
                                                    words[0], row.size(), columns));
      row.resize(columns, {TopoLink::kSys, 0});
    }
    // Behind the cells of a GPU: CPU affinity, NUMA affinity.
    const std::size_t numa_at = columns + 2;
    const bool said = is_gpu(words[0]) && words.size() > numa_at && words[numa_at] != "N/A";
    matrix_.numa.push_back(said ? std::string(words[numa_at]) : std::string());
    matrix_.cells.push_back(std::move(row));
  }

  std::string file_;
  Problems& problems_;
  TopoMatrix matrix_;
};

}  // namespace

std::vector<int> TopoMatrix::gpus() const {
  std::vector<int> rows;
  for (std::size_t i = 0; i < devices.size(); i++) {
    if (is_gpu(devices[i])) {
      rows.push_back(static_cast<int>(i));
    }
  }
  return rows;
}

std::vector<int> TopoMatrix::nics() const {
  std::vector<int> rows;
  for (std::size_t i = 0; i < devices.size(); i++) {
    if (!is_gpu(devices[i])) {
      rows.push_back(static_cast<int>(i));
    }
  }
  return rows;
}

TopoMatrix parse_topo(std::string_view text, const std::string& file, Problems& problems) {
  MatrixReader reader(file, problems);
  int number = 0;
  for (const std::string_view raw : split_lines(text)) {
    number++;
    reader.line(number, plain(raw));
  }
  return reader.finish();
}

std::optional<TopoCell> parse_topo_cell(std::string_view word) {
  return parse_cell(word);
}

std::optional<std::vector<std::string>> parse_topo_heading(std::string_view line) {
  const std::string text = plain(line);
  std::optional<std::vector<std::string>> devices = parse_heading(split_blanks(text));
  if (!devices || text.find("Affinity") != std::string::npos) {
    return devices;
  }
  for (const std::string& device : *devices) {
    if (!is_gpu(device) && !starts_with(device, "NIC") && !starts_with(device, "mlx")) {
      return std::nullopt;  // some other line that begins with a GPU
    }
  }
  return devices->size() < 2 ? std::nullopt : devices;
}

std::string to_string(const TopoCell& cell) {
  switch (cell.link) {
    case TopoLink::kSelf:
      return "X";
    case TopoLink::kNvLink:
      return fmt::format("NV{}", cell.nvlinks);
    case TopoLink::kPix:
      return "PIX";
    case TopoLink::kPxb:
      return "PXB";
    case TopoLink::kPhb:
      return "PHB";
    case TopoLink::kNode:
      return "NODE";
    case TopoLink::kSys:
      return "SYS";
  }
  return "";
}

}  // namespace busbw::facts
