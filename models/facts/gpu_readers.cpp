// nvidia-smi: `topo -m` (words by topo_text.h), `-q`, `nvlink -s`.
//
// Facts (fields):
//   topo.gpus {count, nics}
//   topo.pair {a, b, link, kind}     link NV12, PIX ...; kind gpu (two GPUs) or nic (GPU and NIC)
//   topo.nic {alias, name}
//   smi.fabric {state, status}       of the fabric manager, as -q prints it
//   smi.driver {version}, smi.gpu {gpu}: the product's name
//   smi.width {gpu, current, max}    lanes of PCIe
//   nvlink.link {gpu, link, state}   state active or inactive
#include <optional>

#include "models/facts/line_reader.h"
#include "models/facts/topo_text.h"
#include "sim/core/text.h"

namespace busbw::facts {
namespace {

bool is_gpu(std::string_view name) {
  return name.rfind("GPU", 0) == 0 && parse_integer(name.substr(3)).has_value();
}

class TopoReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "nvidia-smi topo -m"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    if (const auto heading = parse_topo_heading(line.bare)) {
      finish(facts);
      devices_ = *heading;
      where_ = {line.file, line.number, 1};
      std::size_t gpus = 0;
      for (const std::string& device : devices_) {
        gpus += is_gpu(device) ? 1 : 0;
      }
      rows_wanted_ = gpus;
      put(facts, line, "topo.gpus",
          {{"count", std::to_string(gpus)}, {"nics", std::to_string(devices_.size() - gpus)}});
      return true;
    }
    const std::vector<std::string_view>& words = line.words;
    if (devices_.empty() || words.empty()) {
      return false;
    }
    if (words.size() == 2 && words[0].back() == ':' && words[0].rfind("NIC", 0) == 0) {
      put(facts, line, "topo.nic",
          {{"alias", std::string(words[0].substr(0, words[0].size() - 1))},
           {"name", std::string(words[1])}});
      return true;
    }
    for (const std::string& device : devices_) {
      if (words[0] == device && words.size() > 1 && parse_topo_cell(words[1])) {
        row(line, words, facts);
        return true;
      }
    }
    return words.size() > 1 && words[1] == "=";  // the legend
  }

  void finish(FactStore& facts) override {
    if (!devices_.empty() && rows_ < rows_wanted_) {
      facts.note(where_, "topology matrix shows " + std::to_string(rows_) + " of " +
                             std::to_string(rows_wanted_) + " GPUs: the output is cut");
    }
    devices_.clear();
    rows_ = 0;
  }

 private:
  void row(const SourceLine& line, const std::vector<std::string_view>& words, FactStore& facts) {
    if (!is_gpu(words[0])) {
      return;  // the rows of GPUs hold the same
    }
    rows_++;
    for (std::size_t i = 0; i < devices_.size(); i++) {
      if (i + 1 >= words.size()) {
        facts.note({line.file, line.number, 1}, "row of " + std::string(words[0]) + " has " +
                                                    std::to_string(words.size() - 1) +
                                                    " cells: the line is cut");
        return;
      }
      const std::optional<TopoCell> cell = parse_topo_cell(words[i + 1]);
      if (!cell) {
        facts.note({line.file, line.number, 1}, "unknown link '" + quote(words[i + 1]) +
                                                    "' in the row of " + std::string(words[0]));
        continue;
      }
      if (cell->link != TopoLink::kSelf) {
        put(facts, line, "topo.pair",
            {{"a", std::string(words[0])},
             {"b", devices_[i]},
             {"link", to_string(*cell)},
             {"kind", is_gpu(devices_[i]) ? "gpu" : "nic"}});
      }
    }
  }

  std::vector<std::string> devices_;
  std::size_t rows_ = 0;
  std::size_t rows_wanted_ = 0;
  Location where_;
};

/// `nvidia-smi -q`: sections by indentation; of them what concerns links.
class SmiReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "nvidia-smi -q"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::string_view bare = line.bare;
    if (bare.find("NVSMI LOG") != std::string_view::npos) {
      open_ = true;
      return true;
    }
    if (!open_) {
      return false;
    }
    const bool indented = !line.text.empty() && (line.text[0] == ' ' || line.text[0] == '\t');
    if (bare.rfind("GPU 0000", 0) == 0) {
      gpu_ = std::string(trim(bare.substr(4)));
      return true;
    }
    if (!indented && !bare.empty() && bare.find(" :") == std::string_view::npos) {
      open_ = false;  // another output begins
      return false;
    }
    std::string_view key;
    std::string_view value;
    const std::size_t sign = bare.find(" :");
    if (sign == std::string_view::npos) {
      if (!bare.empty()) {
        section_ = std::string(bare);
      }
      return true;
    }
    key = trim(bare.substr(0, sign));
    value = trim(bare.substr(sign + 2));
    if (key == "Driver Version") {
      put(facts, line, "smi.driver", {{"version", std::string(value)}});
    } else if (key == "Product Name") {
      put(facts, line, "smi.gpu", {{"gpu", std::string(value)}});
    } else if (section_ == "Fabric" && key == "State") {
      put(facts, line, "smi.fabric", {{"state", lower(value)}, {"gpu", gpu_}});
    } else if (section_ == "Link Width" && key == "Max") {
      max_ = std::string(value);
    } else if (section_ == "Link Width" && key == "Current") {
      put(facts, line, "smi.width",
          {{"gpu", gpu_}, {"current", std::string(value)}, {"max", max_}});
    }
    return true;
  }

 private:
  bool open_ = false;
  std::string gpu_;
  std::string section_;
  std::string max_;
};

/// `nvidia-smi nvlink -s`: "GPU 0: NVIDIA H100 (UUID: ...)", "Link 3: 26.562 GB/s", "Link 4:
/// <inactive>".
class NvlinkReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "nvidia-smi nvlink -s"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::vector<std::string_view>& words = line.words;
    if (words.size() >= 3 && words[0] == "GPU" && words[1].back() == ':' &&
        line.bare.find("UUID") != std::string_view::npos) {
      gpu_ = std::string(words[1].substr(0, words[1].size() - 1));
      return true;
    }
    if (gpu_.empty() || words.size() < 3 || words[0] != "Link" || words[1].back() != ':') {
      return false;
    }
    const bool inactive = words[2].find("inactive") != std::string_view::npos;
    put(facts, line, "nvlink.link",
        {{"gpu", gpu_},
         {"link", std::string(words[1].substr(0, words[1].size() - 1))},
         {"state", inactive ? "inactive" : "active"}});
    return true;
  }

 private:
  std::string gpu_;
};

}  // namespace

void add_gpu_readers(LineReaders& readers) {
  readers.push_back(std::make_unique<TopoReader>());
  readers.push_back(std::make_unique<SmiReader>());
  readers.push_back(std::make_unique<NvlinkReader>());
}

}  // namespace busbw::facts
