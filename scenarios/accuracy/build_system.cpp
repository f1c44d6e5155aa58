// See build_system.h.
#include "scenarios/accuracy/build_system.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "models/nccl/machine/inventory.h"
#include "scenarios/accuracy/describe.h"
#include "scenarios/accuracy/machine_for.h"
#include "scenarios/equal_hosts.h"
#include "sim/core/quantity.h"
#include "sim/core/text.h"

namespace busbw::scenarios::accuracy {
namespace {

using topologies::Machine;
using topologies::MachineNic;

/// Ethernet MTU of a fabric for RDMA when nobody says: path MTU 4096.
constexpr std::int64_t kJumbo = 9000;

std::vector<std::int32_t> visible_gpus(const nccl::Environment& environment) {
  std::vector<std::int32_t> gpus;
  const auto found = environment.find("CUDA_VISIBLE_DEVICES");
  if (found == environment.end()) {
    return gpus;
  }
  for (const std::string_view part : split(found->second, ',')) {
    const std::optional<std::int64_t> number = parse_integer(trim(part));
    if (!number || *number < 0) {
      return {};
    }
    gpus.push_back(static_cast<std::int32_t>(*number));
  }
  return gpus;
}

/// Names that a filter variable lists; empty for one that excludes.
std::vector<std::string> listed(const std::string& value) {
  std::vector<std::string> names;
  std::string_view rest = value;
  if (!rest.empty() && rest.front() == '^') {
    return names;
  }
  if (!rest.empty() && rest.front() == '=') {  // whole names
    rest.remove_prefix(1);
  }
  for (const std::string_view part : split(rest, ',')) {
    names.emplace_back(part.substr(0, part.find(':')));
  }
  return names;
}

bool starts_one(const std::vector<std::string>& prefixes, const std::string& name) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) {
    return !prefix.empty() && name.rfind(prefix, 0) == 0;
  });
}

/// The algorithm that `text` names with nothing beside it: what is said with a remark may hold for
/// some sizes alone.
std::optional<std::string> algorithm_in(const std::string& text) {
  const std::string word(trim(text));
  for (const char* name :
       {"Ring", "Tree", "CollnetDirect", "CollnetChain", "NVLS", "NVLSTree", "PAT"}) {
    if (lower(word) == lower(name)) {
      return name;
    }
  }
  return std::nullopt;
}

/// What starts a process for each GPU, if the words of a source ("docs/slurm-cluster/README.md")
/// name one: a batch system or MPI.
std::optional<std::string> launcher_in(const std::string& source) {
  std::string words = lower(source);
  std::replace_if(
      words.begin(), words.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, ' ');
  for (const std::string_view word : split(words, ' ')) {
    for (const char* launcher : {"slurm", "srun", "batch", "mpi", "mpirun", "mpijob", "mpijobs"}) {
      if (word == launcher) {
        return launcher;
      }
    }
  }
  return std::nullopt;
}

class SystemBuilder {
 public:
  SystemBuilder(const Record& record, const Library& library)
      : record_(record), library_(library) {}

  BuiltSystem run() {
    const Description described = describe(record_, library_.catalog);
    built_.assumptions = described.assumptions;
    if (!described.facts) {
      built_.reason = described.reason;
      return std::move(built_);
    }
    facts_ = *described.facts;
    const std::optional<collectives::Collective> collective =
        collectives::parse_collective(record_.collective);
    if (!collective) {
      built_.reason = fmt::format("collective '{}' is not known", record_.collective);
      return std::move(built_);
    }
    Variant& variant = built_.variant;
    variant.name = record_.id;
    variant.environment = record_.environment;
    variant.workload.collective = *collective;
    variant.version = release_of(record_.nccl_version, facts_.gpu->name, built_.assumptions);
    Machine machine = machine_for(facts_, visible_gpus(record_.environment), library_.catalog,
                                  library_.machines, built_.assumptions);
    name_interfaces(machine);
    built_.machine = label(machine);
    HostsOptions options;
    options.hosts = facts_.hosts;
    options.hosts_per_nvlink_domain = facts_.hosts_per_nvlink_domain;
    options.rdma_mtu = mtu();
    options.gpudirect = facts_.gpudirect && facts_.gpu->gpudirect_rdma;
    set_equal_hosts(machine, options, library_.catalog, variant);
    set_socket_mtu();
    variant.collnet = record_.system.nic.sharp.value_or(false);
    set_slow_link();
    set_program();
    adjust_filters(machine);
    take_peer_to_peer();
    take_algorithm();
    built_.modelled = built_.reason.empty();
    return std::move(built_);
  }

 private:
  void assume(std::string text) { built_.assumptions.push_back(std::move(text)); }

  /// What sysfs says of the speed of interfaces.
  void name_interfaces(Machine& machine) {
    const std::optional<std::int64_t>& speed = record_.system.nic.reported_speed_mbit;
    for (MachineNic& nic : machine.nics) {
      if (!nic.attach && speed && *speed > 0) {
        nic.reported_speed = Bandwidth::megabits_per_second(*speed);
      } else if (!nic.attach && facts_.nic.carrier == Carrier::kSocket) {
        nic.reported_speed = Bandwidth::gigabits_per_second(10);  // what a veth reports
      }
    }
  }

  [[nodiscard]] std::optional<std::int64_t> mtu() {
    const bool rdma =
        facts_.nic.carrier == Carrier::kRoce || facts_.nic.carrier == Carrier::kPlugin;
    if (facts_.mtu || !rdma) {
      return facts_.mtu;
    }
    assume(fmt::format("the MTU is not said: {}", kJumbo));
    return kJumbo;
  }

  void set_socket_mtu() {
    if (!facts_.mtu || facts_.nic.carrier != Carrier::kSocket) {
      return;
    }
    for (nccl::Inventory& inventory : built_.variant.inventories) {
      for (nccl::Interface& interface : inventory.interfaces) {
        if (!interface.loopback) {
          interface.mtu = *facts_.mtu;
        }
      }
    }
  }

  void set_slow_link() {
    if (!record_.slow_link) {
      return;
    }
    const SlowLink& slow = *record_.slow_link;
    const auto host = static_cast<std::size_t>(slow.host - 1);
    std::vector<Machine>& hosts = built_.variant.cluster.hosts;
    const std::optional<std::size_t> nic =
        host < hosts.size() ? hosts[host].find_nic(slow.nic) : std::nullopt;
    if (!nic) {
      built_.reason =
          fmt::format("the slow NIC '{}' of host {} is none of the system", slow.nic, slow.host);
      return;
    }
    hosts[host].nics[*nic].send_rate = slow.rate;
  }

  /// Who drives the GPUs and what is timed. nccl-tests on one host is one process with -g, unless
  /// a launcher started it; between hosts there is one a GPU, and a framework always does so.
  void set_program() {
    Workload& workload = built_.variant.workload;
    workload.timed_alone = record_.kind.rfind("torch", 0) == 0;
    if (record_.kind == "nccl-tests" && facts_.hosts == 1 && facts_.gpus > 1) {
      if (const std::optional<std::string> launcher = launcher_in(record_.source)) {
        assume(fmt::format("one process a GPU: the source is of '{}'", *launcher));
        return;
      }
      workload.gpus_per_process = facts_.gpus;
      assume(fmt::format("one process drives all {} GPUs", facts_.gpus));
    }
  }

  /// Filters name devices as they are called there; ours have other names, and the record's number
  /// of NICs is that of those in use.
  void adjust_filters(const Machine& machine) {
    nccl::Environment& environment = built_.variant.environment;
    drop_unless_known(environment, "NCCL_IB_HCA", machine, true);
    drop_unless_known(environment, "NCCL_SOCKET_IFNAME", machine, false);
    const auto net = environment.find("NCCL_NET");
    if (net != environment.end() && lower(net->second).find("libfabric") != std::string::npos) {
      net->second = "Libfabric";
    }
  }

  /// A record that says of GPUs on PCIe that they reach each other measures just that: NCCL of
  /// itself goes no further than PCIe switches (2.23 and later, and on Intel).
  void take_peer_to_peer() {
    nccl::Environment& environment = built_.variant.environment;
    const bool said = record_.system.intra.p2p.value_or(false) &&
                      facts_.wiring == topologies::NvLinkWiring::kNone && facts_.gpus > 1;
    if (said && environment.count("NCCL_P2P_LEVEL") + environment.count("NCCL_P2P_DISABLE") == 0) {
      environment["NCCL_P2P_LEVEL"] = "SYS";
      assume("P2P is on: NCCL_P2P_LEVEL=SYS");
    }
  }

  /// What the record says that NCCL took, unless it names several or the environment says.
  void take_algorithm() {
    const std::optional<std::string> algorithm = algorithm_in(record_.algorithm);
    if (!algorithm || built_.variant.environment.count("NCCL_ALGO") > 0) {
      return;
    }
    built_.variant.environment["NCCL_ALGO"] = *algorithm;
    assume(fmt::format("NCCL_ALGO={}: the record says that NCCL took it", *algorithm));
  }

  void drop_unless_known(nccl::Environment& environment, const std::string& name,
                         const Machine& machine, bool hca) {
    const auto found = environment.find(name);
    const std::vector<std::string> names =
        found == environment.end() ? std::vector<std::string>{} : listed(found->second);
    if (names.empty()) {
      return;
    }
    std::int32_t admitted = 0;
    for (const MachineNic& nic : machine.nics) {
      const bool candidate = !hca || nic.rdma;
      admitted +=
          candidate && starts_one(names, hca ? nic.name : nccl::interface_name(nic)) ? 1 : 0;
    }
    const auto count = static_cast<std::int32_t>(names.size());
    const bool all_named = hca && count >= facts_.nic.count && admitted != facts_.nic.count;
    if (admitted == 0 || all_named) {
      assume(fmt::format("{}={} is left out: names of that host, whose NICs in use are counted",
                         name, found->second));
      environment.erase(found);
    }
  }

  [[nodiscard]] std::string label(const Machine& machine) const {
    std::string text = fmt::format("{} x {}", machine.gpus.size(), machine.gpu_model);
    const NicFacts& nic = facts_.nic;
    if (facts_.hosts == 1) {
      return text;
    }
    if (nic.model == nullptr) {
      return text + fmt::format(", {} virtual NIC{}", nic.count, nic.count == 1 ? "" : "s");
    }
    return text + fmt::format(", {} x {} {}{}", nic.count, nic.model->name, to_string(nic.rate),
                              nic.carrier == Carrier::kSocket ? " by sockets" : "");
  }

  const Record& record_;
  const Library& library_;
  SystemFacts facts_;
  BuiltSystem built_;
};

}  // namespace

nccl::Version release_of(const std::string& text, const std::string& gpu,
                         std::vector<std::string>& assumptions) {
  std::optional<nccl::Version> version;
  if (!text.empty()) {
    version = nccl::parse_version(text.substr(0, text.find_first_of("+-/ ")));
    if (!version) {
      assumptions.push_back(fmt::format("'{}' is no NCCL release", text));
    }
  }
  if (!version) {
    const bool old = gpu.rfind("V100", 0) == 0 || gpu.rfind("A100", 0) == 0 || gpu == "RTX 2080 Ti";
    version = nccl::parse_version(old ? "2.18" : "2.27");
    assumptions.push_back(fmt::format("NCCL {}: none is given", nccl::to_string(*version)));
    return *version;
  }
  const nccl::Version nearest = std::clamp(*version, nccl::kOldest, nccl::kNewest);
  if (nearest != *version) {
    assumptions.push_back(fmt::format("NCCL {} stands for {}", nccl::to_string(nearest), text));
  }
  return nearest;
}

BuiltSystem build_system(const Record& record, const Library& library) {
  return SystemBuilder(record, library).run();
}

}  // namespace busbw::scenarios::accuracy
