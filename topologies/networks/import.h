// Fabrics from files of other tools.
//
//   ibnetdiscover   its topology file (infiniband-diags), also the net file of ibsim
//   iblinkinfo      its output, links of both directions
//   edges           plain lists: `switch NAME [PORTS]`, then `A[:PORT] B[:PORT] [RATE]` a line
//   graph           JSON with "nodes" and "edges" (or "links"), as NetworkX writes node-link graphs
//   infragraph      InfraGraph in YAML or JSON: devices, instances and edges between them
// What is only named by a neighbour is taken over too: outputs are often cut. Each reader adds
// every problem with file, line and column, and returns a subnet that is whole only if there was
// none.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/value.h"
#include "sim/core/yaml.h"
#include "topologies/catalog.h"
#include "topologies/networks/build_fabric.h"

namespace busbw::networks {

enum class FileKind { kFabric, kIbNetDiscover, kIbLinkInfo, kEdges, kGraph, kInfraGraph, kUnknown };

/// By its first lines that say something.
FileKind kind_of(std::string_view text);

struct Imported {
  Subnet subnet;
  std::vector<std::string> remarks;  // what was assumed: "12 switches are only named by others"
};

Imported read_ibnetdiscover(std::string_view text, const std::string& file,
                            const topologies::Catalog& catalog, Problems& problems);
Imported read_iblinkinfo(std::string_view text, const std::string& file,
                         const topologies::Catalog& catalog, Problems& problems);
Imported read_edges(std::string_view text, const std::string& file,
                    const topologies::Catalog& catalog, Problems& problems);
Imported read_graph(const Value& graph, const topologies::Catalog& catalog, Problems& problems);
/// See read_infragraph.cpp for what of it is read.
Imported read_infragraph(const YamlNode& file, const topologies::Catalog& catalog,
                         Problems& problems);

/// A fabric of one imported subnet.
BuiltFabric fabric_of(const std::string& name, Imported imported);

}  // namespace busbw::networks
