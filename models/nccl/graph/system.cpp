// Construction of the system graph. Source of the rules and of each bandwidth: NCCL 2.18 to
// 2.30.7, src/graph/topo.cc and topo.h.
#include "models/nccl/graph/system.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "sim/core/errors.h"

namespace busbw::nccl::graph {
namespace {

constexpr float kLocal = 5000.0F;  // same node, GB/s

struct Draft {
  LinkKind kind;
  int to;
  float bandwidth;
};

/// GB/s of a PCIe link: width times a code per lane over 80.
float pcie_bandwidth(const Element& pci) {
  static const std::map<std::string, int> kPerLane{
      {"2.5 GT/s", 15},        {"5 GT/s", 30},         {"8 GT/s", 60},
      {"16 GT/s", 120},        {"32 GT/s", 240},       {"2.5 GT/s PCIe", 15},
      {"5.0 GT/s PCIe", 30},   {"8.0 GT/s PCIe", 60},  {"16.0 GT/s PCIe", 120},
      {"32.0 GT/s PCIe", 240}, {"64.0 GT/s PCIe", 480}};
  const auto found = kPerLane.find(pci.text("link_speed"));
  const int per_lane = found == kPerLane.end() ? 60 : found->second;
  auto width = static_cast<int>(pci.number("link_width", 0));
  if (width == 0)
    width = 16;  // virtual machines hide it
  return static_cast<float>(static_cast<double>(width) * per_lane / 80.0);
}

std::uint64_t bus_number(const std::string& id) {
  std::string digits;
  for (const char c : id) {
    if (c != ':' && c != '.')
      digits += c;
  }
  return std::strtoull(digits.c_str(), nullptr, 16);
}

std::uint64_t hex(const Element& element, std::string_view name) {
  return std::strtoull(element.text(name).c_str(), nullptr, 16) & 0xffff;
}

Cpu cpu_of(const Element& element, const Switches& switches) {
  Cpu cpu;
  const std::string arch = element.text("arch");
  cpu.arch = arch == "x86_64"  ? CpuArch::kX86
             : arch == "arm64" ? CpuArch::kArm
             : arch == "ppc64" ? CpuArch::kPower
                               : CpuArch::kOther;
  if (cpu.arch != CpuArch::kX86)
    return cpu;
  const std::string vendor = element.text("vendor");
  const long long family = element.number("familyid", 0);
  const long long model = element.number("modelid", 0);
  if (vendor == "GenuineIntel") {
    cpu.vendor = CpuVendor::kIntel;
    cpu.model = CpuModel::kBroadwell;
    if (family == 6 && model >= 0x55)
      cpu.model = CpuModel::kSkylake;
    if (family == 6 && model >= 0x8f && switches.intel_classes)
      cpu.model = CpuModel::kSapphire;
    if (family == 6 && model >= 0xcf && switches.intel_classes)
      cpu.model = CpuModel::kEmerald;
  } else if (vendor == "AuthenticAMD") {
    cpu.vendor = CpuVendor::kAmd;
  } else if (vendor == "CentaurHauls" || vendor == "  Shanghai  ") {
    cpu.vendor = CpuVendor::kZhaoxin;
    if (family == 7 && model == 0x5b)
      cpu.model = CpuModel::kYongfeng;
  }
  return cpu;
}

/// GB/s between two sockets of that CPU.
float socket_bandwidth(const Cpu& cpu, const Switches& switches) {
  if (cpu.arch == CpuArch::kPower)
    return 32.0F;
  if (cpu.arch == CpuArch::kArm)
    return 6.0F;
  if (cpu.vendor == CpuVendor::kAmd)
    return switches.amd_links ? 16.0F : kLocal;
  if (cpu.vendor == CpuVendor::kZhaoxin)
    return cpu.model == CpuModel::kYongfeng ? 9.0F : 6.0F;
  switch (cpu.model) {
    case CpuModel::kBroadwell:
      return 6.0F;
    case CpuModel::kSkylake:
      return 10.0F;
    case CpuModel::kSapphire:
      return 22.0F;
    case CpuModel::kEmerald:
      return 40.0F;
    default:
      return kLocal;
  }
}

class Builder {
 public:
  explicit Builder(const Switches& switches) { system_.switches = switches; }

  System run(const Element& document) {
    system_.where = document.where;
    for (const Element& child : document.children) {
      if (child.tag == "cpu")
        add_cpu(child);
    }
    for (const Element& child : document.children)
      add_gpu_links(child, -1, &Builder::add_nvlink);
    for (const Element& child : document.children)
      add_gpu_links(child, -1, &Builder::add_c2c);
    for (const Element& child : document.children)
      add_pci_links(child);
    flatten_broadcom();
    mesh_cpus();
    for (const int cpu : system_.all(NodeType::kCpu))
      parents_last(cpu, -1);
    finish();
    return std::move(system_);
  }

 private:
  int create(NodeType type, int host, std::uint64_t id) {
    const auto number = static_cast<int>(system_.nodes.size());
    Node node;
    node.type = type;
    node.host = host;
    node.id = id;
    system_.nodes.push_back(node);
    drafts_.emplace_back();
    list(type).push_back(number);
    return number;
  }
  std::vector<int>& list(NodeType type) { return system_.by_type[static_cast<std::size_t>(type)]; }
  [[nodiscard]] int find(NodeType type, int host, std::uint64_t id) const {
    for (const int number : system_.all(type)) {
      const Node& node = system_.nodes[static_cast<std::size_t>(number)];
      if (node.host == host && node.id == id)
        return number;
    }
    return -1;
  }
  Node& at(int node) { return system_.nodes[static_cast<std::size_t>(node)]; }
  std::vector<Draft>& drafts(int node) { return drafts_[static_cast<std::size_t>(node)]; }

  /// Parallel links add up; a link moves forward past those that are strictly smaller.
  void connect(int from, int to, LinkKind kind, float bandwidth) {
    std::vector<Draft>& links = drafts(from);
    auto link = std::find_if(links.begin(), links.end(),
                             [&](const Draft& l) { return l.to == to && l.kind == kind; });
    if (link == links.end())
      link = links.insert(links.end(), Draft{kind, to, 0.0F});
    link->bandwidth += bandwidth;
    while (link != links.begin() && (link - 1)->bandwidth < link->bandwidth) {
      std::iter_swap(link - 1, link);
      --link;
    }
  }
  void connect_both(int a, int b, LinkKind kind, float bandwidth) {
    connect(a, b, kind, bandwidth);
    connect(b, a, kind, bandwidth);
  }

  int host_of(const Element& cpu) {
    const std::string hash = cpu.text("host_hash");
    const auto found = std::find(hosts_.begin(), hosts_.end(), hash);
    if (found != hosts_.end())
      return static_cast<int>(found - hosts_.begin());
    hosts_.push_back(hash);
    return static_cast<int>(hosts_.size()) - 1;
  }

  void add_cpu(const Element& element) {
    const int host = host_of(element);
    const int cpu =
        create(NodeType::kCpu, host, static_cast<std::uint64_t>(element.number("numaid", 0)));
    at(cpu).cpu = cpu_of(element, system_.switches);
    for (const Element& child : element.children) {
      if (child.tag == "pci")
        add_pci(child, cpu, cpu);
      if (child.tag == "nic") {
        int nic = find(NodeType::kNic, host, 0);
        if (nic < 0) {
          nic = create(NodeType::kNic, host, 0);
          connect_both(cpu, nic, LinkKind::kPci, kLocal);
        }
        add_nets(child, nic);
      }
    }
  }

  void add_pci(const Element& element, int parent, int cpu) {
    const int host = at(cpu).host;
    const std::uint64_t id = bus_number(element.text("busid"));
    const std::string device_class = element.text("class");
    int node = -1;
    if (const Element* nic = element.child("nic")) {
      const std::uint64_t card = id & ~std::uint64_t{0xf};
      node = find(NodeType::kNic, host, card);
      if (node < 0)
        node = create(NodeType::kNic, host, card);
      check_parent(element, node, parent);
      add_nets(*nic, node);
    } else if (const Element* gpu = element.child("gpu")) {
      node = add_gpus(element, *gpu, cpu);
    } else if (device_class.rfind("0x0680", 0) != 0 && device_class.rfind("0x03", 0) != 0 &&
               device_class.rfind("0x02", 0) != 0) {
      node = create(NodeType::kPci, host, id);
      at(node).pci_device = pci_device_of(element);
      for (const Element& child : element.children) {
        if (child.tag == "pci")
          add_pci(child, node, cpu);
      }
    }
    if (node >= 0)
      connect_both(node, parent, LinkKind::kPci, pcie_bandwidth(element));
  }

  /// The functions of a card are one NIC, so they stand at one place: else the tree has a circle.
  void check_parent(const Element& element, int nic, int parent) {
    const auto other = std::find_if(drafts(nic).begin(), drafts(nic).end(), [&](const Draft& link) {
      return link.kind == LinkKind::kPci && link.to != parent;
    });
    if (other != drafts(nic).end()) {
      throw InputError({{element.where, fmt::format("the NIC card of bus id '{}' stands at two "
                                                    "places, expected one for all its functions",
                                                    element.text("busid"))}});
    }
  }

  static std::uint64_t pci_device_of(const Element& element) {
    return hex(element, "vendor") << 48 | hex(element, "device") << 32 |
           hex(element, "subsystem_vendor") << 16 | hex(element, "subsystem_device");
  }

  int add_gpus(const Element& pci, const Element& first, int cpu) {
    const int host = at(cpu).host;
    const std::uint64_t id = bus_number(pci.text("busid"));
    int device = -1;
    if (system_.switches.device_nodes)
      at(device = create(NodeType::kDev, host, id)).pci_device = pci_device_of(pci);
    for (const Element& element : pci.children) {
      if (element.tag != "gpu" || (&element != &first && device < 0))
        continue;
      const int node = create(NodeType::kGpu, host, id);
      Gpu& gpu = at(node).gpu;
      gpu.dev = static_cast<int>(element.number("dev", 0));
      gpu.rank = static_cast<int>(element.number("rank", 0));
      gpu.sm = static_cast<int>(element.number("sm", 0));
      gpu.gdr = element.number("gdr", 0) != 0;
      gpu.device = device < 0 ? node : device;
      if (device >= 0) {
        at(device).gpu = gpu;
        connect_both(node, device, LinkKind::kLoc, kLocal);
      } else {
        device = node;
      }
    }
    cpu_of_device_[device] = cpu;
    return device;
  }

  void add_nets(const Element& nic, int node) {
    for (const Element& element : nic.children) {
      if (element.tag != "net" || element.find("dev") == nullptr ||
          (element.find("net") != nullptr && element.number("net", 1) == 0))
        continue;
      const int host = at(node).host;
      const auto dev = static_cast<int>(element.number("dev", 0));
      const bool copy = find(NodeType::kNet, host, static_cast<std::uint64_t>(dev)) >= 0;
      const int number = create(NodeType::kNet, host, static_cast<std::uint64_t>(dev));
      Net& net = at(number).net;
      net.dev = dev;
      net.name = element.text("name");
      net.copy = copy;
      net.asic = element.find("guid") == nullptr
                     ? static_cast<std::uint64_t>(dev)
                     : std::strtoull(element.text("guid").c_str(), nullptr, 16);
      net.port = static_cast<int>(element.number("port", 0));
      long long megabits = element.number("speed", 0);
      if (megabits <= 0)
        megabits = 10'000;
      net.bandwidth = static_cast<float>(static_cast<double>(megabits) / 8000.0);
      net.latency = std::strtof(element.text("latency").c_str(), nullptr);
      net.gdr = element.number("gdr", 0) != 0;
      net.coll = element.number("coll", 0) != 0;
      net.rail = static_cast<int>(element.number("rail", -1));
      net.plane = static_cast<int>(element.number("plane", -1));
      if (!copy)
        connect_both(node, number, LinkKind::kNet, net.bandwidth);
    }
  }

  using AddLink = void (Builder::*)(const Element& link, int device, int host);
  /// Visits the nvlink and c2c elements of every GPU; `device` is the node of the pci around.
  void add_gpu_links(const Element& element, int host, AddLink add) {
    if (element.tag == "cpu")
      host = host_of(element);
    if (element.tag == "pci" && element.child("gpu") != nullptr) {
      const NodeType type = system_.device_type();
      const int device = find(type, host, bus_number(element.text("busid")));
      if (device >= 0) {
        for (const Element& gpu : element.children) {
          for (const Element& link : gpu.children)
            (this->*add)(link, device, host);
        }
      }
      return;
    }
    for (const Element& child : element.children)
      add_gpu_links(child, host, add);
  }

  void add_nvlink(const Element& link, int device, int host) {
    if (link.tag != "nvlink")
      return;
    const std::string target_class = link.text("tclass");
    const auto count = static_cast<float>(link.number("count", 1));
    int remote = -1;
    bool both = true;
    if (target_class.rfind("0x03", 0) == 0) {
      remote = find(system_.device_type(), host, bus_number(link.text("target")));
      both = false;
    } else if (target_class.rfind("0x068001", 0) == 0) {
      remote = cpu_of_device_[device];
    } else if (list(NodeType::kNvs).empty()) {
      remote = create(NodeType::kNvs, 0, 0);
    } else {
      remote = list(NodeType::kNvs).front();
    }
    if (remote < 0 || remote == device)
      return;
    const float bandwidth = count * nvlink_bandwidth(at(device).gpu.sm, system_.switches);
    connect(device, remote, LinkKind::kNvl, bandwidth);
    if (both)
      connect(remote, device, LinkKind::kNvl, bandwidth);
  }

  void add_c2c(const Element& link, int device, int host) {
    static_cast<void>(host);
    if (link.tag != "c2c")
      return;
    const auto bandwidth =
        static_cast<float>(static_cast<double>(link.number("bw", 0)) *
                           static_cast<double>(link.number("count", 1)) / 1000.0);
    connect_both(device, cpu_of_device_[device], LinkKind::kC2c, bandwidth);
  }

  void add_pci_links(const Element& element, int host = -1) {
    if (element.tag == "cpu")
      host = host_of(element);
    if (element.tag == "pci") {
      const int from = find(NodeType::kPci, host, bus_number(element.text("busid")));
      for (const Element& link : element.children) {
        if (link.tag != "pcilink" || from < 0)
          continue;
        const int to = find(NodeType::kPci, host, bus_number(link.text("target")));
        if (to >= 0 && to != from)
          connect(from, to, LinkKind::kLoc, kLocal);
      }
    }
    for (const Element& child : element.children)
      add_pci_links(child, host);
  }

  /// Generation of a Broadcom switch that shows two levels: 4, 5, or 0. Upper level or lower.
  static int broadcom(std::uint64_t device, bool lower) {
    const std::uint64_t masked = device & ~std::uint64_t{0xfff};
    if (masked == 0x1000'c010'1000'a000)
      return 4;
    if (masked == (lower ? 0x1000'c030'1000'1000 : 0x1000'c030'1000'0000))
      return 5;
    return 0;
  }

  void flatten_broadcom() {
    std::vector<int>& switches = list(NodeType::kPci);
    for (std::size_t s = 0; s < switches.size(); s++) {
      const int upper = switches[s];
      const int generation = broadcom(at(upper).pci_device, false);
      if (generation == 0)
        continue;
      std::vector<int> lower;
      for (const Draft& link : drafts(upper)) {
        if (at(link.to).type == NodeType::kPci &&
            broadcom(at(link.to).pci_device, true) == generation &&
            std::find(lower.begin(), lower.end(), link.to) == lower.end())
          lower.push_back(link.to);
      }
      for (const int sub : lower)
        absorb(upper, sub);
      at(upper).pci_device |= 0xffff;
    }
  }

  void absorb(int upper, int sub) {
    std::vector<Draft>& links = drafts(upper);
    links.erase(std::remove_if(links.begin(), links.end(),
                               [&](const Draft& link) { return link.to == sub; }),
                links.end());
    for (const Draft& link : drafts(sub)) {
      if (link.to == upper)
        continue;
      links.push_back(link);
      for (Draft& back : drafts(link.to)) {
        if (back.to == sub) {
          back.to = upper;
          break;
        }
      }
    }
    drafts(sub).clear();
    std::vector<int>& all = list(NodeType::kPci);
    all.erase(std::find(all.begin(), all.end(), sub));
  }

  void mesh_cpus() {
    for (const int a : list(NodeType::kCpu)) {
      for (const int b : list(NodeType::kCpu)) {
        if (a != b && at(a).host == at(b).host)
          connect(a, b, LinkKind::kSys, socket_bandwidth(at(a).cpu, system_.switches));
      }
    }
  }

  /// Moves the link to the parent behind all others, down the PCI tree.
  void parents_last(int node, int parent) {
    std::vector<Draft>& links = drafts(node);
    if (parent >= 0) {
      const auto up = std::find_if(links.begin(), links.end(),
                                   [&](const Draft& link) { return link.to == parent; });
      if (up != links.end())
        std::rotate(up, up + 1, links.end());
    }
    for (const Draft& link : links) {
      if (link.kind == LinkKind::kPci && link.to != parent)
        parents_last(link.to, node);
    }
  }

  void finish() {
    for (std::size_t node = 0; node < drafts_.size(); node++) {
      for (const Draft& draft : drafts_[node]) {
        system_.nodes[node].links.push_back(static_cast<int>(system_.links.size()));
        system_.links.push_back(
            Link{draft.kind, static_cast<int>(node), draft.to, draft.bandwidth});
      }
    }
  }

  System system_;
  std::vector<std::vector<Draft>> drafts_;
  std::vector<std::string> hosts_;
  std::map<int, int> cpu_of_device_;
};

}  // namespace

System build_system(const Element& document, const Switches& switches) {
  return Builder(switches).run(document);
}

}  // namespace busbw::nccl::graph
