// Fabrics for tests: from YAML text on the catalogue of the product, and some subnets by name.
#pragma once
#include <string>

#include <gtest/gtest.h>

#include "topologies/catalog.h"
#include "topologies/networks/analysis.h"
#include "topologies/networks/build_fabric.h"
#include "topologies/networks/routing.h"

namespace busbw::networks {

inline const topologies::Catalog& shipped_catalog() {
  static const topologies::Catalog kCatalog = [] {
    Problems problems;
    topologies::Catalog catalog =
        topologies::load_catalog(std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog", problems);
    problems.throw_if_any();
    return catalog;
  }();
  return kCatalog;
}

/// `body`: all but schema and name.
inline BuiltFabric fabric_of(const std::string& body) {
  Problems problems;
  const YamlNode node =
      parse_yaml("schema: busbw.fabric/1\nname: test\n" + body, "f.yaml", problems);
  const FabricSpec spec = read_fabric(node, problems);
  problems.throw_if_any();
  BuiltFabric built = build_fabric(spec, shipped_catalog(), problems);
  problems.throw_if_any();
  return built;
}

inline BuiltFabric shipped_fabric(const std::string& name) {
  Problems problems;
  const YamlNode node =
      load_yaml(std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog/" + name + ".yaml", problems);
  const FabricSpec spec = read_fabric(node, problems);
  problems.throw_if_any();
  BuiltFabric built = build_fabric(spec, shipped_catalog(), problems);
  problems.throw_if_any();
  return built;
}

/// Every problem, one a line.
inline std::string problems_of(const std::string& body) {
  Problems problems;
  const YamlNode node =
      parse_yaml("schema: busbw.fabric/1\nname: test\n" + body, "f.yaml", problems);
  const FabricSpec spec = read_fabric(node, problems);
  if (problems.empty()) {
    build_fabric(spec, shipped_catalog(), problems);
  }
  std::string text;
  for (const InputProblem& problem : problems.all()) {
    text += to_string(problem) + "\n";
  }
  return text;
}

/// A generalised fat tree of QM8700 with `hosts` hosts of one port.
inline std::string xgft(int hosts, const std::string& children, const std::string& parents,
                        const std::string& more = "") {
  return "topology: fat-tree\nswitches: QM8700\nhosts: [{count: " + std::to_string(hosts) +
         "}]\nxgft: {children: [" + children + "], parents: [" + parents + "]}\n" + more;
}

inline Bandwidth gbits(std::int64_t value) {
  return Bandwidth::gigabits_per_second(value);
}

/// Sum over the subnets.
inline Bandwidth bisection_of(const BuiltFabric& built) {
  Bandwidth sum;
  for (const Subnet& subnet : built.subnets) {
    sum = sum + bisect(subnet, built.hosts).rate;
  }
  return sum;
}

}  // namespace busbw::networks
