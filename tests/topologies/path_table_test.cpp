// The path of a byte from a GPU of one DGX H100 to a GPU of another, hop by hop, by hand.
#include "topologies/path_table.h"

#include <gtest/gtest.h>

#include "sim/core/check.h"
#include "topologies/build.h"

namespace busbw::topologies {
namespace {

BuiltCluster two_dgx_h100() {
  const std::string directory = std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog";
  Problems problems;
  const Catalog catalog = load_catalog(directory, problems);
  Cluster cluster;
  for (const Machine& machine : load_machines(directory + "/machines", catalog, problems)) {
    if (machine.name == "dgx-h100") {
      cluster.hosts = {machine, machine};
    }
  }
  problems.throw_if_any();
  Network network;
  network.name = "rail0";
  network.nics = {"mlx5_0"};
  network.switch_model = "QM9700";
  network.cable_latency = Duration::nanoseconds(50);
  cluster.networks.push_back(network);
  return build(cluster, catalog);
}

std::vector<LinkId> path_between_hosts(const BuiltCluster& built) {
  const std::size_t nic = 1;  // eth0 is the first
  std::vector<LinkId> path =
      built.fabric.route(built.gpus[0][0], built.nics[0][nic], host_only()).value();
  const std::vector<LinkId> wire =
      built.fabric.route(built.nics[0][nic], built.nics[1][nic], network_only()).value();
  const std::vector<LinkId> end =
      built.fabric.route(built.nics[1][nic], built.gpus[1][0], host_only()).value();
  path.insert(path.end(), wire.begin(), wire.end());
  path.insert(path.end(), end.begin(), end.end());
  return path;
}

// GPU -> PCIe switch -> ConnectX-7 -> NDR switch -> ConnectX-7 -> PCIe switch -> GPU. PCIe Gen5 x16
// is 63.015 GB/s and 0.15 us a hop; NDR 50 GB/s. NIC to switch: NIC 0.4 + cable 0.05; on to the
// NIC: switch 0.15 + cable 0.05 + NIC 0.4.
TEST(PathTable, GpuToGpuAcrossHosts) {
  const BuiltCluster built = two_dgx_h100();
  const CatalogTable table = path_table(built.fabric, path_between_hosts(built));
  ASSERT_EQ(table.rows.size(), 6U);
  const auto column = [&](std::size_t index) {
    std::string text;
    for (const std::vector<std::string>& row : table.rows) {
      text += row.at(index) + " ";
    }
    return text;
  };
  EXPECT_EQ(column(3), "PCIe PCIe network network PCIe PCIe ");
  EXPECT_EQ(column(4), "63.015 63.015 50 50 63.015 63.015 ");
  EXPECT_EQ(column(5), "  * *   ");
  EXPECT_EQ(column(6), "0.15 0.15 0.45 0.6 0.15 0.15 ");
  EXPECT_EQ(column(7), "0.15 0.3 0.75 1.35 1.5 1.65 ");
  EXPECT_EQ(table.rows.front().size(), table.header.size());
}

TEST(PathTable, EmptyRouteHasNoRows) {
  EXPECT_TRUE(path_table(Fabric(), {}).rows.empty());
}

TEST(PathTable, BrokenRouteIsOurBug) {
  const BuiltCluster built = two_dgx_h100();
  std::vector<LinkId> path = path_between_hosts(built);
  std::swap(path[0], path[1]);
  EXPECT_THROW(path_table(built.fabric, path), CheckFailure);
}

}  // namespace
}  // namespace busbw::topologies
