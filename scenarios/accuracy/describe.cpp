// See describe.h. NICs are in describe_nic.cpp.
#include "scenarios/accuracy/describe.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "scenarios/accuracy/describe_nic.h"
#include "scenarios/accuracy/gpu_buses.h"
#include "sim/core/text.h"

namespace busbw::scenarios::accuracy {
namespace {

using topologies::Catalog;
using topologies::GpuModel;
using topologies::NvLinkWiring;

constexpr std::int32_t kMostHosts = 4096;
constexpr std::int32_t kMostGpus = 72;  // as a machine file

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Letters and digits alone, lower case, with '|' where something stood between two digits: "H100
/// SXM5 (80GB)" is "h100sxm5|80gb". '?' stays, as a digit.
std::string squeezed(std::string_view text) {
  const auto numeric = [](char c) { return is_digit(c) || c == '?'; };
  std::string result;
  bool gap = false;
  for (const char c : lower(text)) {
    const bool kept = numeric(c) || (c >= 'a' && c <= 'z');
    if (kept) {
      if (gap && numeric(c) && !result.empty() && numeric(result.back())) {
        result += '|';
      }
      result += c;
    }
    gap = !kept;
  }
  return result;
}

/// Whether `name` stands in `text`, '?' for any digit, and no digit goes on where it ends with one:
/// "A10" is not in "A100".
bool stands_in(const std::string& name, const std::string& text) {
  const auto same = [](char theirs, char mine) {
    return mine == '?' ? is_digit(theirs) : mine == theirs;
  };
  for (auto at = text.begin();; ++at) {
    at = std::search(at, text.end(), name.begin(), name.end(), same);
    if (at == text.end()) {
      return false;
    }
    const auto end = at + static_cast<std::ptrdiff_t>(name.size());
    const bool number = is_digit(name.back()) || name.back() == '?';
    if (!(number && end != text.end() && is_digit(*end))) {
      return true;
    }
  }
}

template <class Model>
const Model* model_in(const std::string& text, const std::vector<Model>& models) {
  const std::string whole = squeezed(text);
  const Model* best = nullptr;
  std::size_t longest = 0;
  for (const Model& model : models) {
    std::vector<std::string> names = model.aliases;
    names.push_back(model.name);
    for (const std::string& name : names) {
      const std::string short_name = squeezed(name);
      if (short_name.size() > longest && stands_in(short_name, whole)) {
        best = &model;
        longest = short_name.size();
      }
    }
  }
  return best;
}

/// The number before or after `mark` in `text`: number_at("PCIe Gen4 x16", "Gen") is 4.
std::optional<std::int32_t> number_after(const std::string& text, const std::string& mark) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    std::size_t end = at + mark.size();
    while (end < text.size() && is_digit(text[end])) {
      ++end;
    }
    if (end > at + mark.size()) {
      const auto number = parse_integer(text.substr(at + mark.size(), end - at - mark.size()));
      return number ? std::optional(static_cast<std::int32_t>(*number)) : std::nullopt;
    }
  }
  return std::nullopt;
}

/// The number before `mark`: 4 of "4 per switch".
std::optional<std::int32_t> number_before(const std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  std::size_t first = at == std::string::npos ? 0 : at;
  while (first > 0 && is_digit(text[first - 1])) {
    --first;
  }
  const auto number =
      at == std::string::npos ? std::nullopt : parse_integer(text.substr(first, at - first));
  return number ? std::optional(static_cast<std::int32_t>(*number)) : std::nullopt;
}

bool has(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

/// Whether a word of `text` begins with `word`: "pod" in "two pods", not in "superpod".
bool has_word(const std::string& text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    if (at == 0 || text[at - 1] < 'a' || text[at - 1] > 'z') {
      return true;
    }
  }
  return false;
}

/// The parts of a description, filled in order; the first reason ends it.
class Describer {
 public:
  Describer(const Record& record, const Catalog& catalog)
      : system_(record.system), notes_(lower(record.notes)), catalog_(catalog) {}

  Description run() {
    facts_.pods = has_word(notes_, "pod") && !says_aligned();
    const bool known = read_size() && read_gpu() && read_wiring() && read_nic();
    if (known) {
      read_pcie();
      read_cpu();
      read_buses();
      known_conditions_ = read_conditions();
    }
    if (known && known_conditions_) {
      result_.facts = facts_;
    }
    return std::move(result_);
  }

 private:
  bool fail(std::string reason) {
    result_.reason = std::move(reason);
    return false;
  }
  void assume(std::string text) { result_.assumptions.push_back(std::move(text)); }

  bool read_size() {
    if (!system_.nodes) {
      return fail("the number of nodes is not given");
    }
    facts_.hosts = *system_.nodes;
    if (facts_.hosts > kMostHosts) {
      return fail(fmt::format("{} nodes: at most {} are built", facts_.hosts, kMostHosts));
    }
    if (system_.gpus_per_node) {
      facts_.gpus = *system_.gpus_per_node;
    } else if (system_.ranks && *system_.ranks % facts_.hosts == 0) {
      facts_.gpus = *system_.ranks / facts_.hosts;
    } else {
      return fail("the number of GPUs per node is not given");
    }
    if (facts_.gpus > kMostGpus) {
      return fail(fmt::format("{} GPUs in a node: at most {} are built", facts_.gpus, kMostGpus));
    }
    if (system_.ranks && *system_.ranks != facts_.gpus * facts_.hosts) {
      return fail(fmt::format("{} ranks contradict {} nodes with {} GPUs each", *system_.ranks,
                              facts_.hosts, facts_.gpus));
    }
    return true;
  }

  bool read_gpu() {
    if (has(lower(system_.gpu), "mi300") || !system_.intra.other.empty()) {
      return fail(fmt::format("'{}' runs RCCL over {}: this is a model of NCCL on NVIDIA GPUs",
                              system_.gpu,
                              system_.intra.other.empty() ? "xGMI" : system_.intra.other));
    }
    facts_.gpu = gpu_in(system_.gpu, catalog_);
    if (facts_.gpu == nullptr && lower(system_.gpu).rfind("geforce", 0) == 0) {
      facts_.gpu = catalog_.gpu("RTX 4090");
      assume("the GeForce model is not named: RTX 4090");
    }
    if (facts_.gpu == nullptr) {
      return fail(system_.gpu.empty()
                      ? "the GPU is not named"
                      : fmt::format("GPU '{}' is not in the catalogue", system_.gpu));
    }
    return true;
  }

  bool read_wiring() {
    const std::string nvlink = unless_denied(lower(system_.intra.nvlink));
    const std::string nv_switch = unless_denied(lower(system_.intra.nv_switch));
    const bool no_nvlink = nvlink.empty() && !system_.intra.nvlink.empty();
    const std::string kind = lower(system_.intra.kind);
    facts_.peer_to_peer = system_.intra.p2p;
    const bool linked = has(nv_switch, "nvl72") || has(nv_switch, "mnnvl") ||
                        has(nv_switch, "nvswitch") || !nvlink.empty() || has(kind, "mesh");
    if (linked && facts_.gpu->nvlink_generation == 0) {
      return fail(fmt::format("'{}' has no NVLink, but '{}' is said to join them", facts_.gpu->name,
                              said_to_join()));
    }
    if (has(nv_switch, "nvl72") || has(nv_switch, "mnnvl")) {
      constexpr std::int32_t kRack = 72;  // GPUs of a GB200 or GB300 NVL72
      facts_.wiring = NvLinkWiring::kNvSwitch;
      facts_.hosts_per_nvlink_domain = std::min(facts_.hosts, kRack / facts_.gpus);
      return true;
    }
    if (has(nv_switch, "nvswitch")) {
      facts_.wiring = NvLinkWiring::kNvSwitch;
    } else if (!nvlink.empty() || has(kind, "mesh")) {
      return read_direct_links(nvlink + " " + kind);
    } else if (kind.empty() && !no_nvlink && facts_.gpus > 1 && is_on_a_board(*facts_.gpu)) {
      assume_board();
    } else {
      read_placement(kind);
    }
    return true;
  }

  /// NVLink without a word of how: the usual board of so many GPUs.
  void assume_board() {
    constexpr std::int32_t kSwitched = 12;  // links of an A100
    constexpr std::int32_t kCube = 8;
    facts_.links_per_pair = facts_.gpu->nvlink_links / std::max(1, facts_.gpus - 1);
    facts_.wiring = facts_.gpu->nvlink_links >= kSwitched || facts_.gpus > kCube
                        ? NvLinkWiring::kNvSwitch
                    : facts_.gpus == kCube ? NvLinkWiring::kHybridCubeMesh
                                           : NvLinkWiring::kMesh;
    assume(fmt::format("how the GPUs are joined is not said: {}", to_string(facts_.wiring)));
  }

  [[nodiscard]] std::string said_to_join() const {
    std::vector<std::string> words;
    for (const std::string* word :
         {&system_.intra.nvlink, &system_.intra.nv_switch, &system_.intra.kind}) {
      if (!word->empty()) {
        words.push_back(*word);
      }
    }
    return join(words, ", ");
  }

  /// NVLinks from GPU to GPU without a switch.
  bool read_direct_links(const std::string& text) {
    if (has(text, "cube")) {
      facts_.wiring = NvLinkWiring::kHybridCubeMesh;
      return facts_.gpus <= 8 || fail("a hybrid cube mesh has eight GPUs at most");
    }
    const bool pairs = has(text, "bridge") || has(text, "pairs of gpus");
    if (pairs && facts_.gpus % 2 != 0) {
      return fail(fmt::format("{} GPUs in pairs", facts_.gpus));
    }
    facts_.wiring = pairs ? NvLinkWiring::kPairs : NvLinkWiring::kMesh;
    const topologies::NvLinkGeneration* generation =
        catalog_.nvlink_generation(facts_.gpu->nvlink_generation);
    std::optional<std::int32_t> links = number_after(text, "nv");
    if (const auto said = number_before(text, " links per pair")) {
      links = said;
    }
    if (system_.intra.per_pair && generation != nullptr) {
      links = static_cast<std::int32_t>(system_.intra.per_pair->bps() / generation->per_link.bps());
    }
    // A board of four: each GPU's links are shared out over the other three.
    constexpr std::int32_t kBoard = 4;
    const std::int32_t others =
        facts_.wiring == NvLinkWiring::kPairs ? 1 : std::max(kBoard, facts_.gpus) - 1;
    facts_.links_per_pair = links.value_or(facts_.gpu->nvlink_links / others);
    if (!links && facts_.gpus > 1) {
      assume(fmt::format("{} NVLinks a pair: the links of a GPU over {} others",
                         facts_.links_per_pair, others));
    }
    return facts_.links_per_pair > 0 || fail(fmt::format("no NVLink a pair in '{}'", text));
  }

  void read_placement(const std::string& kind) {
    const auto said = system_.conditions.find("gpu_placement");
    const std::string text =
        kind + " " + lower(said == system_.conditions.end() ? "" : said->second);
    const std::optional<std::int32_t> per_switch = number_before(text, " per switch");
    if (per_switch.value_or(0) > 0 || has(text, "two per switch") || has(text, "two pairs")) {
      facts_.placement = Placement::kSwitches;
      facts_.gpus_per_switch = per_switch.value_or(2);
    } else if (has(text, "different sockets") || has(text, "sys")) {
      facts_.placement = Placement::kAcrossSockets;
    } else if (has(text, "same switch") || has(text, "one switch") || has(text, "pix")) {
      facts_.placement = Placement::kSwitches;
      facts_.gpus_per_switch = facts_.gpus;
    } else if (has(text, "phb") || has(text, "same socket") || has(text, "one socket")) {
      facts_.placement = Placement::kOneSocket;
    } else if (facts_.gpus > 1) {
      assume("the place of the GPUs is not said: root ports of both sockets");
    }
  }

  bool read_nic() {
    const NicDescription nic = describe_nic(system_, facts_.hosts, catalog_);
    if (!nic.reason.empty()) {
      return fail(nic.reason);
    }
    result_.assumptions.insert(result_.assumptions.end(), nic.assumptions.begin(),
                               nic.assumptions.end());
    facts_.nic = nic.facts;
    facts_.mtu = system_.nic.mtu;
    facts_.gpudirect = system_.nic.gdr.value_or(usual_gpudirect());
    return true;
  }

  /// Whether RDMA goes from GPU memory where nobody says so.
  bool usual_gpudirect() {
    const bool rdma =
        facts_.nic.carrier == Carrier::kInfiniBand || facts_.nic.carrier == Carrier::kRoce;
    const bool software = facts_.nic.model != nullptr && facts_.nic.model->software_verbs;
    constexpr std::int32_t kAmpere = 80;
    if (rdma && (software || facts_.gpu->sm < kAmpere)) {
      assume(software ? "no GPUDirect RDMA: the driver moves the data of verbs in software"
                      : "GPUDirect RDMA is not said: none, a module of its own before Ampere");
      return false;
    }
    return true;
  }

  void read_pcie() {
    std::optional<std::int32_t> generation = number_after(system_.pcie, "Gen");
    if (!generation) {
      generation = number_after(system_.intra.kind, "Gen");
    }
    if (generation && catalog_.pcie_generation(*generation) != nullptr) {
      facts_.pcie_generation = generation;
    }
    const std::optional<std::int32_t> lanes = number_after(system_.pcie, " x");
    constexpr std::array<std::int32_t, 5> kWidths = {1, 2, 4, 8, 16};
    if (lanes && std::find(kWidths.begin(), kWidths.end(), *lanes) != kWidths.end()) {
      facts_.pcie_lanes = lanes;
    }
  }

  void read_cpu() {
    if (system_.cpu.empty()) {
      return;
    }
    facts_.cpu = cpu_in(system_.cpu, catalog_);
    if (facts_.cpu == nullptr) {
      assume(fmt::format("CPU '{}' is not in the catalogue: as if it were not said", system_.cpu));
    }
  }

  void read_buses() {
    if (facts_.pcie_generation || !system_.cpu.empty()) {
      return;
    }
    facts_.cpu_by_buses = cpu_with_buses(system_.gpu_buses, catalog_);
    if (facts_.cpu_by_buses != nullptr) {
      assume(fmt::format(
          "the bus numbers of the GPUs{} are those of hosts with {}: PCIe Gen{}",
          system_.gpu_buses_of.empty() ? "" : fmt::format(" of '{}'", system_.gpu_buses_of),
          facts_.cpu_by_buses->name, facts_.cpu_by_buses->pcie_generation));
    }
  }

  bool read_conditions() {
    for (const auto& [name, value] : system_.conditions) {
      if (!read_condition(name, value)) {
        return false;
      }
    }
    return true;
  }

  bool read_condition(const std::string& name, const std::string& value) {
    const std::string word = lower(value);
    if (name == "acs") {
      facts_.acs_redirect = word == "redirect" || word == "on" || word == "true";
    } else if (name == "gdr") {
      facts_.gpudirect = word == "true";
    } else if (name == "mtu" || name == "nps") {
      const std::optional<std::int64_t> number = parse_integer(value);
      if (!number || *number < 1 || *number > 65536) {
        return fail(fmt::format("condition {} '{}' is no number", name, value));
      }
      if (name == "mtu") {
        facts_.mtu = number;
      } else {
        facts_.numa_per_socket = static_cast<std::int32_t>(*number);
      }
    } else if (name == "gpu_nic_path") {
      facts_.gpu_nic_path = value;
    } else if (name == "iommu") {
      facts_.dma_translation = word == "translated";
    } else if (name != "gpu_placement") {
      assume(fmt::format("condition {} '{}' is not modelled", name, value));
    }
    return true;
  }

  [[nodiscard]] bool says_aligned() const {
    return has_word(notes_, "aligned") && !has(notes_, "not aligned");
  }

  const RecordSystem& system_;
  const std::string notes_;
  const Catalog& catalog_;
  SystemFacts facts_;
  Description result_;
  bool known_conditions_ = false;
};

}  // namespace

std::string unless_denied(const std::string& text) {
  for (const char* word : {"none", "no", "n/a", "na", "not", "without", "false", "0"}) {
    if (text.rfind(word, 0) == 0) {
      const std::size_t end = std::string_view(word).size();
      if (end == text.size() || (!is_digit(text[end]) && (text[end] < 'a' || text[end] > 'z'))) {
        return "";
      }
    }
  }
  return text;
}

bool is_on_a_board(const GpuModel& gpu) {
  return gpu.nvlink_generation > 0 && (has(gpu.name, "SXM") || gpu.chip_to_chip.has_value());
}

const GpuModel* gpu_in(const std::string& text, const Catalog& catalog) {
  return model_in(text, catalog.gpus);
}
const topologies::NicModel* nic_in(const std::string& text, const Catalog& catalog) {
  return model_in(text, catalog.nics);
}
const topologies::CpuModel* cpu_in(const std::string& text, const Catalog& catalog) {
  return model_in(text, catalog.cpus);
}

Description describe(const Record& record, const Catalog& catalog) {
  return Describer(record, catalog).run();
}

}  // namespace busbw::scenarios::accuracy
