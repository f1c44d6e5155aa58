// Shapes of rings and trees, ports of channels and the candidates to play.
#include "scenarios/plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "models/collectives/shapes.h"
#include "models/nccl/reach.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::scenarios {
namespace {

using collectives::Algorithm;
using params::Protocol;

std::int32_t gpus_per_host(const Variant& variant) {
  return static_cast<std::int32_t>(variant.cluster.hosts.front().gpus.size());
}

/// Whether `word` is admitted by a list such as "Ring,Tree" or "^LL". Since 2.24 a list may be one
/// of several for functions: "ring;allreduce:tree" (the part without a function holds for all
/// others).
bool admits(const std::string& value, const std::string& word) {
  std::string_view list;
  for (const std::string_view part : split(value, ';')) {
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      list = list.empty() ? part : list;
    } else if (lower(trim(part.substr(0, colon))) == "allreduce") {
      list = part.substr(colon + 1);
      break;
    }
  }
  if (trim(list).empty()) {
    return true;
  }
  const bool negated = trim(list).starts_with('^');
  if (negated) {
    list = trim(list).substr(1);
  }
  const std::vector<std::string_view> items = split(list, ',');
  const bool named = std::any_of(items.begin(), items.end(), [&](std::string_view item) {
    return lower(trim(item)) == lower(word);
  });
  return named != negated;
}

/// How far a GPU is from a NIC: 0 on one PCIe switch or CPU port group, 1 under one CPU, 2 beyond.
int distance(const topologies::Machine& machine, const topologies::MachineGpu& gpu,
             const topologies::MachineNic& nic) {
  const std::string place = nic.attach.value_or("cpu0");
  if (gpu.attach == place) {
    return 0;
  }
  return machine.cpu_above(gpu.attach) == machine.cpu_above(place) ? 1 : 2;
}

/// The GPU by which a channel over NIC `index` enters and leaves the host: one of the nearest, and
/// another for each of the NICs that stand at the same place.
std::int32_t entry_gpu(const topologies::Machine& machine, std::size_t index) {
  const topologies::MachineNic& nic = machine.nics[index];
  if (!nic.attach) {
    return 0;  // a virtual NIC is near to none
  }
  std::vector<std::int32_t> nearest;
  int best = 3;
  for (const topologies::MachineGpu& gpu : machine.gpus) {
    const int steps = distance(machine, gpu, nic);
    if (steps < best) {
      nearest.clear();
      best = steps;
    }
    if (steps == best) {
      nearest.push_back(gpu.index);
    }
  }
  const auto before =
      std::count_if(machine.nics.begin(), machine.nics.begin() + static_cast<std::ptrdiff_t>(index),
                    [&](const topologies::MachineNic& other) {
                      return other.attach == nic.attach && other.rdma == nic.rdma;
                    });
  return nearest[static_cast<std::size_t>(before) % nearest.size()];
}

std::int64_t speed_of(const nccl::HostDecision& host) {
  std::int64_t best = 0;
  for (const nccl::NetDevice& device : host.data_devices) {
    best = std::max(best, device.speed_mbit);
  }
  return best;
}

/// Devices of the highest speed: one searched channel each.
std::int32_t searched_channels(const nccl::HostDecision& host) {
  const std::int64_t best = speed_of(host);
  return static_cast<std::int32_t>(
      std::count_if(host.data_devices.begin(), host.data_devices.end(),
                    [&](const nccl::NetDevice& device) { return device.speed_mbit == best; }));
}

transport::Network network_of(const nccl::Decision& decision, const Variant& variant) {
  const std::optional<std::string>& network = decision.hosts.front().network;
  CHECK(network.has_value(), "a job that runs has a network");
  if (*network == "Socket") {
    return transport::Network::kSocket;
  }
  if (*network != "IB") {
    throw InputError("network '" + *network + "' of variant '" + variant.name +
                     "' is an external plugin, which is not modelled");
  }
  const std::string& device = decision.hosts.front().data_devices.front().name;
  for (const nccl::Hca& hca : variant.inventories.front().hcas) {
    if (hca.name == device.substr(0, device.find('+')) && !hca.ports.empty() &&
        hca.ports.front().link_layer == nccl::LinkLayer::kEthernet) {
      return transport::Network::kRoce;
    }
  }
  return transport::Network::kInfiniBand;
}

const nccl::NetDevice& device_of(const nccl::HostDecision& host, std::size_t index) {
  CHECK(!host.data_devices.empty(), "host '{}' has no data device", host.host);
  for (const nccl::NetDevice& device : host.data_devices) {
    if (static_cast<std::size_t>(device.index) == index) {
      return device;
    }
  }
  return host.data_devices[index % host.data_devices.size()];
}

/// The NIC port behind a device, for the `turn`-th channel that uses it. A device of several ports
/// ("mlx5_0+mlx5_1") gives them its channels in turn; NCCL cuts each message over all of them,
/// which loads them alike.
transport::NetPort port_of(const nccl::NetDevice& device, const topologies::Machine& machine,
                           std::size_t turn) {
  const std::vector<std::string_view> parts = split(device.name, '+');
  const std::size_t chosen = turn % parts.size();
  const std::string name(parts[chosen]);
  const std::optional<std::size_t> nic = machine.find_nic(name);
  if (!nic) {
    throw InputError("NCCL sends over '" + name + "', which is no NIC of machine '" + machine.name +
                     "': add it to the machine to simulate its traffic");
  }
  transport::NetPort port;
  port.device = name;
  port.nic = *nic;
  // Ports of one HCA stand in order: "mlx5_0+mlx5_0" are the first and the second.
  const auto same_before =
      std::count(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(chosen), parts[chosen]);
  const bool first_of_hca = parts.front() == parts[chosen];
  port.port = static_cast<std::size_t>(same_before) +
              (first_of_hca ? static_cast<std::size_t>(std::max(0, device.port - 1)) : 0);
  port.gdr = device.gdr;
  return port;
}

/// `device` as the kernel uses it: data of a socket leaves by the first interface of its subnet.
nccl::NetDevice as_routed(nccl::NetDevice device, transport::Network network,
                          const nccl::Inventory& inventory) {
  if (network == transport::Network::kSocket) {
    device.name = nccl::sending_interface(inventory, device.name);
  }
  return device;
}

constexpr std::int64_t kLargestMtu = 65536;

/// Smallest MTU of the interfaces behind the devices of a host.
std::int64_t smallest_mtu(const topologies::Machine& machine, const nccl::HostDecision& host,
                          const nccl::Inventory& inventory) {
  std::int64_t mtu = kLargestMtu;
  for (const nccl::NetDevice& device : host.data_devices) {
    const std::optional<std::size_t> nic = machine.find_nic(device.name);
    const std::string interface =
        nic && machine.nics[*nic].netdev ? *machine.nics[*nic].netdev : device.name;
    for (const nccl::Interface& known : inventory.interfaces) {
      if (known.name == interface) {
        mtu = std::min(mtu, known.mtu);
      }
    }
  }
  return mtu;
}

void set_network(const Variant& variant, const nccl::Decision& decision, Plan& plan) {
  transport::WiringOptions& wiring = plan.wiring;
  wiring.network = network_of(decision, variant);
  wiring.mtu = kLargestMtu;
  for (std::size_t host = 0; host < decision.hosts.size(); ++host) {
    const nccl::HostDecision& decided = decision.hosts[host];
    const topologies::Machine& machine = variant.cluster.hosts[host];
    wiring.ports.emplace_back();
    std::map<int, std::size_t> turns;  // channels so far, by device
    for (const nccl::ChannelDevice& channel : decision.channels) {
      const nccl::NetDevice& device =
          device_of(decided, static_cast<std::size_t>(channel.net_device));
      wiring.ports.back().push_back(
          port_of(as_routed(device, wiring.network, variant.inventories[host]), machine,
                  turns[device.index]++));
    }
    wiring.mtu = std::min(wiring.mtu, smallest_mtu(machine, decided, variant.inventories[host]));
  }
}

/// NCCL's defaults of NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD by NIC vendor; limits 16
/// threads, 64 sockets. Source: NCCL 2.18 to 2.30, src/transport/net_socket.cc.
void set_sockets(const Variant& variant, const nccl::Decision& decision, Plan& plan) {
  constexpr std::int64_t kAws = 0x1d0f;
  constexpr std::int64_t kGoogle = 0x1ae0;
  constexpr std::int64_t kMostThreads = 16;
  constexpr std::int64_t kMostSockets = 64;
  std::int64_t threads = 0;
  std::int64_t sockets = 1;
  const std::string& first = decision.hosts.front().data_devices.front().name;
  for (const nccl::Interface& interface : variant.inventories.front().interfaces) {
    if (interface.name == first && interface.pci_vendor == kAws) {
      threads = 2;
      sockets = 8;
    } else if (interface.name == first && interface.pci_vendor == kGoogle) {
      threads = 4;
    }
  }
  const nccl::Environment& environment = variant.environment;
  threads = std::clamp<std::int64_t>(nccl::numeric(environment, "NCCL_SOCKET_NTHREADS", threads), 0,
                                     kMostThreads);
  sockets = std::max<std::int64_t>(1, nccl::numeric(environment, "NCCL_NSOCKS_PERTHREAD", sockets));
  if (threads * sockets > kMostSockets) {
    sockets = kMostSockets / threads;
  }
  plan.wiring.socket_threads = static_cast<std::int32_t>(threads);
  plan.wiring.sockets_per_thread = static_cast<std::int32_t>(sockets);
}

/// NCCL_NET_GDR_LEVEL: a name, or the numbers of old (levelsOldToNew). Source: NCCL 2.18 to 2.30,
/// src/graph/paths.cc. Words that NCCL does not know count as 0, as it does itself.
transport::Distance gdr_level(const nccl::Environment& environment) {
  using transport::Distance;
  const std::optional<std::string> value = nccl::text(environment, "NCCL_NET_GDR_LEVEL");
  if (!value) {
    return Distance::kPxb;
  }
  constexpr std::array<std::pair<const char*, Distance>, 5> kNames = {{{"LOC", Distance::kLoc},
                                                                       {"PIX", Distance::kPix},
                                                                       {"PXB", Distance::kPxb},
                                                                       {"PHB", Distance::kPhb},
                                                                       {"SYS", Distance::kSys}}};
  for (const auto& [name, level] : kNames) {
    if (*value == name) {
      return level;
    }
  }
  constexpr std::int64_t kFarthest = 4;
  return static_cast<Distance>(
      std::clamp<std::int64_t>(nccl::numeric(environment, "NCCL_NET_GDR_LEVEL", 0), 0, kFarthest));
}

/// The highest speed that NCCL's search tries and that the NIC has. Source: NCCL
/// src/graph/search.cc, speedArrayInter below sm_90, in units of 10 MB/s.
Bandwidth searched_speed(std::int64_t speed_mbit) {
  constexpr std::array<std::int64_t, 19> kSpeeds = {4800, 3000, 2800, 2400, 2000, 1800, 1500,
                                                    1200, 1000, 900,  700,  600,  500,  400,
                                                    300,  240,  120,  24,   12};
  for (const std::int64_t speed : kSpeeds) {
    if (speed * 80 <= speed_mbit) {
      return Bandwidth::bits_per_second(speed * 80'000'000);
    }
  }
  return Bandwidth::bits_per_second(kSpeeds.back() * 80'000'000);
}

/// A host alone has no NIC to count: one channel per NVLink share of a thread block, at least two.
std::int32_t channels_alone(const Variant& variant) {
  constexpr std::int32_t kAlone = 2;
  const topologies::Machine& machine = variant.cluster.hosts.front();
  return std::max(kAlone, 2 * machine.nvlink_links_per_gpu);
}

}  // namespace

std::vector<Candidate> candidates_of(Algorithm algorithm, const nccl::Environment& environment,
                                     std::int32_t hosts) {
  nccl::Environment free = environment;
  free.erase("NCCL_ALGO");
  const bool ours = algorithm == Algorithm::kHierarchical;
  const Algorithm cut_as = ours ? Algorithm::kRing : algorithm;
  std::vector<Candidate> candidates;
  for (const Candidate& candidate : candidates_of(free, hosts)) {
    if (candidate.algorithm == cut_as &&
        !(ours && candidate.protocol == Protocol::kLowLatency128)) {
      candidates.push_back({algorithm, candidate.protocol});
    }
  }
  if (candidates.empty()) {
    throw InputError("NCCL_PROTO='" + nccl::text(environment, "NCCL_PROTO").value_or("") +
                     "' leaves no protocol for " + collectives::to_string(algorithm));
  }
  return candidates;
}

std::vector<Candidate> admitted_candidates(const nccl::Environment& environment,
                                           std::int32_t hosts) {
  const std::string algorithms = nccl::text(environment, "NCCL_ALGO").value_or("");
  const std::string protocols = nccl::text(environment, "NCCL_PROTO").value_or("");
  std::vector<Candidate> candidates;
  for (const Algorithm algorithm : {Algorithm::kTree, Algorithm::kRing}) {
    for (const Protocol protocol :
         {Protocol::kLowLatency, Protocol::kLowLatency128, Protocol::kSimple}) {
      // Between hosts LL128 is off unless named: NICs at PHB or SYS (NCCL src/graph/tuning.cc).
      const bool by_default = protocol != Protocol::kLowLatency128 || hosts == 1;
      const bool protocol_on =
          protocols.empty() ? by_default : admits(protocols, params::to_string(protocol));
      if (admits(algorithms, collectives::to_string(algorithm)) && protocol_on) {
        candidates.push_back({algorithm, protocol});
      }
    }
  }
  return candidates;
}

std::vector<Candidate> candidates_of(const nccl::Environment& environment, std::int32_t hosts) {
  std::vector<Candidate> candidates = admitted_candidates(environment, hosts);
  if (candidates.empty()) {
    throw InputError("NCCL_ALGO='" + nccl::text(environment, "NCCL_ALGO").value_or("") +
                     "' with NCCL_PROTO='" + nccl::text(environment, "NCCL_PROTO").value_or("") +
                     "' leaves neither Ring nor Tree with LL, LL128 or Simple");
  }
  return candidates;
}

Plan make_plan(const Variant& variant, const nccl::Decision& decision) {
  Plan plan;
  plan.hosts = static_cast<std::int32_t>(variant.cluster.hosts.size());
  const std::int32_t local = gpus_per_host(variant);
  const bool alone = plan.hosts == 1;
  const std::int32_t searched =
      alone ? channels_alone(variant) / 2 : searched_channels(decision.hosts.front());
  const std::int32_t channels =
      alone ? channels_alone(variant) : static_cast<std::int32_t>(decision.channels.size());
  if (!alone) {
    set_network(variant, decision, plan);
    set_sockets(variant, decision, plan);
    plan.wiring.gdr_level = gdr_level(variant.environment);
    plan.ring_bandwidth = searched_speed(speed_of(decision.hosts.front())) * searched;
  }
  collectives::LocalOrders chains;
  collectives::LocalOrders local_rings;
  for (std::int32_t c = 0; c < searched; ++c) {
    const auto channel = static_cast<std::size_t>(c);
    const bool over_nic = !alone && channel < plan.wiring.ports.front().size();
    std::vector<std::int32_t> chain(static_cast<std::size_t>(local));
    std::iota(chain.begin(), chain.end(), 0);
    if (over_nic) {
      std::rotate(chain.begin(),
                  chain.begin() + entry_gpu(variant.cluster.hosts.front(),
                                            plan.wiring.ports.front()[channel].nic),
                  chain.end());
    }
    chains.push_back(chain);
    std::reverse(chain.begin() + 1, chain.end());
    local_rings.push_back(std::move(chain));
  }
  const auto rings = collectives::rings_over_hosts(local_rings, plan.hosts);
  const auto trees =
      collectives::trees_over_hosts(chains, plan.hosts, collectives::TreePattern::kBalanced);
  plan.shape.ranks = local * plan.hosts;
  for (std::int32_t rank = 0; rank < plan.shape.ranks; ++rank) {
    plan.shape.host_of.push_back(rank / local);
  }
  for (std::int32_t c = 0; c < channels; ++c) {
    plan.shape.rings.push_back(rings[static_cast<std::size_t>(c) % rings.size()]);
    plan.shape.trees.push_back(trees[static_cast<std::size_t>(c) % trees.size()]);
  }
  const std::optional<Algorithm>& asked = variant.workload.algorithm;
  plan.candidates = asked ? candidates_of(*asked, variant.environment, plan.hosts)
                          : candidates_of(variant.environment, plan.hosts);
  plan.wiring.p2p = nccl::numeric(variant.environment, "NCCL_P2P_DISABLE", 0) != 1;
  plan.wiring.shm = nccl::numeric(variant.environment, "NCCL_SHM_DISABLE", 0) != 1;
  return plan;
}

Cut cut_of(const Plan& plan, const Variant& variant, Candidate candidate, Bytes bytes) {
  nccl::Call call;
  call.version = variant.version;
  call.algorithm =
      candidate.algorithm == Algorithm::kTree ? nccl::Algorithm::kTree : nccl::Algorithm::kRing;
  // Both enumerations list LL, LL128, Simple.
  call.protocol = static_cast<nccl::Protocol>(candidate.protocol);
  call.bytes = bytes;
  call.element = variant.workload.element;
  call.channels = static_cast<std::int32_t>(plan.shape.rings.size());
  call.ranks = plan.shape.ranks;
  call.nodes = plan.hosts;
  call.ring_bandwidth = plan.ring_bandwidth;
  if (nccl::text(variant.environment, "NCCL_BUFFSIZE")) {
    call.buffer = Bytes(nccl::numeric(variant.environment, "NCCL_BUFFSIZE", 4 << 20));
  }
  const std::vector<nccl::ChannelWork> works = nccl::channel_works(call);
  Cut cut;
  cut.channels = static_cast<std::int32_t>(works.size());
  cut.options.bytes = bytes;
  cut.options.element = variant.workload.element;
  cut.options.chunk = works.front().chunk;
  for (const nccl::ChannelWork& work : works) {
    cut.options.channel_bytes.push_back(work.bytes);
  }
  const bool sliced = works.front().slice < works.front().chunk;
  // Ring/Simple cuts a chunk of four slots into two messages of two slots each. Hierarchical has
  // no slices: its chunk is such a message.
  const bool ours = candidate.algorithm == Algorithm::kHierarchical;
  cut.options.chunk = ours ? works.front().slice : works.front().chunk;
  cut.options.slices = sliced && !ours ? 2 : 1;
  cut.slots = nccl::kSteps / (sliced ? 2 : 1);
  cut.options.slots = cut.slots;
  return cut;
}

std::string ring_text(const collectives::RingOrder& ring) {
  std::vector<std::string> ranks;
  for (const RankId rank : ring) {
    ranks.push_back(std::to_string(rank.value()));
  }
  return join(ranks, " ");
}

std::string tree_text(const collectives::TreeParents& tree, RankId rank) {
  std::vector<std::string> children;
  for (std::size_t other = 0; other < tree.size(); ++other) {
    if (tree[other] == rank) {
      children.push_back(std::to_string(other));
    }
  }
  children.resize(std::max<std::size_t>(children.size(), 3), "-1");
  const std::optional<RankId>& parent = tree[rank.index()];
  return fmt::format("{}->{}->{}", join(children, "/"), rank.value(),
                     parent ? parent->value() : -1);
}

}  // namespace busbw::scenarios
