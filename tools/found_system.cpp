// See found_system.h.
#include "tools/found_system.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "models/nccl/version.h"
#include "scenarios/accuracy/describe.h"
#include "sim/core/text.h"

namespace busbw::tools {
namespace {

using facts::Fact;
using facts::FactStore;
using scenarios::accuracy::Record;
using scenarios::accuracy::RecordSystem;

constexpr std::int64_t kMostRanks = 1 << 20;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
constexpr Bytes kUsualSize = Bytes::gib(1);

std::string text_of(const Fact& fact, std::string_view field) {
  return std::string(fact.get(field));
}

std::optional<FoundRanks> shared_out(std::int64_t ranks, std::int64_t hosts) {
  if (ranks < 1 || hosts < 1 || ranks > kMostRanks || ranks % hosts != 0) {
    return std::nullopt;
  }
  return FoundRanks{static_cast<std::int32_t>(hosts), static_cast<std::int32_t>(ranks / hosts)};
}

/// nccl-tests lists every rank with its host.
std::optional<FoundRanks> listed_ranks(const FactStore& store) {
  std::map<std::string, int> per_host;
  std::set<std::string> ranks;
  for (const Fact* fact : store.named("test.rank")) {
    if (ranks.insert(text_of(*fact, "rank")).second) {
      per_host[text_of(*fact, "host")]++;
    }
  }
  const bool equal = std::all_of(per_host.begin(), per_host.end(), [&](const auto& host) {
    return host.second == per_host.begin()->second;
  });
  return per_host.empty() || !equal ? std::nullopt
                                    : shared_out(static_cast<std::int64_t>(ranks.size()),
                                                 static_cast<std::int64_t>(per_host.size()));
}

/// Ranks of the longest ring that a log prints, or of its ranks' lines.
std::int64_t logged_ranks(const FactStore& store) {
  std::int64_t most = 0;
  for (const Fact* fact : store.named("nccl.rings")) {
    most = std::max(most, static_cast<std::int64_t>(split_blanks(fact->get("order")).size()));
  }
  for (const Fact* fact : store.named("nccl.rank")) {
    most = std::max(most, parse_integer(fact->get("ranks")).value_or(0));
  }
  return most;
}

std::optional<std::string> gpu_name(const FactStore& store, const scenarios::Library& library) {
  for (const char* name : {"test.rank", "smi.gpu"}) {
    for (const Fact* fact : store.named(name)) {
      const std::string gpu = text_of(*fact, "gpu");
      if (scenarios::accuracy::gpu_in(gpu, library.catalog) != nullptr) {
        return gpu;
      }
    }
  }
  return std::nullopt;
}

/// How `nvidia-smi topo -m` says that GPUs are joined, in the words of a record.
void join_gpus(const FactStore& store, RecordSystem& system) {
  static constexpr std::string_view kFarther[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
  std::size_t farthest = 0;
  std::map<std::string, int> behind_one_switch;
  std::string nvlink;
  bool seen = false;
  for (const Fact* fact : store.named("topo.pair")) {
    if (fact->get("kind") != "gpu") {
      continue;
    }
    const std::string link = text_of(*fact, "link");
    seen = true;
    if (link.rfind("NV", 0) == 0) {
      nvlink = link;
    } else if (const auto* found = std::find(std::begin(kFarther), std::end(kFarther), link);
               found != std::end(kFarther)) {
      farthest =
          std::max(farthest, static_cast<std::size_t>(std::distance(std::begin(kFarther), found)));
      if (link == "PIX") {
        behind_one_switch[text_of(*fact, "a")]++;
      }
    }
  }
  const bool board = system.gpu.find("SXM") != std::string::npos;
  if (!seen || (board && !nvlink.empty())) {
    return;  // the usual board of so many GPUs
  }
  if (!nvlink.empty()) {
    system.intra.nvlink = lower(nvlink) + " bridge";
  } else if (!behind_one_switch.empty() && farthest > 1) {
    system.intra.kind = fmt::format("PCIe, {} per switch", behind_one_switch.begin()->second + 1);
  } else {
    system.intra.kind = "PCIe " + std::string(kFarther[farthest]);
  }
}

/// Ports of HCAs by host: "mlx5_0:1".
using Ports = std::map<std::string, std::set<std::string>>;

std::string port_of(const Fact& fact) {
  const std::string port = text_of(fact, "port");
  return text_of(fact, "hca") + ":" + (port.empty() ? "1" : port);
}

std::int32_t most(const Ports& ports) {
  std::size_t count = 0;
  for (const auto& [host, names] : ports) {
    count = std::max(count, names.size());
  }
  return static_cast<std::int32_t>(count);
}

Ports used_ports(const FactStore& store) {
  Ports ports;
  for (const Fact* fact : store.named("nccl.hca")) {
    ports[fact->host].insert(port_of(*fact));
  }
  return ports;
}

Ports listed_ports(const FactStore& store, bool active) {
  Ports ports;
  for (const Fact* fact : store.named("rdma.port")) {
    if (!active || fact->get("state") == "active") {
      ports[fact->host].insert(port_of(*fact));
    }
  }
  return ports;
}

/// Without the ports of another link layer than those that NCCL uses: they do not go together.
Ports of_used_layer(const FactStore& store, const Ports& ports) {
  const std::vector<const Fact*> used = store.named("nccl.hca");
  if (used.empty()) {
    return ports;
  }
  const bool ethernet = lower(used.front()->get("link")) == "roce";
  Ports result = ports;
  for (const Fact* fact : store.named("rdma.port")) {
    const std::string_view link = fact->get("link");
    if (!link.empty() && (link == "ethernet") != ethernet) {
      result[fact->host].erase(port_of(*fact));
    }
  }
  return result;
}

/// The slowest of the ports in use, and its link layer in the words of a record.
bool take_ports(const FactStore& store, RecordSystem& system) {
  system.nic.count = found_ports(store).used;
  std::set<std::string> used;
  for (const auto& [host, names] : used_ports(store)) {
    used.insert(names.begin(), names.end());
  }
  bool infiniband = true;
  for (const Fact* fact : store.named("nccl.hca")) {
    infiniband = infiniband && lower(fact->get("link")) != "roce";
  }
  std::optional<double> rate;
  for (const Fact* fact : store.named("rdma.port")) {
    const std::optional<double> gbps = parse_number(fact->get("rate"));
    const bool counts = used.empty() ? fact->get("state") == "active" : used.count(port_of(*fact));
    if (counts && gbps && *gbps >= 1 && *gbps < 10'000) {
      rate = std::min(rate.value_or(*gbps), *gbps);
      infiniband = infiniband && fact->get("link") != "ethernet";
    }
  }
  if (*system.nic.count < 1 || !rate) {
    return false;
  }
  system.nic.rate = Bandwidth::megabits_per_second(static_cast<std::int64_t>(*rate * 1000));
  system.nic.link = infiniband ? "InfiniBand" : "RoCE";
  return true;
}

/// Whether data goes over NCCL's own IB network.
bool over_rdma(const FactStore& store) {
  bool other = false;
  for (const Fact* fact : store.named("nccl.network")) {
    other = other || lower(fact->get("name")) != "ib";
  }
  return !other && !store.has("is.socket_data");
}

void take_conditions(const FactStore& store, RecordSystem& system) {
  bool direct = false;
  for (const Fact* fact : store.named("nccl.channel")) {
    direct = direct || fact->get("gdr") == "yes";
  }
  if (store.has("is.gdr_none")) {
    system.nic.gdr = false;
  } else if (direct) {
    system.nic.gdr = true;
  }
  if (store.has("is.acs_on")) {
    system.conditions["acs"] = "redirect";
  }
  if (store.has("is.iommu_on")) {
    system.conditions["iommu"] = "translated";
  }
  if (store.has("is.all_nics_far")) {
    system.conditions["gpu_nic_path"] = "SYS";
  }
}

/// What NCCL reads; files that it names are not here.
void take_environment(const FactStore& store, Record& record) {
  for (const Fact* fact : store.named("var")) {
    const std::string name = text_of(*fact, "name");
    if (name.rfind("NCCL_", 0) == 0 && name.find("FILE") == std::string::npos) {
      record.environment[name] = text_of(*fact, "value");
    }
  }
}

void take_point(const FactStore& store, Record& record) {
  const std::vector<const Fact*> names = store.named("test.collective");
  record.collective = names.empty() ? "all_reduce" : text_of(*names.front(), "name");
  scenarios::accuracy::RecordPoint point;
  for (const Fact* fact : store.named("test.row")) {
    const std::int64_t bytes = parse_integer(fact->get("bytes")).value_or(0);
    if (bytes > 0 && bytes < kMostBytes && (!point.bytes || *point.bytes < Bytes(bytes))) {
      point.bytes = Bytes(bytes);
      point.algbw_GBps = parse_number(fact->get("algbw"));
      point.busbw_GBps = parse_number(fact->get("busbw"));
    }
  }
  record.kind = "nccl-tests";
  if (!point.bytes) {
    point.bytes = kUsualSize;
  }
  record.points = {point};
}

}  // namespace

FoundPorts found_ports(const FactStore& store) {
  const std::int32_t used = most(used_ports(store));
  FoundPorts ports;
  ports.used = used > 0 ? used : most(listed_ports(store, true));
  ports.there = std::max(most(of_used_layer(store, listed_ports(store, false))), ports.used);
  return ports;
}

std::optional<FoundRanks> found_ranks(const FactStore& store) {
  if (const auto listed = listed_ranks(store)) {
    return listed;
  }
  const std::int64_t ranks = logged_ranks(store);
  for (const Fact* fact : store.named("nccl.nodes")) {
    if (const auto found = shared_out(parse_integer(fact->get("ranks")).value_or(ranks),
                                      parse_integer(fact->get("nodes")).value_or(0))) {
      return found;
    }
  }
  for (const Fact* fact : store.named("topo.gpus")) {
    const std::int64_t gpus = parse_integer(fact->get("count")).value_or(0);
    if (gpus > 0 && ranks > 0 && (ranks <= gpus || ranks % gpus == 0)) {
      return shared_out(ranks, ranks <= gpus ? 1 : ranks / gpus);
    }
  }
  std::set<std::string> hosts;
  for (const Fact* fact : store.named("nccl.log")) {
    if (!fact->host.empty()) {
      hosts.insert(fact->host);
    }
  }
  const bool one = store.has("is.one_host") && !store.has("is.several_hosts");
  const bool network = store.has("is.rdma_data") || store.has("is.socket_data");
  const std::size_t least = network && !one ? 2 : 1;
  return shared_out(ranks, static_cast<std::int64_t>(std::max(least, hosts.size())));
}

std::optional<Record> found_system(const FactStore& store, const scenarios::Library& library) {
  const std::optional<FoundRanks> ranks = found_ranks(store);
  if (!ranks || ranks->hosts * ranks->gpus < 2) {
    return std::nullopt;
  }
  Record record;
  record.id = "found";
  RecordSystem& system = record.system;
  system.nodes = ranks->hosts;
  system.gpus_per_node = ranks->gpus;
  if (const auto gpu = gpu_name(store, library)) {
    system.gpu = *gpu;
    join_gpus(store, system);
  } else {
    const auto like = std::find_if(
        library.machines.begin(), library.machines.end(), [&](const topologies::Machine& machine) {
          return static_cast<std::int32_t>(machine.gpus.size()) == ranks->gpus &&
                 std::any_of(machine.nics.begin(), machine.nics.end(), [](const auto& nic) {
                   return nic.rdma && nic.link_layer == topologies::NicLinkLayer::kInfiniBand;
                 });
        });
    if (like == library.machines.end() || ranks->hosts == 1) {
      return std::nullopt;  // inside a host the GPUs are what counts
    }
    system.gpu = like->gpu_model;
    record.notes = "GPUs as in " + like->title;
  }
  if (ranks->hosts > 1 && (!over_rdma(store) || !take_ports(store, system))) {
    return std::nullopt;
  }
  if (ranks->hosts == 1) {
    system.nic.count = 0;
  }
  take_conditions(store, system);
  take_environment(store, record);
  take_point(store, record);
  for (const Fact* fact : store.named("nccl.version")) {
    const auto known = nccl::parse_version(text_of(*fact, "version"));
    if (known && record.nccl_version.empty()) {
      record.nccl_version = nccl::to_string(*known);
    }
  }
  return record;
}

}  // namespace busbw::tools
