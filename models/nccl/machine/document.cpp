// See document.h. Source: NCCL 2.18 to 2.30, src/graph/xml.cc, topo.cc; devices' properties from
// src/transport/net_ib.cc and net_socket.cc.
#include "models/nccl/machine/document.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "models/nccl/graph/release.h"
#include "sim/core/check.h"

namespace busbw::nccl {
namespace {

using graph::Element;
using topologies::Machine;
using topologies::MachineNic;

constexpr const char* kBridge = "0x060400";
constexpr const char* kGpu = "0x030200";
constexpr const char* kInfiniBandNic = "0x020700";
constexpr const char* kEthernetNic = "0x020000";
constexpr const char* kNvSwitch = "0x068000";
constexpr const char* kInvisible = "fffffff:ff:ff.0";  // a remote end that the driver hides
constexpr std::int64_t kNvidia = 0x10de;
constexpr std::int64_t kC2cNominal = 45'000'000'000;  // bytes/s of one link of NVLink-C2C
constexpr std::int64_t kC2cReported = 44'712;         // MB/s that NVML reports of it
constexpr std::int64_t kPicoseconds = 1'000'000;      // in a microsecond, the unit of `latency`
constexpr const char* kMostIbConnections = "131072";  // queue pairs of a ConnectX
constexpr const char* kMostSocketConnections = "65536";

/// The family as NCCL puts it together from cpuid: base + 16 x extended. Linux and our catalogue
/// add the two; only a base of 15 is extended.
std::int32_t family_of(const topologies::CpuModel& cpu) {
  constexpr std::int32_t kExtended = 15;
  return cpu.family <= kExtended ? cpu.family : kExtended + ((cpu.family - kExtended) << 4);
}

class Writer {
 public:
  Writer(const Machine& machine, const topologies::Catalog& catalog, const Inventory& inventory,
         const HostDecision& host)
      : machine_(machine),
        catalog_(catalog),
        inventory_(inventory),
        host_(host),
        gpu_(catalog.gpu(machine.gpu_model)),
        cpu_(catalog.cpu(machine.cpu_model)) {
    CHECK(gpu_ != nullptr && cpu_ != nullptr, "machine '{}' names unknown models", machine.name);
    CHECK(!machine.gpus.empty(), "machine '{}' has no GPU", machine.name);
  }

  Element run(bool merged) {
    const bool from_file = !machine_.topology_file.empty();
    merged = merged && !from_file;
    system_.tag = "system";
    system_.set("version", "1");
    number_all();
    const std::size_t before = merged ? 1 : machine_.gpus.size();
    for (std::size_t i = 0; i < before; i++)
      add_gpu(i);
    if (from_file)
      cpus_by_number();
    for (const NetDevice& device : host_.data_devices)
      add_net(device);
    if (from_file)
      cpus_by_number();
    sorted_ = !merged;  // what the merge adds to a parent stands behind what it has
    for (std::size_t i = before; i < machine_.gpus.size(); i++)
      add_gpu(i);
    return std::move(system_);
  }

 private:
  /// Vendors' files list the CPUs in order of their numbers.
  void cpus_by_number() {
    std::stable_sort(system_.children.begin(), system_.children.end(),
                     [](const Element& a, const Element& b) {
                       return a.number("numaid", 0) < b.number("numaid", 0);
                     });
  }

  [[nodiscard]] const topologies::PcieSwitch* find_switch(const std::string& name) const {
    const auto found =
        std::find_if(machine_.pcie_switches.begin(), machine_.pcie_switches.end(),
                     [&](const topologies::PcieSwitch& known) { return known.name == name; });
    return found == machine_.pcie_switches.end() ? nullptr : &*found;
  }

  std::string next_id() {
    constexpr std::int32_t kBuses = 256;
    numbered_++;
    return fmt::format("{:04x}:{:02x}:00.0", numbered_ / kBuses, numbered_ % kBuses);
  }

  void number_above(const std::string& element) {
    const topologies::PcieSwitch* parent = find_switch(element);
    if (parent == nullptr || switch_ids_.count(element) != 0)
      return;
    number_above(parent->attach);
    switch_ids_[element] = next_id();
  }

  void number_all() {
    for (const topologies::MachineGpu& gpu : machine_.gpus) {
      number_above(gpu.attach);
      gpu_ids_.push_back(next_id());
    }
    for (const MachineNic& nic : machine_.nics) {
      if (nic.attach)
        number_above(*nic.attach);
      nic_ids_.push_back(nic.attach ? next_id() : "");
    }
  }

  /// A pci element as sysfs describes it.
  [[nodiscard]] Element pci(const std::string& id, const char* device_class,
                            std::int32_t generation, std::int32_t lanes) const {
    const topologies::PcieGeneration* link = catalog_.pcie_generation(generation);
    CHECK(link != nullptr, "PCIe generation {}", generation);
    Element element;
    element.tag = "pci";
    element.set("busid", id);
    element.set("class", device_class);
    element.set("link_speed", fmt::format("{}.{} GT/s PCIe", link->megatransfers / 1000,
                                          link->megatransfers % 1000 / 100));
    element.set("link_width", std::to_string(lanes));
    return element;
  }

  /// The pci child of that bus id, added if it is not there. Sysfs is read with the children in
  /// order of bus id.
  Element& child_pci(Element& parent, Element made) const {
    const std::string id = made.text("busid");
    for (Element& child : parent.children) {
      if (child.text("busid") == id)
        return child;
    }
    auto before = parent.children.end();
    if (sorted_) {
      before = std::find_if(parent.children.begin(), parent.children.end(),
                            [&](const Element& child) { return child.text("busid") > id; });
    }
    return *parent.children.insert(before, std::move(made));
  }

  /// The element of a CPU or PCIe switch, added with all above it if it is not there.
  Element& element_of(const std::string& name) {
    if (const topologies::PcieSwitch* found = find_switch(name)) {
      const std::int32_t generation =
          std::min(found->generation, machine_.pcie_generation_at(found->attach));
      return child_pci(element_of(found->attach),
                       pci(switch_ids_.at(name), kBridge, generation, found->uplink_lanes));
    }
    const std::string number = std::to_string(machine_.cpu_above(name));
    for (Element& child : system_.children) {
      if (child.text("numaid") == number)
        return child;
    }
    Element cpu;
    cpu.tag = "cpu";
    cpu.set("numaid", number);
    const bool x86 = cpu_->vendor == "GenuineIntel" || cpu_->vendor == "AuthenticAMD";
    cpu.set("arch", x86 ? "x86_64" : cpu_->vendor == "ppc64le" ? "ppc64" : "arm64");
    if (x86) {
      cpu.set("vendor", cpu_->vendor);
      cpu.set("familyid", std::to_string(family_of(*cpu_)));
      cpu.set("modelid", std::to_string(cpu_->model));
    }
    return system_.children.emplace_back(std::move(cpu));
  }

  static void set_ids(Element& pci, std::optional<std::int64_t> vendor,
                      std::optional<std::int64_t> device) {
    if (vendor)
      pci.set("vendor", fmt::format("0x{:04x}", *vendor));
    if (vendor && device)
      pci.set("device", fmt::format("0x{:04x}", *device));
  }

  void add_gpu(std::size_t index) {
    const std::string& attach = machine_.gpus[index].attach;
    const std::int32_t generation =
        std::min(gpu_->pcie_generation, machine_.pcie_generation_at(attach));
    Element place = pci(gpu_ids_[index], kGpu, generation, machine_.gpu_pcie_lanes);
    set_ids(place, kNvidia, gpu_->pci_device);
    Element gpu;
    gpu.tag = "gpu";
    gpu.set("dev", std::to_string(machine_.gpus[index].index));
    gpu.set("sm", std::to_string(gpu_->sm));
    gpu.set("rank", std::to_string(index));
    gpu.set("gdr", gpu_->gpudirect_rdma ? "1" : "0");
    add_nvlinks(index, gpu);
    add_c2c(gpu);
    place.children.push_back(std::move(gpu));
    child_pci(element_of(attach), std::move(place));
  }

  static void add_nvlink(Element& gpu, const std::string& target, std::int32_t count,
                         const char* target_class) {
    Element link;
    link.tag = "nvlink";
    link.set("target", target);
    link.set("count", std::to_string(count));
    link.set("tclass", target_class);
    gpu.children.push_back(std::move(link));
  }

  void add_nvlinks(std::size_t index, Element& gpu) const {
    if (machine_.wiring == topologies::NvLinkWiring::kNvSwitch) {
      add_nvlink(gpu, kInvisible, machine_.nvlink_links_per_gpu, kNvSwitch);
      return;
    }
    if (machine_.nvlink_matrix.empty())
      return;
    const std::vector<std::int32_t>& row = machine_.nvlink_matrix[index];
    for (std::size_t peer = 0; peer < row.size(); peer++) {
      if (row[peer] > 0)
        add_nvlink(gpu, gpu_ids_[peer], row[peer], kGpu);
    }
  }

  void add_c2c(Element& gpu) const {
    if (!gpu_->chip_to_chip)
      return;
    const std::int64_t links = (gpu_->chip_to_chip->bps() / 8 + kC2cNominal / 2) / kC2cNominal;
    Element link;
    link.tag = "c2c";
    link.set("bw", std::to_string(kC2cReported));
    link.set("count", std::to_string(links));
    gpu.children.push_back(std::move(link));
  }

  /// The element that a NIC's `nic` stands in: its pci or, without a place in the PCI tree, the
  /// first CPU.
  Element& place_of(std::optional<std::size_t> index) {
    if (!index || !machine_.nics[*index].attach || !inventory_.exposure.sysfs)
      return system_.children.front();
    const MachineNic& nic = machine_.nics[*index];
    const bool infiniband = nic.rdma && nic.link_layer == topologies::NicLinkLayer::kInfiniBand;
    Element place = pci(nic_ids_[*index], infiniband ? kInfiniBandNic : kEthernetNic,
                        nic.pcie_generation, nic.pcie_lanes);
    if (const topologies::NicModel* model = catalog_.nic(nic.model))
      set_ids(place, model->pci_vendor, model->pci_device);
    return child_pci(element_of(*nic.attach), std::move(place));
  }

  /// A fused device stands where its first part does. NCCL looks devices up by name, so of several
  /// ports of one name the first counts.
  void add_net(const NetDevice& device) {
    if (!names_.insert(device.name).second)
      return;
    const std::string first = device.name.substr(0, device.name.find('+'));
    const std::optional<std::size_t> index = machine_.find_nic(first);
    Element& place = place_of(index);
    auto nic = std::find_if(place.children.begin(), place.children.end(),
                            [](const Element& child) { return child.tag == "nic"; });
    if (nic == place.children.end()) {
      nic = place.children.insert(nic, Element{});
      nic->tag = "nic";
    }
    nic->children.push_back(host_.network == "Socket" ? socket_net(device)
                                                      : rdma_net(device, first));
  }

  static Element net(const NetDevice& device) {
    Element element;
    element.tag = "net";
    element.set("name", device.name);
    element.set("dev", std::to_string(device.index));
    element.set("latency", "0");
    element.set("speed", std::to_string(device.speed_mbit));
    return element;
  }

  static Element socket_net(const NetDevice& device) {
    Element element = net(device);
    element.set("port", "0");
    element.set("guid", fmt::format("0x{:x}", device.index));
    element.set("maxconn", kMostSocketConnections);
    element.set("gdr", device.gdr ? "1" : "0");
    return element;
  }

  /// The model of a NIC behind an external plugin that tells NCCL a latency.
  [[nodiscard]] const topologies::NicModel* plugin_nic(const std::string& name) const {
    const std::optional<std::size_t> index = machine_.find_nic(name);
    const topologies::NicModel* model = index ? catalog_.nic(machine_.nics[*index].model) : nullptr;
    const bool told = model != nullptr && model->plugin_latency &&
                      host_.network == std::optional<std::string>(model->nccl_plugin);
    return told ? model : nullptr;
  }

  [[nodiscard]] Element rdma_net(const NetDevice& device, const std::string& hca) const {
    Element element = net(device);
    if (const topologies::NicModel* model = plugin_nic(hca))
      element.set("latency", fmt::format("{}", model->plugin_latency->ps() / kPicoseconds));
    element.set("port", std::to_string(device.port));
    const auto known = std::find_if(inventory_.hcas.begin(), inventory_.hcas.end(),
                                    [&](const Hca& candidate) { return candidate.name == hca; });
    // Without a GUID each device counts as a card of its own.
    if (known != inventory_.hcas.end() && known->guid != 0)
      element.set("guid", fmt::format("0x{:x}", known->guid));
    element.set("maxconn", kMostIbConnections);
    element.set("gdr", device.gdr ? "1" : "0");
    return element;
  }

  const Machine& machine_;
  const topologies::Catalog& catalog_;
  const Inventory& inventory_;
  const HostDecision& host_;
  const topologies::GpuModel* gpu_;
  const topologies::CpuModel* cpu_;
  std::int32_t numbered_ = 0;
  std::map<std::string, std::string> switch_ids_;
  std::vector<std::string> gpu_ids_;
  std::vector<std::string> nic_ids_;  // "" for a virtual one
  std::set<std::string> names_;
  bool sorted_ = true;
  Element system_;
};

}  // namespace

graph::Element machine_document(const Machine& machine, const topologies::Catalog& catalog,
                                const Inventory& inventory, const HostDecision& host,
                                Version version) {
  return Writer(machine, catalog, inventory, host).run(graph::switches_of(version).rank_views);
}

}  // namespace busbw::nccl
