// Where the topology of `busbw nccl decide` and `busbw nccl export` comes from: NCCL's XML, a
// machine file of ours, or a machine of the catalogue by name.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/environment.h"
#include "models/nccl/graph/xml.h"
#include "models/nccl/version.h"

namespace busbw::tools {

struct TopologyQuery {
  std::string source;             // file, or name of a catalogue machine
  std::string net;                // "IB", "Socket", a plugin's name; empty: what NCCL takes
  nccl::Environment environment;  // of the ranks; its NCCL_NET and the like choose devices
  nccl::Version version = nccl::kNewest;
};

struct TopologyAnswer {
  nccl::graph::Element document;
  std::string machine;  // its name; empty: the source was XML
  /// Variables that stand for what the XML cannot say of the machine, unless already set.
  nccl::Environment environment;
  std::vector<std::string> remarks;  // one sentence each, for people
};

/// Text of a topology or graph file. Throws InputError when it cannot be read.
std::string read_xml_text(const std::string& path);

/// A text that begins with '<', or in a file that is not called .yaml or .yml, is XML. Throws
/// InputError for a source that is not there or wrong, and when NCCL finds no network on the
/// machine.
TopologyAnswer read_topology(const TopologyQuery& query);

/// As read_topology, for machines alone: XML is refused, and so is what NCCL's parser would refuse.
TopologyAnswer export_topology(const TopologyQuery& query);

}  // namespace busbw::tools
