// See fabric_study.h.
#include "tools/fabric_study.h"

#include <filesystem>

#include <fmt/format.h>

#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "sim/core/yaml.h"
#include "tools/data_path.h"
#include "tools/emulated_fabric.h"
#include "tools/files.h"
#include "tools/json/json.h"
#include "topologies/networks/fabric_spec.h"
#include "topologies/networks/import.h"

namespace busbw::tools {
namespace {

namespace fs = std::filesystem;
using networks::FileKind;

/// A file as it is named, or a fabric of the catalogue.
std::string find_file(const std::string& word, const std::string& catalog) {
  if (fs::exists(word) || word.find_first_of("/.") != std::string::npos) {
    return word;
  }
  const std::string in_catalog = catalog + "/" + word + ".yaml";
  return fs::is_regular_file(in_catalog) ? in_catalog : word;
}

networks::Imported read_kind(FileKind kind, const std::string& text, const std::string& path,
                             const topologies::Catalog& catalog, Problems& problems) {
  switch (kind) {
    case FileKind::kIbNetDiscover:
      return networks::read_ibnetdiscover(text, path, catalog, problems);
    case FileKind::kIbLinkInfo:
      return networks::read_iblinkinfo(text, path, catalog, problems);
    case FileKind::kEdges:
      return networks::read_edges(text, path, catalog, problems);
    case FileKind::kGraph: {
      const Value graph = json::parse(text, path, problems);
      return problems.empty() ? networks::read_graph(graph, catalog, problems)
                              : networks::Imported();
    }
    case FileKind::kInfraGraph: {
      const YamlNode file = parse_yaml(text, path, problems);
      return problems.empty() ? networks::read_infragraph(file, catalog, problems)
                              : networks::Imported();
    }
    case FileKind::kFabric:
    case FileKind::kUnknown:
      break;
  }
  problems.add({path, 0, 0},
               "no fabric; allowed: a file with 'schema: busbw.fabric/1', the output of "
               "ibnetdiscover or iblinkinfo, a list of cables, a graph in JSON, InfraGraph");
  return {};
}

networks::Routes by_engine(const networks::BuiltFabric& built, const networks::Subnet& subnet,
                           const networks::PortMap& map, const std::string& words) {
  if (words.empty()) {
    return routes_of(built, subnet, map);
  }
  const std::optional<networks::Engine> engine = networks::parse_engine(words);
  if (!engine) {
    const std::string meant = did_you_mean(words, route_words());
    throw InputError("unknown routes '" + words + "'" +
                     (meant.empty() ? "; allowed: " + quoted_list(route_words()) : meant));
  }
  return route(subnet, map, *engine);
}

networks::Routes by_opensm(const networks::BuiltFabric& built, const networks::Subnet& subnet,
                           std::string& engine) {
  const bool known = built.engine == networks::Engine::kFtree ||
                     built.engine == networks::Engine::kUpDown ||
                     built.engine == networks::Engine::kMinHop;
  const std::string asked = known ? to_string(built.engine) : "ftree";
  OpenSmRoutes made = run_opensm(subnet, asked);
  engine = "OpenSM " + made.engine;
  networks::Routes routes;
  routes.asked = networks::Engine::kTables;
  routes.used = networks::Engine::kTables;
  if (made.engine != asked) {
    routes.why = fmt::format("OpenSM refused {}", asked);
  }
  routes.lfts = std::move(made.lfts);
  return routes;
}

}  // namespace

const std::vector<std::string>& route_words() {
  static const std::vector<std::string> kWords = {"ftree", "updn", "minhop", "d-mod-k", "opensm"};
  return kWords;
}

FabricDescription read_fabric_description(const std::string& word,
                                          const topologies::Catalog& catalog) {
  Problems problems;
  const std::string path = find_file(word, catalog.directory);
  const YamlNode node = parse_yaml(read_user_file(path), path, problems);
  networks::FabricSpec spec = networks::read_fabric(node, problems);
  problems.throw_if_any();
  return {path, std::move(spec)};
}

FabricFile read_fabric_file(const std::string& word) {
  const DataPath data = find_data(process_query());
  Problems problems;
  const topologies::Catalog catalog = topologies::load_catalog(data.catalog(), problems);
  problems.throw_if_any();
  const std::string path = find_file(word, data.catalog());
  const std::string text = read_user_file(path);
  FabricFile file;
  const FileKind kind = networks::kind_of(text);
  if (kind == FileKind::kFabric) {
    const YamlNode node = parse_yaml(text, path, problems);
    const networks::FabricSpec spec = networks::read_fabric(node, problems);
    problems.throw_if_any();
    file.built = build_fabric(spec, catalog, problems);
    problems.throw_if_any();
    file.bill = bill_of(file.built, spec.currency, spec.prices, spec.power);
    return file;
  }
  networks::Imported imported = read_kind(kind, text, path, catalog, problems);
  problems.throw_if_any();
  file.remarks = imported.remarks;
  file.built = fabric_of(fs::path(path).stem().string(), std::move(imported));
  file.bill = bill_of(file.built, "", {}, {});
  return file;
}

SubnetStudy study(const networks::BuiltFabric& built, const networks::Subnet& subnet,
                  const std::string& routes, StudyDepth depth) {
  SubnetStudy result{networks::PortMap(subnet), {}, "", {}, {}, {}, {}, {}};
  if (routes == "opensm") {
    result.routes = by_opensm(built, subnet, result.engine);
  } else {
    result.routes = by_engine(built, subnet, result.map, routes);
    result.engine = to_string(result.routes.used);
  }
  const networks::Lfts& lfts = result.routes.lfts;
  result.pairs = check_pairs(subnet, result.map, lfts);
  result.loops = credit_loops(subnet, result.map, lfts);
  if (depth == StudyDepth::kAll) {
    result.shifts = check_shifts(subnet, result.map, lfts);
    result.bisection = bisect(subnet, built.hosts);
    result.tiers = tier_rates(subnet, result.map);
  }
  return result;
}

}  // namespace busbw::tools
