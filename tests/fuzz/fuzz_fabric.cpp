// Fuzzers of topologies/networks: fabric files and the outputs of other tools, damaged.
#include <set>

#include "tests/fuzz/registry.h"
#include "topologies/networks/analysis.h"
#include "topologies/networks/import.h"
#include "topologies/networks/lft_dump.h"

namespace busbw::fuzz {
namespace {

constexpr const char* kFile = "fabric";
constexpr std::size_t kSmall = 300;  // endpoints of what is routed

const topologies::Catalog& catalog() {
  static const topologies::Catalog kCatalog = [] {
    Problems problems;
    return topologies::load_catalog(std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog",
                                    problems);
  }();
  return kCatalog;
}

/// Whether no two ports share a GUID: a port's is counted on from its HCA's.
bool has_own_guids(const networks::Subnet& subnet) {
  std::set<std::uint64_t> guids;
  for (const networks::Switch& node : subnet.switches) {
    guids.insert(node.guid);
  }
  for (const networks::Endpoint& endpoint : subnet.endpoints) {
    guids.insert(endpoint.port_guid);
  }
  return guids.size() == subnet.switches.size() + subnet.endpoints.size();
}

/// Routes a subnet with every engine and follows all ways.
void look_at(const networks::Subnet& subnet, const std::string& text) {
  if (subnet.endpoints.size() > kSmall) {
    return;
  }
  const networks::PortMap map(subnet);
  for (const networks::Engine engine : {networks::Engine::kFtree, networks::Engine::kUpDown,
                                        networks::Engine::kMinHop, networks::Engine::kDModK}) {
    const networks::Routes routes = route(subnet, map, engine);
    const networks::PairReport pairs = check_pairs(subnet, map, routes.lfts);
    std::int64_t counted = 0;
    for (const auto& [hops, count] : pairs.hops) {
      counted += count;
    }
    require(subnet.lmc > 0 || counted + pairs.unreachable == pairs.pairs,
            "every pair is reached or reported", text);
    Problems problems;
    require(!has_own_guids(subnet) ||
                read_lft_dump(write_lft_dump(subnet, routes.lfts), kFile, subnet, problems) ==
                    routes.lfts ||
                !problems.empty() || !subnet.managed,
            "a dump reads back", text);
  }
}

void fabric_file(Random& random) {
  const std::string text = mutate(
      random,
      {"schema: busbw.fabric/1\nname: a\ntopology: fat-tree\ntiers: 2\nhosts: [{count: 9}]\n"
       "switches: [QM8700]\nmissing: [{from: leaf0, to: spine0}]\n",
       "schema: busbw.fabric/1\nname: b\ntopology: rail-only\nhosts: [{count: 4, nics: 2}]\n"
       "switches: SN5600\ncables: [{cable: DAC, length_m: 1}]\n",
       "schema: busbw.fabric/1\nname: c\ntopology: dragonfly+\ngroups: 3\nleaves: 2\nspines: 2\n"
       "hosts: [{count: 9}]\nswitches: QM9700\nsubnet_manager: {lmc: 1, routing: updn}\n",
       "schema: busbw.fabric/1\nname: d\ntopology: fat-tree\nhosts: [{count: 8}]\nswitches: "
       "QM9700\n"
       "xgft: {children: [2, 2, 2], parents: [1, 2, 2]}\n"},
      {"1", "2:1", "-1", "254", "leaf0", "QM8700", "[]", "{}", "planes: 2\n", "lmc: 7", "0x7fff"});
  Problems problems;
  const YamlNode node = parse_yaml(text, kFile, problems);
  const networks::FabricSpec spec = networks::read_fabric(node, problems);
  require_good_problems(problems, kFile, text);
  if (!problems.empty() || spec.host_count() > 64 || !spec.tables.empty()) {
    return;
  }
  const networks::BuiltFabric built = build_fabric(spec, catalog(), problems);
  require_good_problems(problems, kFile, text);
  for (const networks::Subnet& subnet : built.subnets) {
    if (problems.empty()) {
      look_at(subnet, text);
    }
  }
}

void imported_file(Random& random) {
  const std::string text = mutate(
      random,
      {"switchguid=0x20\nSwitch 8 \"S-20\" # \"MF0;a:QM8700/U1\" enhanced port 0 lid 3 lmc 0\n"
       "[1] \"H-10\"[1](11) # \"node0 mlx5_0\" lid 4 4xHDR\n[2] \"S-21\"[2] # \"b\" lid 5 4xHDR\n\n"
       "caguid=0x10\nCa 1 \"H-10\" # \"node0 mlx5_0\"\n[1](11) \"S-20\"[1] # lid 4 lmc 0 \"a\" lid "
       "3 "
       "4xHDR\n",
       "CA: node3 HCA-1:\n 0x5a 6 1[  ] ==( 4X 25.78125 Gbps Active/ LinkUp)==> 3 3[  ] \"MF0;s\" "
       "( "
       ")\nSwitch: 0x05 MF0;s:\n 3 3[  ] ==( 4X 25.78125 Gbps Active/ LinkUp)==> 6 1[  ] \"node3 "
       "HCA-1\" ( )\n",
       "switch a 4\nswitch b 4\nh0 a 100 Gb/s\nh1 b:2\na:3 b 200 Gb/s\n",
       "devices: [{name: n, components: [{name: g, choice: xpu}, {name: c, choice: nic, count: "
       "2}]},\n"
       " {name: s, components: [{name: p, choice: port, count: 4}]}]\n"
       "instances: [{name: h, device: n, count: 2}, {name: w, device: s}]\n"
       "links: [{name: l, physical: {bandwidth: {gigabits_per_second: 100}}}]\n"
       "edges:\n  - {ep1: {instance: 'h[0:2]', component: 'c[0:2]'}, ep2: {instance: 'w[0]', "
       "component: 'p[0:4]'}, scheme: one2one, link: l}\n"},
      {"[1]", "[0:2]", "[::", "many2many", "\"", "#", "lid", "4xNDR", "0xffffffffffffffff", "-1",
       "==(", ")==>", "switch "});
  Problems problems;
  networks::Imported imported;
  switch (networks::kind_of(text)) {
    case networks::FileKind::kIbNetDiscover:
      imported = networks::read_ibnetdiscover(text, kFile, catalog(), problems);
      break;
    case networks::FileKind::kIbLinkInfo:
      imported = networks::read_iblinkinfo(text, kFile, catalog(), problems);
      break;
    case networks::FileKind::kEdges:
      imported = networks::read_edges(text, kFile, catalog(), problems);
      break;
    case networks::FileKind::kInfraGraph: {
      const YamlNode file = parse_yaml(text, kFile, problems);
      if (problems.empty()) {
        imported = networks::read_infragraph(file, catalog(), problems);
      }
      break;
    }
    default:
      return;
  }
  require_good_problems(problems, kFile, text);
  if (problems.empty()) {
    look_at(imported.subnet, text);
  }
}

}  // namespace

std::vector<Fuzzer> fabric_fuzzers() {
  return {{"fabric_file", "problems have places, what is built can be routed and followed", 1500,
           fabric_file},
          {"fabric_import", "problems have places, what is imported can be routed and followed",
           3000, imported_file}};
}

}  // namespace busbw::fuzz
