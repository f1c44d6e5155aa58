// The host: shared memory, PCIe, IOMMU, modules, limits, processors, GPUs.
//
// is.shm_small {mib}, is.shm_full {}, is.shm_unused {}    NCCL's host memory is not in /dev/shm
// is.acs_on {device}, is.iommu_on {}, is.iommu_default {}
// is.peermem_absent {}, is.peermem_loaded {name}, is.rdma_modules_absent {}
// is.pcie_narrow {device, width, max}
// is.memlock_small {kib}
// is.few_numa {sockets, numa}, is.far_nics {}, is.all_nics_far {}, is.near_nic {gpu}, is.vm_bus
// {gpu} is.gdr_distance {gpu, hca, distance} is.fabric_not_ready {state} is.nvlink_inactive {gpu,
// link}
#include <algorithm>
#include <array>
#include <set>

#include "models/diagnosis/derive.h"
#include "sim/core/text.h"

namespace busbw::diagnosis {
namespace {

using facts::Fact;
using facts::FactStore;

// Ours. Docker's default for /dev/shm is 64 MiB; NCCL takes some ten MB for each pair of ranks.
constexpr std::int64_t kSmallShm = 512;
// An HCA's queues and NCCL's buffers of one process are some hundred MiB.
constexpr std::int64_t kSmallMemlock = 512 * std::int64_t{1024};

std::int64_t number(const Fact& fact, std::string_view field) {
  return parse_integer(fact.get(field)).value_or(0);
}

/// From 2.23 on NCCL can take host memory by cuMem and then leaves /dev/shm alone.
void cumem_host(FactStore& store) {
  for (const Fact& fact : all_of(store, "var")) {
    if (fact.get("name") == "NCCL_CUMEM_HOST_ENABLE" && number(fact, "value") > 0 &&
        is_read(store, "NCCL_CUMEM_HOST_ENABLE")) {
      conclude(store, fact, "is.shm_unused", {});
    }
  }
}

void memory(FactStore& store) {
  cumem_host(store);
  for (const Fact& fact : all_of(store, "shm.size")) {
    if (store.has("is.shm_unused")) {
      break;
    }
    if (number(fact, "mib") < kSmallShm) {
      conclude(store, fact, "is.shm_small", {{"mib", std::string(fact.get("mib"))}});
    }
    if (fact.get("free_mib") == "0") {
      conclude(store, fact, "is.shm_full", {});
    }
  }
  for (const Fact& fact : all_of(store, "ulimit.memlock")) {
    if (fact.get("kib") != "unlimited" && number(fact, "kib") < kSmallMemlock) {
      conclude(store, fact, "is.memlock_small", {{"kib", std::string(fact.get("kib"))}});
    }
  }
}

void pcie(FactStore& store) {
  for (const Fact& fact : all_of(store, "pci.acs")) {
    if (fact.get("redirect") == "yes") {
      conclude(store, fact, "is.acs_on", {{"device", std::string(fact.get("device"))}});
    }
  }
  for (const Fact& fact : all_of(store, "pci.link")) {
    const bool matters = fact.get("class") == "gpu" || fact.get("class") == "nic";
    if (matters && fact.get("narrow") == "yes") {
      conclude(store, fact, "is.pcie_narrow",
               {{"device", std::string(fact.get("device"))},
                {"width", std::string(fact.get("width"))},
                {"max", std::string(fact.get("max_width"))}});
    }
  }
  for (const auto& [name, device, width, most] :
       {std::array<const char*, 4>{"hca.row", "hca", "width", "width_max"},
        std::array<const char*, 4>{"smi.width", "gpu", "current", "max"}}) {
    for (const Fact& fact : all_of(store, name)) {
      const auto digits = [&](const char* field) {
        const std::string_view text = fact.get(field);
        return parse_integer(text.substr(0, text.find_first_not_of("0123456789"))).value_or(0);
      };
      if (digits(width) > 0 && digits(width) < digits(most)) {
        conclude(store, fact, "is.pcie_narrow",
                 {{"device", std::string(fact.get(device))},
                  {"width", std::string(fact.get(width))},
                  {"max", std::string(fact.get(most))}});
      }
    }
  }
}

void iommu(FactStore& store) {
  const bool passthrough = store.has("dmesg.passthrough");
  for (const Fact& fact : all_of(store, "kernel.cmdline")) {
    if (fact.get("iommu") == "on") {
      conclude(store, fact, "is.iommu_on", {});
    } else if (fact.get("iommu") == "default") {
      conclude(store, fact, "is.iommu_default", {});
    }
  }
  for (const char* name : {"dmesg.iommu", "dmesg.iommu_fault"}) {
    for (const Fact& fact : all_of(store, name)) {
      if (!passthrough) {
        conclude(store, fact, "is.iommu_on", {});
      }
    }
  }
}

void modules(FactStore& store) {
  static constexpr std::string_view kPeer[] = {"nvidia_peermem", "nv_peer_mem"};
  bool peer = false;
  bool rdma = false;
  for (const Fact& fact : all_of(store, "lsmod.module")) {
    const std::string_view name = fact.get("name");
    if (std::find(std::begin(kPeer), std::end(kPeer), name) != std::end(kPeer)) {
      conclude(store, fact, "is.peermem_loaded", {{"name", std::string(name)}});
      peer = true;
    }
    rdma = rdma || name == "ib_uverbs" || name == "mlx5_ib" || name == "ib_core";
  }
  for (const Fact& fact : all_of(store, "lsmod.asked")) {
    const std::string pattern = lower(fact.get("pattern"));
    const bool would_show = std::any_of(
        std::begin(kPeer), std::end(kPeer),
        [&](std::string_view name) { return name.find(pattern) != std::string_view::npos; });
    if (!peer && (would_show || pattern.find("peer") != std::string::npos)) {
      conclude(store, fact, "is.peermem_absent", {});
    }
    if (!rdma && (pattern.empty() || pattern.find("ib_") != std::string::npos ||
                  pattern.find("mlx") != std::string::npos)) {
      conclude(store, fact, "is.rdma_modules_absent", {});
    }
  }
}

void places(FactStore& store) {
  const std::vector<Fact> sockets = all_of(store, "lscpu.sockets");
  for (const Fact& fact : all_of(store, "lscpu.numa")) {
    const auto same = std::find_if(sockets.begin(), sockets.end(),
                                   [&](const Fact& socket) { return socket.host == fact.host; });
    if (same != sockets.end() && number(*same, "value") > 1 &&
        number(fact, "value") <= number(*same, "value")) {
      conclude(
          store, fact, "is.few_numa",
          {{"sockets", std::string(same->get("value"))}, {"numa", std::string(fact.get("value"))}});
    }
  }
  const std::vector<Fact> pairs = all_of(store, "topo.pair");
  std::set<std::string> near;
  for (const Fact& fact : pairs) {
    if (fact.get("kind") == "nic" && fact.get("link") != "SYS") {
      near.insert(std::string(fact.get("a")));
    }
  }
  for (const Fact& fact : pairs) {
    if (fact.get("kind") == "nic" && near.find(std::string(fact.get("a"))) == near.end()) {
      conclude(store, fact, "is.far_nics", {{"gpu", std::string(fact.get("a"))}});
    }
  }
  for (const Fact& fact : pairs) {
    if (fact.get("kind") == "nic" && (fact.get("link") == "PIX" || fact.get("link") == "PXB")) {
      conclude(store, fact, "is.near_nic", {{"gpu", std::string(fact.get("a"))}});
    }
  }
  if (near.empty() && !pairs.empty()) {
    for (const Fact& fact : all_of(store, "is.far_nics")) {
      conclude(store, fact, "is.all_nics_far", {});
    }
  }
  const std::vector<Fact> distances = all_of(store, "nccl.gdr");
  for (const Fact& fact : distances) {
    const bool some = std::any_of(distances.begin(), distances.end(), [](const Fact& other) {
      return lower(other.get("state")) == "enabled";
    });
    if (lower(fact.get("state")) != "disabled" || some) {
      continue;  // each GPU has nearer and farther NICs
    }
    const std::string gpu(fact.get("gpu"));
    conclude(store, fact, "is.gdr_distance",
             {{"gpu", gpu},
              {"hca", std::string(fact.get("hca"))},
              {"distance", std::string(fact.get("distance"))}});
    // A PCI domain of its own for each device (digits above the fifth) is what hypervisors give.
    if (gpu.size() > 5) {
      conclude(store, fact, "is.vm_bus", {{"gpu", gpu}});
    }
  }
}

void gpus(FactStore& store) {
  for (const Fact& fact : all_of(store, "smi.fabric")) {
    const std::string_view state = fact.get("state");
    if (state != "completed" && state != "n/a" && state != "not supported") {
      conclude(store, fact, "is.fabric_not_ready", {{"state", std::string(state)}});
    }
  }
  bool active = false;
  for (const Fact* fact : store.named("nvlink.link")) {
    active = active || fact->get("state") == "active";
  }
  for (const Fact& fact : all_of(store, "nvlink.link")) {
    if (active && fact.get("state") == "inactive") {
      conclude(store, fact, "is.nvlink_inactive",
               {{"gpu", std::string(fact.get("gpu"))}, {"link", std::string(fact.get("link"))}});
    }
  }
}

}  // namespace

void derive_host(FactStore& store) {
  memory(store);
  pcie(store);
  iommu(store);
  modules(store);
  places(store);
  gpus(store);
}

}  // namespace busbw::diagnosis
