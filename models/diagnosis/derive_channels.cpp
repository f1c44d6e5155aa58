// What the lines of the connections show together: GPU Direct RDMA, which NIC at which end.
//
// is.gdr_none {}                  RDMA connections, none of them from GPU memory
// is.gdr_mixed {net}              some from GPU memory, this one not
// is.channel_nics_differ {channel, receive, send}    one rank enters and leaves by different NICs
// is.nic_index_differs {channel, on, net}            hosts use another NIC for the same channel
// is.hcas_differ {on, count}, is.hca_names_differ {on}, is.links_mixed {hca}
// is.hca_open_failed {hca, on}
// is.p2p_pcie {}                  peer access between GPUs, no NVLink known
// is.nvlink {}, is.shm_channels {}
// is.old_log {}                   lines of NCCL before 2.8
// is.tiny_bandwidth {width}       GB/s that no bus of a working system has
#include <algorithm>
#include <map>
#include <set>

#include "models/diagnosis/derive.h"
#include "sim/core/text.h"

namespace busbw::diagnosis {
namespace {

using facts::Fact;
using facts::FactStore;

std::vector<Fact> rdma_channels(const FactStore& store) {
  std::vector<Fact> result;
  for (const Fact* fact : store.named("nccl.channel")) {
    if (fact->get("way") == "NET" && fact->get("gdr") != "never") {
      result.push_back(*fact);
    }
  }
  return result;
}

void gpu_direct(FactStore& store, const std::vector<Fact>& channels) {
  const auto with = std::count_if(channels.begin(), channels.end(),
                                  [](const Fact& fact) { return fact.get("gdr") == "yes"; });
  for (const Fact& fact : channels) {
    if (fact.get("gdr") != "no") {
      continue;
    }
    if (with == 0) {
      conclude(store, fact, "is.gdr_none", {});
    } else {
      conclude(store, fact, "is.gdr_mixed", {{"net", std::string(fact.get("net"))}});
    }
  }
}

/// A rank that receives a channel by one NIC and sends it on by another.
void nics_of_ranks(FactStore& store, const std::vector<Fact>& channels) {
  std::map<std::string, Fact> receives;
  for (const Fact& fact : channels) {
    if (fact.get("direction") == "receive") {
      const std::string key =
          fact.host + '/' + std::string(fact.get("channel")) + '/' + std::string(fact.get("to"));
      receives.emplace(key, fact);
    }
  }
  for (const Fact& fact : channels) {
    const std::string key =
        fact.host + '/' + std::string(fact.get("channel")) + '/' + std::string(fact.get("from"));
    const auto receive = receives.find(key);
    if (fact.get("direction") == "send" && receive != receives.end() &&
        receive->second.get("net") != fact.get("net")) {
      for (const Fact* seen : {static_cast<const Fact*>(&receive->second), &fact}) {
        conclude(store, *seen, "is.channel_nics_differ",
                 {{"channel", std::string(fact.get("channel"))},
                  {"receive", std::string(receive->second.get("net"))},
                  {"send", std::string(fact.get("net"))}});
      }
    }
  }
}

/// The same channel enters two hosts at GPUs of the same place by NICs of different number.
void nics_of_hosts(FactStore& store, const std::vector<Fact>& channels) {
  std::map<std::string, Fact> first;
  for (const Fact& fact : channels) {
    if (fact.get("direction") != "receive" || fact.host.empty()) {
      continue;
    }
    const std::string key =
        std::string(fact.get("channel")) + '/' + std::string(fact.get("to_device"));
    const auto [known, added] = first.emplace(key, fact);
    if (!added && known->second.host != fact.host && known->second.get("net") != fact.get("net")) {
      for (const Fact* seen : {static_cast<const Fact*>(&known->second), &fact}) {
        conclude(store, *seen, "is.nic_index_differs",
                 {{"channel", std::string(fact.get("channel"))},
                  {"on", seen->host},
                  {"net", std::string(seen->get("net"))}});
      }
    }
  }
}

void compare_hcas(FactStore& store) {
  std::map<std::string, std::set<std::string>> of_host;
  std::map<std::string, Fact> seen;
  for (const Fact& fact : all_of(store, "nccl.hca")) {
    of_host[fact.host].insert(std::string(fact.get("hca")));
    seen.emplace(fact.host, fact);
  }
  std::size_t most = 0;
  std::size_t fewest = 1'000'000;
  for (const auto& [host, hcas] : of_host) {
    most = std::max(most, hcas.size());
    fewest = std::min(fewest, hcas.size());
  }
  for (const auto& [host, hcas] : of_host) {
    if (most != fewest) {
      conclude(store, seen.at(host), "is.hcas_differ",
               {{"on", host}, {"count", std::to_string(hcas.size())}});
    }
  }
  for (const auto& [host, hcas] : of_host) {
    if (most == fewest && hcas != of_host.begin()->second) {
      conclude(store, seen.at(of_host.begin()->first), "is.hca_names_differ",
               {{"on", of_host.begin()->first}});
      conclude(store, seen.at(host), "is.hca_names_differ", {{"on", host}});
    }
  }
  std::map<std::string, Fact> links;
  for (const Fact& fact : all_of(store, "nccl.hca")) {
    if (!fact.get("link").empty()) {
      links.emplace(fact.host + '/' + std::string(fact.get("link")), fact);
    }
  }
  for (const auto& link : links) {
    const Fact& fact = link.second;
    const auto of_this = std::count_if(links.begin(), links.end(), [&](const auto& entry) {
      return entry.second.host == fact.host;
    });
    if (of_this > 1) {
      conclude(store, fact, "is.links_mixed", {{"hca", std::string(fact.get("hca"))}});
    }
  }
  for (const Fact& fact : all_of(store, "nccl.ib_open_failed")) {
    const std::string hca(fact.get("hca"));
    for (const auto& [host, hcas] : of_host) {
      if (host != fact.host && hcas.find(hca) != hcas.end()) {
        conclude(store, fact, "is.hca_open_failed", {{"hca", hca}, {"on", fact.host}});
        conclude(store, seen.at(host), "is.hca_open_failed", {{"hca", hca}, {"on", host}});
      }
    }
  }
}

void between_gpus(FactStore& store) {
  const char* nvlink = nullptr;
  for (const char* name : {"topo.pair", "nccl.pattern", "nvlink.link", "nccl.nvls_available"}) {
    for (const Fact* fact : store.named(name)) {
      const bool pair = fact->get("link").rfind("NV", 0) == 0;
      const bool pattern = fact->get("type").rfind("NVL", 0) == 0;
      if (pair || pattern || fact->get("state") == "active" ||
          fact->name == "nccl.nvls_available") {
        nvlink = name;
        break;
      }
    }
  }
  for (const Fact& fact : all_of(store, "nccl.channel")) {
    if (fact.get("way") == "P2P") {
      conclude(store, fact, nvlink == nullptr ? "is.p2p_pcie" : "is.nvlink", {});
    } else if (lower(fact.get("way")) == "shm" || fact.get("way") == "direct shared memory") {
      conclude(store, fact, "is.shm_channels", {});
    }
    if (fact.get("form") == "old") {
      conclude(store, fact, "is.old_log", {});
    }
  }
}

/// PCIe of one lane of the first generation, in NCCL's figures, is 0.12 to 0.25 GB/s; a x4 link of
/// the third is 3. Ours: below 1 GB/s nothing is meant that way.
void bandwidths(FactStore& store) {
  for (const auto& [name, field] : {std::pair<const char*, const char*>{"nccl.system", "max"},
                                    {"nccl.pattern", "intra"},
                                    {"nccl.topology_link", "width"}}) {
    for (const Fact& fact : all_of(store, name)) {
      const std::optional<double> width = parse_number(fact.get(field));
      if (width && *width > 0 && *width < 1) {
        conclude(store, fact, "is.tiny_bandwidth", {{"width", std::string(fact.get(field))}});
      }
    }
  }
  for (const Fact& fact : all_of(store, "topology.link")) {
    const std::optional<double> speed = parse_number(fact.get("speed"));
    const std::optional<double> lanes = parse_number(fact.get("width"));
    if (speed && lanes && *speed > 0 && *lanes > 0 && *speed * *lanes < 8) {
      conclude(
          store, fact, "is.tiny_bandwidth",
          {{"width", std::string(fact.get("speed")) + " GT/s x" + std::string(fact.get("width"))}});
    }
  }
}

}  // namespace

void derive_channels(FactStore& store) {
  const std::vector<Fact> channels = rdma_channels(store);
  gpu_direct(store, channels);
  nics_of_ranks(store, channels);
  nics_of_hosts(store, channels);
  compare_hcas(store);
  between_gpus(store);
  bandwidths(store);
}

}  // namespace busbw::diagnosis
