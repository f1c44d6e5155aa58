// Output of real tools that is not part of the repository: values that a person read from it.
// Skipped when it is absent.
#include <filesystem>

#include <gtest/gtest.h>

#include "sim/core/text.h"
#include "tests/models/facts/read_text.h"

namespace busbw::facts {
namespace {

const std::string kFolder = std::string(BUSBW_SHARED_DIR) + "/tool-outputs/";

class Samples : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder))
      GTEST_SKIP() << kFolder << " is not here";
  }
  static ReadText sample(const std::string& name) {
    return read_text(read_file(kFolder + name), name, 4096);
  }
};

TEST_F(Samples, EveryFileHasAKindAndNoNote) {
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    if (name == "index.json")
      continue;
    const ReadText read = sample(name);
    EXPECT_FALSE(read.report.kinds.empty()) << name;
    EXPECT_EQ(read.notes(), std::vector<std::string>{}) << name;
  }
}

TEST_F(Samples, Logs) {
  const ReadText gdr = sample("nccl_2_21_5_a100pcie_gdrdma.log");
  EXPECT_EQ(gdr.field("nccl.version", "version"), "2.21.5+cuda12.4");
  EXPECT_EQ(gdr.field("nccl.network", "name"), "IBext_v8");
  EXPECT_EQ(gdr.count("nccl.network"), 2U);  // node1 and node2
  EXPECT_EQ(gdr.field("nccl.channel", "gdr"), "yes");
  EXPECT_EQ(gdr.count("nccl.channel"), 4U);
  EXPECT_EQ(gdr.field("nccl.nodes", "nodes"), "2");
  EXPECT_EQ(gdr.field("nccl.env", "name", 1), "NCCL_NET_GDR_LEVEL");
  EXPECT_EQ(gdr.field("nccl.env", "value", 1), "SYS");
  EXPECT_EQ(sample("nccl_2_21_5_a100pcie_nogdr.log").field("nccl.channel", "gdr"), "no");
  const ReadText opa = sample("nccl_2_7_8_v100_opa_1node.log");
  EXPECT_EQ(opa.field("nccl.hca", "hca", 2), "hfi1_3");
  EXPECT_EQ(opa.count("nccl.hca"), 4U);
  EXPECT_EQ(opa.field("nccl.bootstrap", "interface", 1), "ib1");
  const ReadText old = sample("nccl_2_8_3_no_verbs_socket.log");
  EXPECT_EQ(old.count("nccl.verbs_missing"), 1U);
  EXPECT_EQ(old.field("nccl.socket_device", "interface", 1), "tunl0");
  EXPECT_EQ(old.field("nccl.env", "value"), "LOC");
  EXPECT_EQ(sample("nccl_bootstrap_family_error.log").field("nccl.family", "family"), "33621");
  EXPECT_EQ(sample("nccl_cscs_ofi_not_found.log").field("nccl.net_not_found", "name"),
            "AWS Libfabric");
  const ReadText error = sample("nccl_err12_vendor129_ib.log");
  EXPECT_EQ(error.field("nccl.completion", "status"), "12");
  EXPECT_EQ(error.field("nccl.completion", "peer"), "10.20.1.5");
  const ReadText debug = sample("nccl_ib_gdrdma_netdebug.log");
  EXPECT_EQ(debug.field("nccl.gdr", "distance"), "6 <= 7");
  EXPECT_EQ(debug.field("nccl.channel", "net"), "1");
}

TEST_F(Samples, RdmaTools) {
  const ReadText status = sample("ibstatus_3hdr_1eth40.txt");
  ASSERT_EQ(status.count("rdma.port"), 4U);
  EXPECT_EQ(status.field("rdma.port", "rate"), "200");
  EXPECT_EQ(status.field("rdma.port", "link", 3), "ethernet");
  EXPECT_EQ(status.field("rdma.port", "rate", 3), "40");
  const ReadText edr = sample("ibstat_cx4_edr.txt");
  ASSERT_EQ(edr.count("rdma.port"), 2U);
  EXPECT_EQ(edr.field("rdma.port", "hca", 1), "mlx5_1");
  EXPECT_EQ(edr.field("rdma.port", "sm_lid", 1), "3");
  const ReadText info = sample("ibv_devinfo_cx7_wrx90.txt");
  ASSERT_EQ(info.count("rdma.port"), 2U);
  EXPECT_EQ(info.field("rdma.port", "state"), "down");
  EXPECT_EQ(info.field("rdma.port", "active_mtu"), "1024");
  const ReadText link = sample("rdma_link_8hca.txt");
  ASSERT_EQ(link.count("rdma.port"), 8U);
  EXPECT_EQ(link.field("rdma.netdev", "netdev"), "gpu3rdma0");
  const ReadText fabric = sample("iblinkinfo_edr.txt");
  EXPECT_EQ(fabric.field("fabric.link", "lane_gbps"), "25.78125");
  EXPECT_EQ(fabric.field("fabric.link", "name"), "MF0;ibsw1:MQM8700/U1");
}

TEST_F(Samples, InterfacesAndTopologies) {
  const ReadText pod = sample("ip_addr_pod_only_eth0.txt");
  ASSERT_EQ(pod.count("ip.interface"), 2U);
  EXPECT_EQ(pod.field("ip.interface", "mtu", 1), "1460");
  EXPECT_EQ(pod.field("ip.interface", "peer", 1), "if44");
  EXPECT_EQ(pod.field("ip.address", "address", 1), "10.20.1.40/24");
  const ReadText bridges = sample("topo_a100_bridge_pairs.txt");
  EXPECT_EQ(bridges.field("topo.gpus", "count"), "8");
  EXPECT_EQ(bridges.field("topo.pair", "link"), "NV12");
  const ReadText far = sample("topo_a100pcie_2gpu_nic_sys.txt");
  EXPECT_EQ(far.field("topo.pair", "link", 1), "SYS");
  EXPECT_EQ(far.field("topo.nic", "name"), "mlx5_0");
  const ReadText mesh = sample("topo_v100_8gpu_cubemesh_2nic.txt");
  EXPECT_EQ(mesh.field("topo.gpus", "nics"), "2");
  EXPECT_EQ(mesh.count("topo.pair"), 8U * 9U);
}

}  // namespace
}  // namespace busbw::facts
