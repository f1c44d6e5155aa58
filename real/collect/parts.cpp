// See parts.h.
#include "real/collect/parts.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/facts/print/hca_print.h"
#include "models/facts/print/ip_print.h"
#include "real/base/wire.h"
#include "real/collect/gpus.h"
#include "real/collect/hcas.h"
#include "real/collect/interfaces.h"
#include "real/collect/kernel_links.h"
#include "real/collect/redact.h"
#include "real/collect/system_facts.h"
#include "real/verbs/api.h"

namespace busbw::real::collect {
namespace {

using Environment = std::map<std::string, std::string>;

void add(Gathered& gathered, const char* name, std::string text, const char* source,
         const char* otherwise) {
  if (text.empty()) {
    gathered.missing.push_back({name, otherwise});
  } else {
    gathered.files.push_back({name, std::move(text), source});
  }
}

void add_denied(Gathered& gathered, const Root& root) {
  for (const std::string& path : root.denied())
    gathered.missing.push_back({path, "permission denied"});
}

Gathered gather_interfaces(const std::string& path) {
  const Root root(path);
  Gathered gathered;
  const std::vector<facts::PrintedInterface> interfaces = read_interfaces(root);
  const char* source = !root.is_machine()                 ? "sysfs and /proc/net/if_inet6"
                       : sysfs_is_of_this_namespace(root) ? "getifaddrs and sysfs"
                                                          : "getifaddrs and ioctl";
  const char* without = "no interface in /sys/class/net";
  add(gathered, "ip-addr.txt", print_ip_addr(interfaces), source, without);
  add(gathered, "ip-link.txt", print_ip_link(interfaces), source, without);
  add(gathered, "ip-route.txt", read_routes(root), "/proc/net/route", "no IPv4 route");
  add_denied(gathered, root);
  return gathered;
}

Gathered gather_hcas(const std::string& path) {
  const Root root(path);
  Gathered gathered;
  std::vector<facts::PrintedHca> hcas = read_hcas(root);
  const char* without = "no HCA in /sys/class/infiniband";
  // Without an HCA these two say so in their own words, which is a fact as well.
  add(gathered, "ibstat.txt", print_ibstat(hcas), "sysfs", without);
  add(gathered, "ibstatus.txt", print_ibstatus(hcas), "sysfs", without);
  add(gathered, "rdma_link.txt", print_rdma_link(hcas), "sysfs", without);
  add(gathered, "ibdev2netdev.txt", print_ibdev2netdev(hcas), "sysfs",
      hcas.empty() ? without : "no HCA has an interface here");
  const bool gids = std::any_of(hcas.begin(), hcas.end(), [](const facts::PrintedHca& hca) {
    return std::any_of(hca.ports.begin(), hca.ports.end(),
                       [](const facts::PrintedPort& port) { return !port.gids.empty(); });
  });
  add(gathered, "show_gids.txt", gids ? print_show_gids(hcas) : "", "sysfs",
      hcas.empty() ? without : "no GID");
  add(gathered, "pkeys.txt", read_pkeys(root), "sysfs", hcas.empty() ? without : "no P_Key");
  if (!root.is_machine()) {
    gathered.missing.push_back({"ibv_devinfo.txt", "another root has no devices to open"});
  } else if (!verbs::has_system_verbs()) {
    gathered.missing.push_back({"ibv_devinfo.txt", "this build of busbw has no libibverbs"});
  } else {
    add_verbs(hcas, *verbs::open_system_verbs());
    add(gathered, "ibv_devinfo.txt", print_ibv_devinfo(hcas), "libibverbs and sysfs", without);
  }
  add_denied(gathered, root);
  return gathered;
}

Gathered gather_pci(const std::string& path) {
  const Root root(path);
  Gathered gathered;
  add(gathered, "lspci.txt", print_lspci(read_pci(root)), "sysfs",
      "no GPU, NIC or bridge in /sys/bus/pci/devices");
  add_denied(gathered, root);
  return gathered;
}

Gathered gather_gpus(const std::string& path) {
  const Root root(path);
  Gathered gathered;
  if (!root.is_machine()) {
    gathered.missing.push_back({"topo.txt", "NVLinks are NVML's to tell, not another root's"});
    return gathered;
  }
  const NvmlAnswer answer = read_nvml();
  std::vector<HcaPlace> hcas;
  for (const std::string& name : root.names("/sys/class/infiniband")) {
    const std::string device = device_of(root, name);
    hcas.push_back({name, device.substr(device.rfind('/') + 1)});
  }
  const std::string reason = answer.failure.empty() ? "no GPU" : answer.failure;
  add(gathered, "topo.txt", topology_text(answer.gpus, hcas, read_pci(root)), "NVML and sysfs",
      reason.c_str());
  return gathered;
}

Gathered gather_kernel(const std::string& path) {
  const Root root(path);
  Gathered gathered;
  add(gathered, "lsmod.txt", read_modules(root), "/proc/modules", "no /proc/modules");
  add(gathered, "ulimit.txt", read_limits(root), "/proc/self/limits", "no /proc/self/limits");
  add(gathered, "mounts.txt", read_mounts(root), "/proc/mounts", "no such line in /proc/mounts");
  add(gathered, "df_shm.txt", read_shared_memory(root),
      root.is_machine() ? "statvfs" : "/proc/mounts", "no /dev/shm, or its size is not said");
  add(gathered, "ls_dev_infiniband.txt", read_device_files(root), "/dev/infiniband",
      "no /dev/infiniband");
  add(gathered, "cmdline.txt", read_command_line(root), "/proc/cmdline",
      "no option about PCI or IOMMU in /proc/cmdline");
  add(gathered, "modinfo.txt", read_drivers(root), "/sys/module", "no driver of GPUs or HCAs");
  if (root.is_machine()) {
    add(gathered, "dmesg.txt", kernel_messages(read_kernel_log()), "kernel log",
        "no line about GPUs, NICs or PCIe, or not allowed");
  } else {
    gathered.missing.push_back({"dmesg.txt", "another root has no kernel log"});
  }
  add_denied(gathered, root);
  return gathered;
}

/// NCCL reads /etc/nccl.conf and the file of NCCL_CONF_FILE, else ~/.nccl.conf (2.23 and newer).
Gathered gather_settings(const std::string& path, const Environment& environment) {
  const Root root(path);
  Gathered gathered;
  add(gathered, "nccl.conf", read_nccl_conf(root, "/etc/nccl.conf"), "/etc/nccl.conf",
      "no setting in /etc/nccl.conf");
  const auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  const std::string named = value("NCCL_CONF_FILE");
  const std::string home = value("HOME");
  const std::string own = !named.empty() ? named : home.empty() ? "" : home + "/.nccl.conf";
  add(gathered, "user-nccl.conf", own.empty() ? "" : read_nccl_conf(root, own),
      "the user's nccl.conf", "no setting in ~/.nccl.conf or NCCL_CONF_FILE");
  add(gathered, "env.txt", root.is_machine() ? environment_text(environment) : "", "environment",
      root.is_machine() ? "no variable of the allow-list is set"
                        : "another root has no environment");
  add_denied(gathered, root);
  return gathered;
}

}  // namespace

std::vector<Part> parts(const std::string& root, const Environment& environment) {
  return {{"interfaces", [root] { return gather_interfaces(root); }},
          {"HCAs", [root] { return gather_hcas(root); }},
          {"PCI devices", [root] { return gather_pci(root); }},
          {"GPUs", [root] { return gather_gpus(root); }},
          {"kernel", [root] { return gather_kernel(root); }},
          {"settings", [root, environment] { return gather_settings(root, environment); }}};
}

std::string to_bytes(const Gathered& gathered) {
  WireWriter writer;
  writer.number(static_cast<std::uint32_t>(gathered.files.size()));
  for (const CollectedFile& file : gathered.files)
    writer.text(file.name).text(file.text).text(file.source);
  writer.number(static_cast<std::uint32_t>(gathered.missing.size()));
  for (const MissingFact& missing : gathered.missing)
    writer.text(missing.name).text(missing.reason);
  return writer.take();
}

Gathered from_bytes(const std::string& bytes, const std::string& part) {
  WireReader reader(bytes, part);
  Gathered gathered;
  const auto files = reader.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < files; ++i) {
    CollectedFile file;
    file.name = reader.text();
    file.text = reader.text();
    file.source = reader.text();
    gathered.files.push_back(std::move(file));
  }
  const auto missing = reader.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < missing; ++i) {
    MissingFact fact;
    fact.name = reader.text();
    fact.reason = reader.text();
    gathered.missing.push_back(std::move(fact));
  }
  reader.end();
  return gathered;
}

}  // namespace busbw::real::collect
