// Variants as users of other sites would have them: job files beside logs, prefixes of container
// runtimes and launchers, releases from 2.3 on; and healthy systems that must not be accused.
#include <algorithm>

#include "tests/models/diagnosis/variants.h"

namespace busbw::diagnosis {
namespace {

/// No finding of these is above low.
void expect_healthy(const std::vector<std::pair<std::string, Files>>& systems) {
  for (const auto& [name, files] : systems) {
    const Diagnosed result = diagnose(files);
    for (const Finding& finding : result.findings)
      EXPECT_EQ(finding.confidence, Confidence::kLow) << name << ": " << result.all();
  }
}

const char* const kSocketPc =
    "01:00.0 VGA compatible controller: NVIDIA AD102\n"
    "04:00.0 Ethernet controller: Intel I225-V\n";

std::string sockets_of(const std::string& host) {
  return log_of(host, {"Bootstrap : Using enp4s0:192.168.0.10<0>", "NET/IB : No device found.",
                       "NET/Socket : Using [0]enp4s0:192.168.0.10<0>", "Using network Socket",
                       "comm 0x5 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0",
                       "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0"});
}

TEST(Sites, SocketJobsAreHealthyWithoutRdma) {
  expect_healthy({
      {"two desktops, a log", {{"a.log", sockets_of("desk1")}}},
      {"two desktops, log and adapters",
       {{"a.log", sockets_of("desk1")}, {"lspci.txt", kSocketPc}}},
      {"a collection of a machine without an HCA",
       {{"ibstat.txt", "ibpanic: [77] main: can't list infiniband devices\n"},
        {"ibv_devinfo.txt", "No IB devices found\n"},
        {"lsmod.txt", "Module                  Size  Used by\nnvidia 56598528 3\nxfs 1835008 2\n"},
        {"lspci.txt", kSocketPc}}},
      {"the same, with the log of its job",
       {{"ibstat.txt", "ibpanic: [77] main: can't list infiniband devices\n"},
        {"a.log", sockets_of("desk1")},
        {"lspci.txt", kSocketPc}}},
      {"two desktops, their tools without a device, no list of adapters",
       {{"ibstat.txt", "ibpanic: [77] main: can't list infiniband devices\n"},
        {"ibv_devinfo.txt", "No IB devices found\n"},
        {"a.log", sockets_of("desk1")}}},
      {"a cloud VM whose Ethernet is a function of a ConnectX",
       {{"a.log", sockets_of("vm1")},
        {"lspci.txt",
         "a5a2:00:02.0 Ethernet controller: Mellanox MT27710 [ConnectX-4 Lx Virtual Function]\n"}}},
      {"four GPUs in one node, a veth among the interfaces",
       {{"a.log",
         log_of("rig", {"Failed to open libibverbs.so[.1]",
                        "NET/Socket : Using [0]eno1:10.0.0.7<0> [1]veth1a:fe80::1%veth1a<0>",
                        "Using network Socket",
                        "comm 0x1 rank 0 nRanks 4 nNodes 1 localRanks 4 localRank 0 MNNVL 0",
                        "Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct"})}}},
      {"a pod whose interface has no device",
       {{"a.log", log_of("pod", {"Could not find real path of /sys/class/net/eth0/device",
                                 "Ring 00 : 1[0] -> 2[0] via P2P/IPC"})}}},
      {"a peer that was not there yet",
       {{"a.log",
         log_of("n1", {"NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ib0:10.9.0.1<0>",
                       "Call to connect returned Connection refused, retrying",
                       "ncclCommInitRank comm 0x1 rank 1 nranks 2 cudaDev 0 busId 1000 - Init "
                       "COMPLETE"})}}},
  });
}

TEST(Sites, TheSameLinesWithRdmaThereOrWanted) {
  const std::string log = sockets_of("n7");
  const std::string tools = "ibpanic: [77] main: can't list infiniband devices\n";
  for (const auto& [name, text] :
       {std::pair<const char*, const char*>{"lspci.txt",
                                            "17:00.0 Infiniband controller: MT28908\n"},
        {"lspci-tree.txt", "-+-[0000:17]---00.0  Mellanox Technologies MT28908 [ConnectX-6]\n"},
        {"job.yaml", "        - name: NCCL_IB_HCA\n          value: \"mlx5_0\"\n"},
        {"ls.txt", "ls: cannot access '/dev/infiniband': No such file or directory\n"},
        {"lsmod.txt", "Module Size Used by\nmlx5_core 2084864 0\n"}}) {
    const Diagnosed result = diagnose({{"a.log", log}, {name, text}});
    EXPECT_EQ(result.first(), "no_ib_in_container") << name << ": " << result.all();
    ASSERT_FALSE(result.findings.empty());
    EXPECT_NE(result.findings.front().confidence, Confidence::kLow) << name << ": " << result.all();
  }
  EXPECT_EQ(diagnose({{"a.log", log}}).first(), "no_ib_in_container");  // but low
  const Diagnosed stopped = diagnose({{"a.log", log},
                                      {"ibstat.txt", tools},
                                      {"lspci.txt", "17:00.0 Infiniband controller: MT28908\n"}});
  EXPECT_EQ(stopped.first(), "ib_driver_stopped") << stopped.all();
  EXPECT_EQ(stopped.findings.front().confidence, Confidence::kHigh) << stopped.all();
}

TEST(Sites, JobFiles) {
  const std::string two =
      "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 state UNKNOWN\n    inet 127.0.0.1/8 scope host lo\n"
      "3: eth0@if2: <BROADCAST,UP,LOWER_UP> mtu 1450 state UP\n    inet 10.4.0.7/24 scope global "
      "eth0\n";
  expect_found({
      {"a mapping of YAML",
       "ifname_not_found",
       {{"values.yaml", "env:\n  NCCL_SOCKET_IFNAME: bond0\n"}, {"ip.txt", two}}},
      {"a container's list",
       "ifname_not_found",
       {{"pod.yaml", "- name: NCCL_SOCKET_IFNAME\n  value: \"bond0\"\n"}, {"ip.txt", two}}},
      {"a Dockerfile",
       "ifname_not_found",
       {{"Dockerfile", "FROM scratch\nENV NCCL_SOCKET_IFNAME bond0\n"}, {"ip.txt", two}}},
      {"a program",
       "ifname_not_found",
       {{"train.py", "os.environ[\"NCCL_SOCKET_IFNAME\"] = \"bond0\"\n"}, {"ip.txt", two}}},
      {"srun's export",
       "ifname_not_found",
       {{"job.sh", "srun --export=ALL,NCCL_SOCKET_IFNAME=bond0,NCCL_DEBUG=INFO ./a\n"},
        {"ip.txt", two}}},
      {"prose that names a variable is no setting",
       "(none)",
       {{"notes.md", "NCCL_SOCKET_IFNAME: we left it at its default on purpose\n"},
        {"ip.txt", two}}},
  });
}

TEST(Sites, Interfaces) {
  expect_found({
      {"loopback and a link-local address beside it, 2.3",
       "loopback_selected",
       {{"a.log", log_of("g1", {"NET : Using interface lo:127.0.0.1<0>",
                                "NET : Using interface eth1:fe80::215:5dff:fe33:1%eth1<0>",
                                "!Call to connect timeout : Connection refused"})}}},
      {"bridges carry channels, 2.23",
       "virtual_interface",
       {{"a.log",
         log_of("m1", {"NET/Socket : Using [0]enp5s0:192.168.1.10<0> [1]br-2f5f:172.18.0.1<0>",
                       "Using network Socket",
                       "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/1"})}}},
      {"behind a parallel shell's prefix",
       "virtual_interface",
       {{"out.txt",
         "10.1.7.2: n03:9:9 [3] NCCL INFO NET/Socket : Using [0]enp1s0:10.1.7.2<0> "
         "[1]br-a2:172.19.0.1<0> [2]veth4d:fe80::6c%veth4d<0>\n"
         "10.1.7.2: n03:9:9 [3] NCCL INFO Using network Socket\n"
         "10.1.7.3: n04:5:6 [0] s.cc:4 NCCL WARN Net : Connect to 172.19.0.1<41111> failed : "
         "Connection refused\n"}}},
      {"retries that no readiness follows",
       "firewall",
       {{"a.log", log_of("a2", {"Bootstrap: Using ens1:172.31.9.2<0>",
                                "socketPollConnect: connect to 172.31.9.1<36001> returned "
                                "Connection timed out, retrying (34/34) after sleep for 3400 "
                                "msec"})}}},
      {"a filter's name is not there, and no list of interfaces",
       "ifname_not_found",
       {{"a.log", log_of("h2", {"NCCL_SOCKET_IFNAME set by environment to bond1",
                                "!Bootstrap : no socket interface found"})}},
       false},
  });
}

/// Output of ibnetdiscover of `leaves` switches with one host a row: on which leaf HCA 0, 1 ... of
/// it hang.
std::string discovered(int leaves, const std::vector<std::vector<int>>& hosts) {
  std::string text;
  for (int leaf = 0; leaf < leaves; leaf++) {
    text += "switchguid=0x5a0" + std::to_string(leaf) + "\nSwitch\t40 \"S-5a0" +
            std::to_string(leaf) + "\"\t\t# \"leaf" + std::to_string(leaf) +
            "\" enhanced port 0 lid 7" + std::to_string(leaf) + " lmc 0\n";
    int port = 0;
    for (std::size_t host = 0; host < hosts.size(); host++) {
      for (std::size_t hca = 0; hca < hosts[host].size(); hca++) {
        if (hosts[host][hca] == leaf)
          text += "[" + std::to_string(++port) + "]\t\"H-" + std::to_string(host) + "f" +
                  std::to_string(hca) + "\"[1]\t\t# \"n" + std::to_string(host) + " mlx5_" +
                  std::to_string(hca) + "\" lid 1 4xHDR\n";
      }
    }
  }
  return text;
}

TEST(Sites, Cabling) {
  const Diagnosed swapped = diagnose(
      {{"net.txt", discovered(4, {{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 2, 1, 3}, {0, 1, 2, 3}})}});
  ASSERT_EQ(swapped.first(), "cabling_rail") << swapped.all();
  const Finding& finding = swapped.findings.front();
  EXPECT_EQ(finding.confidence, Confidence::kMedium);
  ASSERT_EQ(finding.evidence.size(), 2U);  // the two cables of n2
  for (const Evidence& one : finding.evidence)
    EXPECT_NE(one.text.find("n2 mlx5_"), std::string::npos) << one.text;
  expect_found({
      {"two hosts, cables exchanged",
       "cabling_rail",
       {{"net.txt", discovered(2, {{0, 1}, {1, 0}})}}},
      {"one cable too many on a leaf",
       "cabling_rail",
       {{"net.txt", discovered(3, {{0, 1, 2}, {0, 1, 2}, {0, 1, 1}})}}},
      {"by iblinkinfo",
       "cabling_rail",
       {{"links.txt",
         "Switch: 0x1 leaf0:\n"
         "  3 1[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==> 1 1[  ] \"a mlx5_0\" ( )\n"
         "  3 2[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==> 2 1[  ] \"b mlx5_1\" ( )\n"
         "Switch: 0x2 leaf1:\n"
         "  4 1[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==> 5 1[  ] \"a mlx5_1\" ( )\n"
         "  4 2[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==> 6 1[  ] \"b mlx5_0\" ( )\n"}}},
  });
  expect_healthy({
      {"rails", {{"net.txt", discovered(2, {{0, 1}, {0, 1}, {0, 1}})}}},
      {"two groups of rails", {{"net.txt", discovered(4, {{0, 1}, {0, 1}, {2, 3}, {2, 3}})}}},
      {"a fat tree filled host by host",
       {{"net.txt", discovered(2, {{0, 0}, {0, 0}, {0, 1}, {1, 1}, {1, 1}})}}},
  });
}

TEST(Sites, RdmaAndPlugins) {
  expect_found({
      {"the module is loaded and NCCL still says no",
       "gdr_off",
       {{"a.log", log_of("g7", {"NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB bond4:10.30.7.10<0>",
                                "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"})},
        {"lsmod.txt", "# lsmod | grep peermem\nnvidia_peermem 12288 0\n"},
        {"env.txt", "NCCL_NET_GDR_LEVEL=SYS\nNCCL_IB_HCA=mlx5\n"}}},
      {"a storage port of the other link layer is used too",
       "ib_hca_selection",
       {{"a.log",
         log_of("c7", {"NET/IB : Using [0]mlx5_3:1/IB [1]mlx5_2:1/RoCE ; OOB eth0:10.1.7.1<0>",
                       "!Call to ibv_modify_qp failed with error Invalid argument"})}}},
      {"the queue pair's own GID is link-local",
       "gid_index",
       {{"a.log",
         log_of("l0", {"NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 1047 mtu 5 query_ece={supported=1} "
                       "GID 0 (80FE/1A8A41FEFF21A75E) fifoRkey=0x1 fifoLkey=0x1",
                       "!Call to ibv_modify_qp failed with 110 Connection timed out, on dev "
                       "mlx5_0:1, curr state INIT, next state RTR, local GID index 0, local GID "
                       "fe80::1, remote GID fe80::2"})}},
       true},
      {"a library of another version, in the words of 2.19",
       "plugin_version",
       {{"a.log", log_of("i9", {"NET/Plugin : dlerror=/opt/efa/libfabric.so.1: version "
                                "`FABRIC_1.7' not found (required by /x/libnccl-net.so) No plugin "
                                "found (libnccl-net.so), using internal implementation"})}}},
      {"sockets are tuned, and nothing asks for RDMA, 2.4",
       "too_few_sockets",
       {{"a.log",
         log_of("i0", {"NET/IB : No device found.", "NET/Socket : Using [0]ens5:172.31.0.9<0>",
                       "NCCL_SOCKET_NTHREADS set by environment to 6.",
                       "Ring 00 : 1 -> 0 [receive] via NET/Socket/0"})}}},
      {"RCCL asks for iommu=pt",
       "acs_iommu",
       {{"a.log", log_of("mi", {"!Missing \"iommu=pt\" from kernel command line which can lead to "
                                "system instablity or hang!",
                                "Channel 00/0 : 1[1] -> 0[0] via P2P/IPC"})}}},
      {"the HCA's path is hidden, the pod's interface too",
       "sys_not_visible",
       {{"a.log", log_of("p1", {"Could not find real path of /sys/class/net/eth0/device",
                                "Could not find real path of "
                                "/sys/class/infiniband/mlx5_0/device"})}}},
  });
}

}  // namespace
}  // namespace busbw::diagnosis
