// Variants of cases on HCAs, ports and the fabric.
#include "tests/models/diagnosis/variants.h"

namespace busbw::diagnosis {
namespace {

std::string completion(const std::string& rest) {
  return "!NET/IB : Got completion from peer 10.9.0.2<4711> with " + rest;
}
const std::string kRetries = completion("status=12 opcode=0 len=0 vendor err 129 (Recv)");

TEST(Variants, Gids) {
  expect_found({
      {"RoCE without a chosen GID, 2.18",
       "gid_index",
       {{"a.log", log_of("w0", {"NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB em1:10.9.0.1<0>",
                                completion("error 12, opcode 0, len 0, vendor err 129")})}},
       false},
      {"the chosen GID is v1",
       "gid_index",
       {{"env.txt", "NCCL_IB_GID_INDEX=2\n"},
        {"show_gids.txt",
         "mlx5_0\t1\t0\tfe80:0000:0000:0000:0202:c9ff:fe00:0001\t\tv1\tem1\n"
         "mlx5_0\t1\t2\t0000:0000:0000:0000:0000:ffff:0a09:0001\t10.9.0.1\tv1\tem1\n"
         "mlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:0a09:0001\t10.9.0.1\tv2\tem1\n"},
        {"a.log", log_of("w0", {kRetries})}}},
      {"the search stops, 2.24",
       "gid_index",
       {{"a.log",
         log_of("w0", {"!NET/IB: read failed in ncclIbRoceGetVersionNum: Invalid argument"})}}},
      {"no route",
       "gid_index",
       {{"a.log",
         log_of("w0", {"!Call to ibv_modify_qp failed with 101 Network is unreachable, on dev "
                       "mlx5_0:1, curr state INIT, next state RTR, local GID index 1, local "
                       "GID fe80::1, remote GID fe80::2"})}}},
      {"HCAs of another namespace",
       "container_netns_hca",
       {{"gids.txt",
         "DEV PORT INDEX GID IPv4 VER DEV\nmlx5_4 1 3 "
         "0000:0000:0000:0000:0000:ffff:0a09:0401 10.9.4.1 v2 net1\n"},
        {"a.log",
         log_of("w0", {"NET/IB : Using [0]mlx5_4:1/RoCE [1]mlx5_5:1/RoCE [RO]; OOB em1:1.2.3.4<0>",
                       "!Call to ibv_modify_qp failed with 19 No such device, on dev mlx5_5:1, "
                       "curr state INIT, next state RTR"})}}},
  });
}

TEST(Variants, RailsAndSubnets) {
  expect_found({
      {"GIDs of two subnets, IPv6",
       "cross_rail",
       {{"a.log",
         log_of("w0", {"!Call to ibv_modify_qp failed with 110 Connection timed out, on dev "
                       "mlx5_2:1, curr state INIT, next state RTR, local GID index 3, local "
                       "GID fd00:0:0:2::1, remote GID fd00:0:0:5::9"})}},
       false},
      {"GIDs in a completion, 2.18",
       "cross_rail",
       {{"a.log",
         log_of("w0", {completion("error 12, opcode 0, len 0, vendor err 129 (Recv) localGid "
                                  "::ffff:10.9.1.1 remoteGid ::ffff:10.9.4.2")})}},
       false},
      {"PXN switched off",
       "cross_rail",
       {{"env.txt", "NCCL_PXN_DISABLE=1\n"},
        {"a.log", log_of("w0", {"!Call to ibv_modify_qp failed with error Connection timed out"})}},
       false},
      {"two ports of one subnet",
       "multi_nic_same_subnet",
       {{"ip.txt",
         "4: ens1f0: <UP,LOWER_UP> mtu 9000 state UP\n    inet 10.9.0.1/16 scope global ens1f0\n"
         "5: ens1f1: <UP,LOWER_UP> mtu 9000 state UP\n    inet 10.9.0.2/16 scope global ens1f1\n"},
        {"a.log", log_of("w0", {kRetries})}},
       false},
      {"an old release mixes NICs",
       "nic_selection_bug",
       {{"a.log", log_of("w0", {"Channel 02 : 12[3b000] -> 4[3b000] [receive] via NET/IB/3",
                                "Channel 02 : 4[3b000] -> 12[3b000] [send] via NET/IB/1/GDRDMA"})}},
       false},
  });
}

TEST(Variants, PortsAndLinks) {
  expect_found({
      {"armed port in ibstatus",
       "sm_down",
       {{"ibstatus.txt",
         "Infiniband device 'mlx5_0' port 1 status:\n\tsm lid: 0x0\n\tstate: 3: ARMED\n"
         "\tphys state: 5: LinkUp\n\trate: 400 Gb/sec (4X NDR)\n\tlink_layer: InfiniBand\n"}}},
      {"nobody answers sminfo", "sm_down", {{"sminfo.txt", "sminfo: iberror: failed: query\n"}}},
      {"a packet of that size is refused",
       "mtu_mismatch",
       {{"ping.txt", "ping: local error: message too long, mtu=1500\n"},
        {"a.log", log_of("w0", {kRetries})}}},
      {"init in ibv_devinfo",
       "sm_down",
       {{"info.txt",
         "hca_id: mlx5_0\n\tport: 1\n\t\tstate: PORT_INIT (2)\n\t\tlink_layer: InfiniBand\n"},
        {"a.log", log_of("w0", {"NET/IB : No device found.", "Using network Socket"})}}},
      {"fatal event, 2.23",
       "link_flap",
       {{"a.log", log_of("w0", {"!NET/IB : mlx5_3:1 async fatal event: port error", kRetries})}}},
      {"kernel and counters",
       "link_flap",
       {{"dmesg.txt", "[ 99.1] mlx5_core 0000:3b:00.0 ens1: Link down\n"},
        {"counters.txt", "link_downed: 4\nsymbol_error: 812\n"}}},
      {"a port is down while the job runs",
       "link_down",
       {{"ibstat.txt",
         "CA 'mlx5_0'\n Port 1:\n  State: Active\n  Physical state: LinkUp\n  Rate: 200\n"
         "CA 'mlx5_1'\n Port 1:\n  State: Down\n  Physical state: Polling\n  Rate: 10\n"},
        {"a.log", log_of("w0", {"NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB em1:10.9.0.1<0>",
                                "Using network IB"})}}},
      {"a port is down, and that is all",
       "link_down",
       {{"ibstat.txt",
         "CA 'mlx5_1'\n Port 1:\n  State: Down\n  Physical state: Polling\n  Rate: 10\n"}},
       false},
  });
}

TEST(Variants, MtusPartitionsAndFlowControl) {
  expect_found({
      {"MTUs of two nodes",
       "mtu_mismatch",
       {{"ibv_devinfo.w0.txt",
         "hca_id: mlx5_0\n port: 1\n  state: PORT_ACTIVE (4)\n  active_mtu: 4096 (5)\n"},
        {"ibv_devinfo.w1.txt",
         "hca_id: mlx5_0\n port: 1\n  state: PORT_ACTIVE (4)\n  active_mtu: 2048 (4)\n"},
        {"a.log", log_of("w0", {kRetries})}}},
      {"MTUs of two interfaces",
       "mtu_mismatch",
       {{"ip.w0.txt",
         "4: ens1: <UP,LOWER_UP> mtu 9000 state UP\n    inet 10.9.0.1/24 scope global ens1\n"},
        {"ip.w1.txt",
         "4: ens1: <UP,LOWER_UP> mtu 1500 state UP\n    inet 10.9.0.2/24 scope global ens1\n"}}},
      {"partition",
       "pkey",
       {{"pkeys.txt",
         "/sys/class/infiniband/mlx5_2/ports/1/pkeys/0: 0x7fff\n"
         "/sys/class/infiniband/mlx5_2/ports/1/pkeys/1: 0x9234\n"},
        {"a.log", log_of("w0", {kRetries})}},
       false},
      {"flow control off for the class in use",
       "pfc_ecn",
       {{"qos.txt",
         "Priority trust state: dscp\nPFC configuration:\n"
         "priority 0 1 2 3 4 5 6 7\nenabled  0 0 0 1 0 0 0 0\n"},
        {"env.txt", "NCCL_IB_TC=41\n"},
        {"a.log", log_of("w0", {kRetries})}},
       false},
      {"flow control fits",
       "link_flap",
       {{"qos.txt", "priority 0 1 2 3 4 5 6 7\nenabled  0 0 0 1 0 0 0 0\n"},
        {"env.txt", "NCCL_IB_TC=106\nNCCL_IB_GID_INDEX=3\n"},
        {"a.log", log_of("w0", {kRetries})}},
       false},
      {"ports of two rates",
       "mixed_nic_speeds",
       {{"ibstat.txt",
         "CA 'mlx5_0'\n Port 1:\n  State: Active\n  Rate: 200\n  Link layer: InfiniBand\n"
         "CA 'mlx5_1'\n Port 1:\n  State: Active\n  Rate: 100\n  Link layer: InfiniBand\n"},
        {"a.log",
         log_of("w0", {"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB em1:1.2.3.4<0>",
                       "Using network IB"})}}},
      {"a bond",
       "bond_lag",
       {{"a.log", log_of("w0", {"NET/IB : Using [0]mlx5_bond_0:1/RoCE [RO]; OOB em1:1.2.3.4<0>",
                                "Using network IB"})}},
       false},
  });
}

TEST(Variants, NodesThatDiffer) {
  expect_found({
      {"another number of HCAs",
       "hca_mismatch_nodes",
       {{"a.log",
         log_of("w0", {"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB em1:10.9.0.1<0>"}) +
             log_of("w1", {"NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB em1:10.9.0.2<0>"})}}},
      {"2.30 says so",
       "hca_mismatch_nodes",
       {{"a.log", log_of("w0", {"Detected mixed local Net device counts: 4 and 8"})}}},
      {"one NIC in the container",
       "container_partial_hca",
       {{"ls.txt", "crw-rw-rw- 1 root root 231, 192 Jan  1 00:00 uverbs0\n"},
        {"rdma.txt",
         "link mlx5_0/1 state ACTIVE physical_state LINK_UP\n"
         "link mlx5_1/1 state ACTIVE physical_state LINK_UP\n"},
        {"a.log", log_of("w0", {"NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB em1:10.9.0.1<0>"})}}},
      {"prefix of a device",
       "hca_prefix_trap",
       {{"env.txt", "NCCL_IB_HCA=mlx5_1\n"},
        {"rdma.txt",
         "link mlx5_1/1 state ACTIVE physical_state LINK_UP\n"
         "link mlx5_10/1 state ACTIVE physical_state LINK_UP\n"}}},
  });
}

TEST(Variants, MemoryAndGpuDirect) {
  expect_found({
      {"completion queue, 2.18",
       "memlock",
       {{"a.log",
         log_of("w0", {"!Call to ibv_create_cq failed with error Cannot allocate memory"})}}},
      {"registration, 2.26",
       "memlock",
       {{"a.log",
         log_of("w0", {"!Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory"})},
        {"ulimit.txt", "max locked memory       (kbytes, -l) 8192\n"}}},
      {"without the reason, 2.7",
       "memlock",
       {{"a.log", log_of("w0", {"!Call to ibv_create_qp failed"})}}},
      {"no connection from GPU memory, plugin",
       "gdr_off",
       {{"a.log", log_of("w0", {"Using network IBext",
                                "Channel 00/0 : 8[0] -> 0[0] [receive] via "
                                "NET/IBext/0/Shared"})}}},
      {"module absent",
       "gdr_off",
       {{"lsmod.txt", "Module                  Size  Used by\nib_core 495616 3 ib_uverbs\n"},
        {"a.log", log_of("w0", {"NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB em1:10.9.0.1<0>",
                                "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0"})}}},
      {"sockets have no GPU Direct",
       "too_few_sockets",
       {{"a.log", log_of("w0", {"NET/Socket : GPU Direct RDMA Disabled for HCA 0 'em1'",
                                "Using network Socket"})},
        {"iperf.txt", "[SUM] 0.00-10.00 sec 107 GBytes 92.0 Gbits/sec receiver\n"}}},
      {"switched off by hand",
       "gdr_off",
       {{"env.txt", "NCCL_NET_GDR_LEVEL=0\n"},
        {"a.log", log_of("w0", {"Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0"})}}},
      {"some pairs are far, as everywhere",
       "(none)",
       {{"a.log",
         log_of("w0", {"GPU Direct RDMA Enabled for GPU 1b000 / HCA 0 (distance 3 <= 4), read 1",
                       "GPU Direct RDMA Disabled for GPU 1b000 / HCA 4 (distance 8 > 4)",
                       "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA"})}}},
      {"distance in a virtual machine",
       "topology_file",
       {{"a.log", log_of("vm0", {"GPU Direct RDMA Disabled for GPU 200000 / HCA 1 (distance 8 > 5)",
                                 "Channel 00/0 : 8[0] -> 0[0] [send] via NET/IB/1"})}}},
      {"a file with one lane",
       "topology_file",
       {{"env.txt", "NCCL_TOPO_FILE=/etc/vm.xml\n"},
        {"a.log", log_of("vm0", {"=== System : maxBw 0.1 totalBw 24.0 ==="})}}},
  });
}

}  // namespace
}  // namespace busbw::diagnosis
