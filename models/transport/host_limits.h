// What limits the traffic inside a host besides its links one by one:
//   both ways    thread blocks that read host memory send a request for each packet, which goes up
//                beside what others write: both directions of a PCIe link together get less than
//                twice one of them
//   peers        a NIC that reads GPU memory through a root complex gets little, and between
//                sockets both directions together get little
//   translation  where the IOMMU translates what devices send, each root port
//   verbs        adapters whose driver moves the data in software
// Each is one more link of the engine on the ways of all that share it. Numbers:
// topologies/catalog/transports.yaml and nics.yaml.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "models/params/params.h"
#include "sim/engine/engine.h"
#include "topologies/build.h"

namespace busbw::transport {

/// Keeps references: all arguments must outlive it.
class HostLimits {
 public:
  using FabricPath = std::vector<topologies::LinkId>;

  HostLimits(engine::Engine& engine, const topologies::Cluster& cluster,
             const topologies::BuiltCluster& built, const params::Transports& transports);

  /// Of thread blocks that read or write host memory over `path`; empty when it has no PCIe.
  std::vector<engine::LinkId> of_blocks(const FabricPath& path);
  /// Of a NIC that reads from GPU memory (`path` ends at it) or writes there (begins at it).
  std::vector<engine::LinkId> of_peers(const FabricPath& path, topologies::NodeId nic);
  /// Of anything that goes over `path`, once for the first root port on it.
  std::optional<engine::LinkId> of_translation(const FabricPath& path);
  /// Of what a NIC sends and receives by verbs.
  std::optional<engine::LinkId> of_verbs(std::size_t host, std::size_t nic);

 private:
  using RootPort = std::tuple<HostId, topologies::NodeKind, std::int32_t>;

  /// Of two links of opposite directions, or of a node: its limit, made when first needed.
  engine::LinkId both_ways(topologies::LinkId link, topologies::LinkId back);
  engine::LinkId named(std::map<topologies::NodeId, engine::LinkId>& known, topologies::NodeId node,
                       const char* what, Bandwidth rate);
  [[nodiscard]] bool meets_cpu(const FabricPath& path) const;
  [[nodiscard]] bool changes_socket(const FabricPath& path) const;

  engine::Engine& engine_;
  const topologies::Cluster& cluster_;
  const topologies::BuiltCluster& built_;
  const params::PcieShare& pcie_;
  std::map<topologies::LinkId, engine::LinkId> both_ways_;  // by the lower id of the two
  std::map<topologies::NodeId, engine::LinkId> peer_reads_;
  std::map<topologies::NodeId, engine::LinkId> peers_across_;
  std::map<topologies::NodeId, engine::LinkId> verbs_;
  std::map<RootPort, engine::LinkId> translation_;
};

}  // namespace busbw::transport
