// What `busbw fabric` knows of a fabric: built or imported, routed, and looked at.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "topologies/networks/analysis.h"
#include "topologies/networks/bill.h"
#include "topologies/networks/build_fabric.h"
#include "topologies/networks/fabric_spec.h"

namespace busbw::tools {

/// A fabric from any file that is understood.
struct FabricFile {
  networks::BuiltFabric built;
  networks::Bill bill;
  std::vector<std::string> remarks;  // of the import
};

/// Reads a fabric file (or one of the catalogue by name), an output of ibnetdiscover or iblinkinfo,
/// a list of cables or a graph. Throws InputError with every problem.
FabricFile read_fabric_file(const std::string& word);

/// A fabric file as a description, for what builds it itself.
struct FabricDescription {
  std::string path;
  networks::FabricSpec spec;
};

/// Throws InputError with every problem; other kinds of files are one.
FabricDescription read_fabric_description(const std::string& word,
                                          const topologies::Catalog& catalog);

struct SubnetStudy {
  networks::PortMap map;
  networks::Routes routes;
  std::string engine;  // that made the tables: "ftree", "OpenSM minhop"
  networks::PairReport pairs;
  std::vector<std::vector<networks::Channel>> loops;
  networks::ShiftReport shifts;
  networks::Bisection bisection;
  std::vector<networks::TierRates> tiers;

  [[nodiscard]] bool good() const { return pairs.unreachable == 0 && loops.empty(); }
};

/// Whether everything is computed, or only what --check judges.
enum class StudyDepth { kAll, kCheck };

/// Routes a subnet and looks at it. `routes`: "ftree", "updn", "minhop", "d-mod-k", "opensm", or
/// empty for what the file says. Throws InputError for another word, SystemError when OpenSM fails.
SubnetStudy study(const networks::BuiltFabric& built, const networks::Subnet& subnet,
                  const std::string& routes, StudyDepth depth);

/// The words of --routes.
const std::vector<std::string>& route_words();

}  // namespace busbw::tools
