// The machine reader: NVLink wiring and NICs.
#include <algorithm>

#include "sim/core/quantity.h"
#include "topologies/machine_reader.h"

namespace busbw::topologies {
namespace {

constexpr std::int64_t kMaxNvLinks = 64;
constexpr std::int64_t kMaxPorts = 8;
constexpr std::int64_t kMaxLanes = 12;  // of an InfiniBand port
constexpr std::int64_t kUsualLanes = 4;

}  // namespace

void MachineReader::read_nvlink() {
  if (!top_.has("nvlink")) {
    return;
  }
  const std::optional<YamlNode> node = top_.mapping("nvlink");
  if (!node) {
    return;
  }
  MappingReader nvlink(*node, "nvlink", problems_);
  std::int32_t links_of_gpu = static_cast<std::int32_t>(kMaxNvLinks);
  if (gpu_ != nullptr) {
    links_of_gpu = gpu_->nvlink_links;
    machine_.nvlink_generation = gpu_->nvlink_generation;
  }
  if (const std::optional<std::int64_t> generation = nvlink.integer("generation", 1, 99)) {
    if (catalog_.nvlink_generation(static_cast<std::int32_t>(*generation)) == nullptr) {
      nvlink.problem("generation", fmt::format("unknown NVLink generation {}", *generation));
    } else if (gpu_ != nullptr && *generation > gpu_->nvlink_generation) {
      nvlink.problem("generation", fmt::format("generation is {}, but '{}' has NVLink {}",
                                               *generation, gpu_->name, gpu_->nvlink_generation));
    }
    machine_.nvlink_generation = static_cast<std::int32_t>(*generation);
  }
  read_nvlink_wiring(nvlink, links_of_gpu);
  nvlink.finish();
}

void MachineReader::read_nvlink_wiring(MappingReader& nvlink, std::int32_t links_of_gpu) {
  const std::vector<NvLinkWiring> wirings = {NvLinkWiring::kNone,     NvLinkWiring::kPairs,
                                             NvLinkWiring::kMesh,     NvLinkWiring::kHybridCubeMesh,
                                             NvLinkWiring::kNvSwitch, NvLinkWiring::kMatrix};
  std::vector<std::string> names;
  names.reserve(wirings.size());
  for (const NvLinkWiring wiring : wirings) {
    names.push_back(to_string(wiring));
  }
  const std::string chosen = nvlink.has("wiring") ? nvlink.choice("wiring", names).value_or("")
                                                  : nvlink.required_choice("wiring", {""});
  const auto found = std::find(names.begin(), names.end(), chosen);
  if (found == names.end()) {
    // The other keys depend on the wiring; ask for them so that they are not called unknown.
    nvlink.node("links_per_pair");
    nvlink.node("links");
    nvlink.node("matrix");
    return;
  }
  machine_.wiring = wirings[static_cast<std::size_t>(found - names.begin())];
  const std::int32_t gpus = static_cast<std::int32_t>(machine_.gpus.size());
  std::string counted = "wiring";  // the key that sets the number of links of a GPU
  if (machine_.wiring == NvLinkWiring::kPairs || machine_.wiring == NvLinkWiring::kMesh) {
    counted = "links_per_pair";
    const std::int32_t links = read_needed(nvlink, counted, 1, kMaxNvLinks).value_or(0);
    if (machine_.wiring == NvLinkWiring::kMesh) {
      machine_.nvlink_matrix = mesh_matrix(gpus, links);
    } else if (gpus % 2 == 0) {
      machine_.nvlink_matrix = pairs_matrix(gpus, links);
    } else {
      nvlink.problem("wiring",
                     fmt::format("wiring 'pairs' needs an even number of GPUs, not {}", gpus));
    }
  } else if (machine_.wiring == NvLinkWiring::kHybridCubeMesh) {
    if (gpus == 8) {
      machine_.nvlink_matrix = hybrid_cube_mesh_matrix();
    } else if (gpus > 0) {
      nvlink.problem("wiring", fmt::format("wiring 'hybrid cube mesh' needs 8 GPUs, not {}", gpus));
    }
  } else if (machine_.wiring == NvLinkWiring::kMatrix) {
    counted = "matrix";
    machine_.nvlink_matrix = read_matrix(nvlink).value_or(LinkMatrix());
  } else if (machine_.wiring == NvLinkWiring::kNvSwitch) {
    counted = nvlink.has("links") ? "links" : "wiring";
    machine_.nvlink_links_per_gpu = static_cast<std::int32_t>(
        nvlink.integer("links", 1, kMaxNvLinks).value_or(gpu_ == nullptr ? 1 : links_of_gpu));
  }
  for (const std::vector<std::int32_t>& row : machine_.nvlink_matrix) {
    std::int32_t sum = 0;
    for (const std::int32_t links : row) {
      sum += links;
    }
    machine_.nvlink_links_per_gpu = std::max(machine_.nvlink_links_per_gpu, sum);
  }
  if (gpu_ == nullptr || machine_.wiring == NvLinkWiring::kNone) {
    return;
  }
  if (links_of_gpu == 0) {
    nvlink.problem("wiring", fmt::format("'{}' has no NVLink", gpu_->name));
  } else if (machine_.nvlink_links_per_gpu > links_of_gpu) {
    nvlink.problem(counted, fmt::format("wiring takes {} NVLinks of a GPU, but '{}' has {}",
                                        machine_.nvlink_links_per_gpu, gpu_->name, links_of_gpu));
  }
}

std::optional<LinkMatrix> MachineReader::read_matrix(MappingReader& nvlink) {
  if (!nvlink.has("matrix")) {
    nvlink.required_sequence("matrix");
    return std::nullopt;
  }
  const YamlNode node = nvlink.sequence("matrix").value_or(YamlNode());
  if (!node.is_sequence() || machine_.gpus.empty()) {
    return std::nullopt;  // reported
  }
  const std::size_t size = machine_.gpus.size();
  const std::size_t before = problems_.all().size();
  if (node.elements().size() != size) {
    nvlink.problem("matrix",
                   fmt::format("matrix has {} rows for {} GPUs", node.elements().size(), size));
    return std::nullopt;
  }
  LinkMatrix matrix;
  for (const YamlNode& row : node.elements()) {
    if (!row.is_sequence() || row.elements().size() != size) {
      problems_.add(row.where(), fmt::format("expected a list of {} numbers of links", size));
      continue;
    }
    std::vector<std::int32_t> links;
    for (const YamlNode& cell : row.elements()) {
      const std::optional<std::int64_t> number =
          cell.is_scalar() ? parse_integer(cell.text()) : std::nullopt;
      if (!number || *number < 0 || *number > kMaxNvLinks) {
        problems_.add(cell.where(), fmt::format("expected a number of links from 0 to {}, found {}",
                                                kMaxNvLinks, cell.describe()));
      }
      links.push_back(static_cast<std::int32_t>(number.value_or(0)));
    }
    matrix.push_back(std::move(links));
  }
  if (problems_.all().size() != before) {
    return std::nullopt;
  }
  for (std::size_t a = 0; a < size; a++) {
    for (std::size_t b = 0; b <= a; b++) {
      const Location where = node.elements()[a].elements()[b].where();
      if (a == b && matrix[a][a] != 0) {
        problems_.add(where, fmt::format("GPU {} has {} links to itself", a, matrix[a][a]));
      } else if (matrix[a][b] != matrix[b][a]) {
        problems_.add(where, fmt::format("{} links from GPU {} to GPU {}, but {} back",
                                         matrix[a][b], a, b, matrix[b][a]));
      }
    }
  }
  return matrix;
}

void MachineReader::read_nics() {
  const std::optional<YamlNode> nics = top_.sequence("nics");
  if (!nics) {
    return;
  }
  for (const YamlNode& node : nics->elements()) {
    read_nic(node);
  }
}

void MachineReader::read_nic(const YamlNode& node) {
  MappingReader reader(node, "NIC", problems_);
  MachineNic nic;
  nic.where = reader.where();
  nic.name = reader.required_text("name");
  if (!nic.name.empty()) {
    claim_name(reader.where("name"), "NIC", nic.name);
  }
  nic.netdev = reader.text("netdev");
  if (nic.netdev && *nic.netdev != nic.name) {
    claim_name(reader.where("netdev"), fmt::format("interface of NIC '{}'", nic.name), *nic.netdev);
  }
  const NicModel* model = nullptr;
  nic.model = reader.text("model").value_or("");
  if (!nic.model.empty()) {
    model = catalog_.nic(nic.model);
    if (model == nullptr) {
      reader.problem("model", unknown("NIC model", nic.model, catalog_.nics));
    } else {
      nic.model = model->name;
    }
  }
  read_nic_rates(reader, nic, model);
  read_nic_link_layer(reader, nic, model);
  read_nic_place(reader, nic, model);
  reader.finish();
  machine_.nics.push_back(std::move(nic));
}

std::optional<Bandwidth> MachineReader::read_infiniband(MappingReader& reader,
                                                        const MachineNic& nic) {
  const std::optional<std::string> name = reader.text("infiniband");
  const std::optional<std::int64_t> lanes = reader.integer("lanes", 1, kMaxLanes);
  if (!name) {
    if (lanes && !reader.has("infiniband")) {
      reader.problem("lanes", "'lanes' needs 'infiniband'");
    }
    return std::nullopt;
  }
  const InfiniBandRate* rate = catalog_.infiniband_rate(*name);
  if (rate == nullptr) {
    reader.problem("infiniband", unknown("InfiniBand rate", *name, catalog_.infiniband));
    return std::nullopt;
  }
  if (lanes && std::find(rate->lanes.begin(), rate->lanes.end(), *lanes) == rate->lanes.end()) {
    std::vector<std::string> allowed;
    for (const std::int32_t width : rate->lanes) {
      allowed.push_back(std::to_string(width));
    }
    reader.problem("lanes", fmt::format("{} lanes of {}; allowed: {}", *lanes, rate->name,
                                        join(allowed, ", ")));
    return std::nullopt;
  }
  if (reader.has("rate")) {
    reader.problem("rate", fmt::format("NIC '{}' has a rate and an InfiniBand rate", nic.name));
  }
  return rate->data * lanes.value_or(kUsualLanes);
}

void MachineReader::read_nic_rates(MappingReader& reader, MachineNic& nic, const NicModel* model) {
  const std::optional<Bandwidth> written = reader.bandwidth("rate");
  const std::optional<Bandwidth> infiniband = read_infiniband(reader, nic);
  const std::optional<Bandwidth> rate = written ? written : infiniband;
  const std::string key = written ? "rate" : "infiniband";
  if (rate) {
    nic.rate = *rate;
  } else if (model != nullptr) {
    nic.rate = model->port_rate;
  } else if (!reader.has("rate") && !reader.has("infiniband") && nic.model.empty()) {
    problems_.add(reader.where(), fmt::format("NIC '{}' has neither a model nor a rate", nic.name));
  }
  if (written && *written <= Bandwidth()) {
    reader.problem("rate", fmt::format("rate of NIC '{}' is 0", nic.name));
  }
  if (rate && model != nullptr && *rate > model->port_rate) {
    reader.problem(
        key, fmt::format("rate {} of NIC '{}' is above the port rate {} of '{}'", to_string(*rate),
                         nic.name, to_string(model->port_rate), model->name));
  }
  nic.send_rate = reader.bandwidth("send_rate");
  if (nic.send_rate && *nic.send_rate <= Bandwidth()) {
    reader.problem("send_rate", fmt::format("send_rate of NIC '{}' is 0", nic.name));
  } else if (nic.send_rate && nic.rate > Bandwidth() && *nic.send_rate > nic.rate) {
    reader.problem("send_rate",
                   fmt::format("send_rate {} of NIC '{}' is above its rate {}",
                               to_string(*nic.send_rate), nic.name, to_string(nic.rate)));
  }
  nic.reported_speed = reader.bandwidth("reported_speed");
  nic.ports = static_cast<std::int32_t>(reader.integer("ports", 1, kMaxPorts).value_or(1));
  if (model != nullptr && nic.ports > model->ports) {
    reader.problem("ports", fmt::format("NIC '{}' uses {} ports, but '{}' has {}", nic.name,
                                        nic.ports, model->name, model->ports));
  }
}

void MachineReader::read_nic_link_layer(MappingReader& reader, MachineNic& nic,
                                        const NicModel* model) {
  const std::vector<std::string> names = {"infiniband", "ethernet"};
  const std::optional<std::string> chosen = reader.choice("link_layer", names);
  if (reader.has("infiniband")) {
    nic.link_layer = NicLinkLayer::kInfiniBand;
    if (chosen && *chosen != names.front()) {
      reader.problem("link_layer",
                     fmt::format("NIC '{}' has an InfiniBand rate, but the link layer '{}'",
                                 nic.name, *chosen));
    }
  } else if (chosen) {
    nic.link_layer = *chosen == "infiniband" ? NicLinkLayer::kInfiniBand : NicLinkLayer::kEthernet;
  } else if (model != nullptr && model->link_layers.size() == 1) {
    nic.link_layer = model->link_layers.front();
  } else if (model != nullptr && !reader.has("link_layer")) {
    problems_.add(reader.where(), fmt::format("NIC '{}' needs a link_layer: '{}' can be {}",
                                              nic.name, model->name, quoted_list(names)));
  }
  if (chosen && model != nullptr &&
      std::find(model->link_layers.begin(), model->link_layers.end(), nic.link_layer) ==
          model->link_layers.end()) {
    reader.problem("link_layer", fmt::format("'{}' has no link layer '{}'", model->name, *chosen));
  }
  const std::optional<bool> rdma = reader.boolean("rdma");
  nic.rdma = rdma.value_or(model != nullptr && model->rdma);
  if (rdma.value_or(false) && model != nullptr && !model->rdma) {
    reader.problem("rdma", fmt::format("'{}' has no RDMA", model->name));
  }
}

void MachineReader::read_nic_place(MappingReader& reader, MachineNic& nic, const NicModel* model) {
  const std::string attach = reader.required_text("attach");
  if (attach == "virtual") {
    for (const std::string key : {"model", "pcie_lanes", "pcie_generation"}) {
      if (reader.has(key)) {
        reader.node(key);
        reader.problem(key, fmt::format("NIC '{}' is virtual and has no {}", nic.name, key));
      }
    }
    return;
  }
  if (nic.model.empty() && !attach.empty()) {
    problems_.add(reader.where(),
                  fmt::format("NIC '{}' hangs on '{}' but has no model", nic.name, attach));
  }
  const std::int32_t lanes = model == nullptr ? 16 : model->pcie_lanes;
  const std::int32_t generation = read_generation(reader, "pcie_generation", 0);
  nic.pcie_lanes = read_lanes(reader, "pcie_lanes", lanes);
  if (model != nullptr && nic.pcie_lanes > lanes) {
    reader.problem("pcie_lanes", fmt::format("pcie_lanes is {}, but '{}' has {}", nic.pcie_lanes,
                                             model->name, lanes));
  }
  if (attach.empty() ||
      !check_place(reader.where("attach"), fmt::format("NIC '{}'", nic.name), attach)) {
    return;
  }
  nic.attach = attach;
  std::int32_t possible = machine_.pcie_generation_at(attach);
  if (model != nullptr) {
    possible = std::min(possible, model->pcie_generation);
  }
  nic.pcie_generation = generation == 0 ? possible : generation;
  if (generation > possible) {
    reader.problem("pcie_generation",
                   fmt::format("pcie_generation is {}, but NIC '{}' and '{}' can do {} at most",
                               generation, nic.name, attach, possible));
  }
}

}  // namespace busbw::topologies
