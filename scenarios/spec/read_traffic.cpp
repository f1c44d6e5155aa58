// See read_traffic.h.
#include "scenarios/spec/read_traffic.h"

#include <algorithm>
#include <set>
#include <string>

#include "sim/core/text.h"

namespace busbw::scenarios {
namespace {

constexpr std::int64_t kMostKey = 0x7fff;  // 15 bits
constexpr std::int64_t kMostSeed = 1'000'000'000;
constexpr std::int64_t kLeastMtu = 576;
constexpr std::int64_t kMostMtu = 65536;

void read_ecmp(const YamlNode& node, Problems& problems, params::Traffic& traffic) {
  MappingReader reader(node, "'ecmp'", problems);
  const std::string hash = reader.required_choice("hash", params::hash_words());
  traffic.balance = params::parse_hash(hash).value_or(params::Balance::kFlow);
  traffic.seed = static_cast<std::uint64_t>(reader.integer("seed", 0, kMostSeed).value_or(1));
  reader.finish();
}

/// Numbers of hosts from 1, as numbers from 0.
std::vector<std::size_t> read_members(MappingReader& reader, const char* key,
                                      std::set<std::size_t>& known) {
  std::vector<std::size_t> hosts;
  for (const std::string& text : reader.texts(key).value_or(std::vector<std::string>{})) {
    const std::optional<std::int64_t> host = parse_integer(text);
    if (!host || *host < 1) {
      reader.problem(key, "no number of a host: '" + text + "'; hosts count from 1");
      continue;
    }
    hosts.push_back(static_cast<std::size_t>(*host - 1));
    if (!known.insert(hosts.back()).second) {
      reader.problem(key, "host " + text + " is listed twice in " + reader.what());
    }
  }
  return hosts;
}

std::vector<topologies::HostPartition> read_partitions(const YamlNode& list, Problems& problems) {
  std::vector<topologies::HostPartition> partitions;
  for (const YamlNode& element : list.elements()) {
    MappingReader reader(element, "a partition", problems);
    topologies::HostPartition partition;
    std::set<std::size_t> known;
    partition.key = static_cast<networks::Pkey>(reader.required_integer("key", 1, kMostKey));
    partition.full = read_members(reader, "full", known);
    partition.limited = read_members(reader, "limited", known);
    reader.finish();
    partitions.push_back(std::move(partition));
  }
  return partitions;
}

bool is_ethernet(const topologies::Network& network, const topologies::Cluster& cluster) {
  for (const topologies::Machine& host : cluster.hosts) {
    for (const std::string& listed : network.nics) {
      const std::optional<std::size_t> nic = host.find_nic(listed.substr(0, listed.rfind(':')));
      if (nic) {
        return host.nics[*nic].link_layer == topologies::NicLinkLayer::kEthernet;
      }
    }
  }
  return false;
}

}  // namespace

params::Traffic read_traffic(MappingReader& reader, topologies::Network& network) {
  params::Traffic traffic;
  if (const auto node = reader.mapping("ecmp")) {
    read_ecmp(*node, reader.problems(), traffic);
  }
  if (reader.boolean("adaptive_routing").value_or(false)) {
    if (traffic.balance) {
      reader.problem("adaptive_routing", "give either 'ecmp' or 'adaptive_routing'");
    }
    traffic.balance = params::Balance::kPacket;
    traffic.adaptive_routing = true;
  }
  traffic.pfc = reader.boolean("pfc").value_or(true);
  traffic.ecn = reader.boolean("ecn").value_or(true);
  traffic.mtu = reader.integer("mtu", kLeastMtu, kMostMtu);
  traffic.reroute = reader.duration("reroute");
  if (const auto list = reader.sequence("partitions")) {
    network.partitions = read_partitions(*list, reader.problems());
    if (network.fabric && !network.fabric->partitions.empty()) {
      reader.problem("partitions", "'partitions' of a network and of its fabric file: give one");
    }
  }
  return traffic;
}

void check_traffic(const params::Traffic& traffic, const topologies::Network& network,
                   const topologies::Cluster& cluster, Problems& problems) {
  const bool ethernet = is_ethernet(network, cluster);
  const auto only = [&](bool given, bool of_ethernet, const char* key) {
    if (given && ethernet != of_ethernet) {
      problems.add(network.where, "'" + std::string(key) + "' of network '" + network.name +
                                      "' is a matter of " +
                                      (of_ethernet ? "Ethernet, and its NICs speak InfiniBand"
                                                   : "InfiniBand, and its NICs speak Ethernet"));
    }
  };
  only(traffic.balance.has_value() && !traffic.adaptive_routing, true, "ecmp");
  only(!traffic.pfc, true, "pfc");
  only(!traffic.ecn, true, "ecn");
  only(traffic.mtu.has_value(), true, "mtu");
  only(traffic.adaptive_routing, false, "adaptive_routing");
  only(!network.partitions.empty(), false, "partitions");
  for (const topologies::HostPartition& partition : network.partitions) {
    for (const auto* members : {&partition.full, &partition.limited}) {
      for (const std::size_t host : *members) {
        if (host >= cluster.hosts.size()) {
          problems.add(network.where, "partition " + std::to_string(partition.key) +
                                          " of network '" + network.name + "' names host " +
                                          std::to_string(host + 1) + "; there are " +
                                          std::to_string(cluster.hosts.size()));
        }
      }
    }
  }
}

}  // namespace busbw::scenarios
