// Is RDMA there, or wanted? A job over sockets is only wrong where it could or should be RDMA.
//
// is.rdma_expected {why}       hardware, a port, a driver, or a setting that only RDMA reads
// is.no_rdma_hardware {}       a list of PCI devices, and nothing of it can do RDMA
// is.sockets_tuned {name}      a setting that only sockets read, and none that RDMA reads
#include <algorithm>
#include <string>

#include "models/diagnosis/derive.h"
#include "sim/core/text.h"

namespace busbw::diagnosis {
namespace {

using facts::Fact;
using facts::FactStore;

void expect(FactStore& store, const Fact& seen, std::string why) {
  conclude(store, seen, "is.rdma_expected", {{"why", std::move(why)}});
}

bool begins_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

/// "ib0", "ibs17", "ibp12s0": interfaces of InfiniBand by the kernel's and udev's names.
bool is_ipoib(std::string_view name) {
  if (!begins_with(name, "ib") || name.size() < 3) {
    return false;
  }
  const std::string_view rest = name.substr(name[2] == 's' || name[2] == 'p' ? 3 : 2);
  return !rest.empty() && rest[0] >= '0' && rest[0] <= '9';
}

void settings(FactStore& store) {
  if (parse_integer(variable(store, "NCCL_IB_DISABLE")).value_or(0) > 0) {
    return;
  }
  for (const Fact& fact : all_of(store, "var")) {
    const std::string_view name = fact.get("name");
    const bool of_rdma = begins_with(name, "NCCL_IB_") || begins_with(name, "NCCL_NET_GDR_");
    const bool asked = name == "NCCL_NET" && begins_with(lower(fact.get("value")), "ib");
    if (of_rdma || asked) {
      expect(store, fact, std::string(name) + " is set");
    }
  }
}

void hardware(FactStore& store) {
  for (const auto& [name, why] :
       {std::pair<const char*, const char*>{"rdma.port", "a port of an HCA"},
        {"rdma.netdev", "an interface of an HCA"},
        {"nccl.hca", "NCCL uses an HCA"},
        {"nccl.ib_open_failed", "NCCL sees an HCA"},
        {"verbs.no_provider", "libibverbs sees a device"},
        {"perftest.row", "perftest ran"},
        {"dev.no_infiniband", "somebody looked for its device files"},
        {"nccl.nvls_available", "NVSwitch: a machine for clusters"}}) {
    for (const Fact& fact : all_of(store, name)) {
      expect(store, fact, why);
    }
  }
  // Drivers that the kernel loads when it finds the device.
  static constexpr std::string_view kDrivers[] = {"mlx5_core", "mlx4_core", "mlx5_ib",
                                                  "mlx4_ib",   "hfi1",      "efa"};
  for (const Fact& fact : all_of(store, "lsmod.module")) {
    const std::string_view name = fact.get("name");
    if (std::find(std::begin(kDrivers), std::end(kDrivers), name) != std::end(kDrivers)) {
      expect(store, fact, "the driver " + std::string(name) + " is loaded");
    }
  }
  for (const Fact& fact : all_of(store, "ip.interface")) {
    if (fact.get("type") == "infiniband" || is_ipoib(fact.get("name"))) {
      expect(store, fact, "an InfiniBand interface");
    }
  }
  for (const char* used : {"nccl.bootstrap", "nccl.socket_device"}) {
    for (const Fact& fact : all_of(store, used)) {
      if (is_ipoib(fact.get("interface"))) {
        expect(store, fact, "an InfiniBand interface");
      }
    }
  }
}

void pci(FactStore& store) {
  const std::vector<Fact> devices = all_of(store, "pci.network");
  for (const Fact& fact : devices) {
    if (fact.get("rdma") == "yes") {
      expect(store, fact, "lspci shows an adapter for RDMA");
    }
  }
  const bool none = std::all_of(devices.begin(), devices.end(),
                                [](const Fact& fact) { return fact.get("rdma") == "no"; });
  if (!devices.empty() && none && !store.has("is.rdma_expected")) {
    conclude(store, devices.front(), "is.no_rdma_hardware", {});
  }
}

void sockets(FactStore& store) {
  for (const Fact& fact : all_of(store, "var")) {
    const std::string_view name = fact.get("name");
    const bool of_sockets = name == "NCCL_SOCKET_NTHREADS" || name == "NCCL_NSOCKS_PERTHREAD";
    if (of_sockets && !store.has("is.rdma_expected")) {
      conclude(store, fact, "is.sockets_tuned", {{"name", std::string(name)}});
    }
  }
}

}  // namespace

void derive_expected(FactStore& store) {
  settings(store);
  hardware(store);
  pci(store);
  sockets(store);
}

}  // namespace busbw::diagnosis
