// Variants of cases on interfaces, the choice of the network, plugins and versions.
#include "tests/models/diagnosis/variants.h"

namespace busbw::diagnosis {
namespace {

TEST(Variants, VirtualInterfaces) {
  expect_found({
      {"flannel as second socket device, 2.18",
       "virtual_interface",
       {{"a.log",
         log_of("w0",
                {"NET/Socket : Using [0]eno1:192.168.7.4<0> [1]flannel.1:10.42.0.0<0>",
                 "Using network Socket", "Channel 01/0 : 3[0] -> 0[0] [send] via NET/Socket/1"})}}},
      {"docker bridge as bootstrap, connection refused, 2.24",
       "virtual_interface",
       {{"a.log",
         log_of("w0", {"Bootstrap: Using br-1f2e3d:172.18.0.1<0>",
                       "socketPollConnect: connect to 172.18.0.1<39001> returned Connection "
                       "refused, retrying (2/34) after sleep for 200 msec"})}}},
      {"tunnel over IPv6, RDMA data",
       "virtual_interface",
       {{"a.log", log_of("w0", {"Bootstrap : Using tun0:fe80::9%tun0<0>", "Using network IB",
                                "!socketStartConnect: Connect to fe80::9%tun0<555> failed : "
                                "Connection timed out"})}}},
  });
}

TEST(Variants, LoopbackAndNames) {
  expect_found({
      {"list of 2.18, ^eth0",
       "loopback_selected",
       {{"env.txt", "NCCL_SOCKET_IFNAME=^eth0\n"},
        {"a.log", log_of("w0", {"Bootstrap : Using lo:127.0.0.1<0>"}) +
                      log_of("w1", {"Bootstrap : Using lo:127.0.0.1<0>"})}}},
      {"the variable alone, before a start",
       "loopback_selected",
       {{"env.txt", "export NCCL_SOCKET_IFNAME=^docker0,eth0\n"}}},
      {"no such interface, by ip",
       "ifname_not_found",
       {{"env.txt", "NCCL_SOCKET_IFNAME=ib0\n"},
        {"ip.txt",
         "2: eno1: <BROADCAST,UP,LOWER_UP> mtu 1500 state UP\n    inet 10.9.0.1/24 scope global "
         "eno1\n"}}},
      {"no such interface, 2.28 says so",
       "ifname_not_found",
       {{"a.log", log_of("w0", {"NCCL_SOCKET_IFNAME set by environment to hsn",
                                "!Bootstrap : no socket interface found"})}}},
      {"one host name, two addresses",
       "hostname_localhost",
       {{"a.log",
         log_of("ubuntu",
                {"Bootstrap : Using eno1:10.1.0.5<0>", "Bootstrap : Using eno1:10.1.0.6<0>",
                 "!socketStartConnect: Connect to 10.1.0.6<45763> failed : Software caused "
                 "connection abort"})}}},
      {"two hosts called localhost.localdomain",
       "hostname_localhost",
       {{"a.log", log_of("localhost.localdomain",
                         {"Bootstrap : Using em2:10.1.0.5<0>",
                          "!Connect to 10.1.0.6<51000> failed : Connection refused"})}}},
      {"link-local address of a real interface",
       "ipv6_link_local",
       {{"a.log", log_of("w0", {"Bootstrap : Using ib1:fe80::ae03:a2%ib1<0>",
                                "!socketStartConnect: Connect to fe80::ae03:a3%ib1<17943> failed : "
                                "Software caused connection abort"})}}},
      {"addresses of two families",
       "address_family",
       {{"a.log", log_of("w0", {"Bootstrap: Using eno1:10.1.0.5<0>"}) +
                      log_of("w1", {"Bootstrap: Using eno1:2001:db8::5<0>"})}}},
      {"each node listens in another network",
       "wrong_interface",
       {{"a.log", log_of("w0", {"Bootstrap : Using eno1:10.1.0.5<0>"}) +
                      log_of("w1", {"Bootstrap : Using ens2:192.168.4.5<0>",
                                    "!socketStartConnect: Connect to 10.1.0.5<40000> failed : "
                                    "Connection timed out"})}}},
      {"the variable did not arrive",
       "env_not_applied",
       {{"env.txt", "NCCL_SOCKET_IFNAME=hsn0\n"},
        {"a.log", log_of("w0", {"Bootstrap: Using eno1:10.1.0.5<0>"})}}},
  });
}

TEST(Variants, Firewalls) {
  expect_found({
      {"dropped, 2.18",
       "firewall",
       {{"a.log", log_of("w1", {"Bootstrap : Using eno1:10.1.0.6<0>",
                                "!socketStartConnect: exceeded timeouts (3)",
                                "!Connect to 10.1.0.5<38211> failed : Connection timed out"})}}},
      {"rejected, 2.26",
       "firewall",
       {{"a.log",
         log_of("w1", {"Bootstrap: Using eno1:10.1.0.6<0>",
                       "socketPollConnect: connect to 10.1.0.5<38211> returned No route to "
                       "host, retrying (34/34) after sleep for 3400 msec"})}}},
  });
}

TEST(Variants, NoRdmaInTheContainer) {
  const std::string link =
      "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n"
      "\t\tRate: 200\n\t\tLink layer: InfiniBand\n";
  expect_found({
      {"2.30's spelling of the missing library",
       "no_ib_in_container",
       {{"a.log",
         log_of("w0", {"Count not open libibverbs.so", "NET/Socket : Using [0]eth0:10.1.0.5<0>",
                       "Using network Socket",
                       "comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0"})}}},
      {"interleaved, cut, with prefixes",
       "no_ib_in_container",
       {{"a.log", "[1,0]<stdout>:" + log_of("w0", {"NET/IB : No device found."}) +
                      "[1,8]<stdout>:" + log_of("w1", {"NET/IB : No device found."}) +
                      "(RayWorker pid=9, ip=10.1.0.6) " + log_of("w1", {"Using network Socket"}) +
                      "w0:77:78 [0] NCCL INFO Channel 0"}}},
      {"the host has a port, the container none",
       "no_ib_in_container",
       {{"ibstat.txt", link},
        {"a.log", log_of("w0", {"NET/IB : No device found.", "Using network Socket"})}}},
      {"no device files",
       "no_ib_in_container",
       {{"ls.txt", "ls: cannot access '/dev/infiniband': No such file or directory\n"},
        {"a.log", log_of("w0", {"Using network Socket", "NET/IB : No device found."})}}},
      {"one node needs no network",
       "(none)",
       {{"a.log",
         log_of("w0", {"NET/IB : No device found.", "Using network Socket",
                       "comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0",
                       "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
                       "NVLS multicast support is available on dev 0"})}}},
      {"drivers not loaded",
       "ib_driver_stopped",
       {{"info.txt", "Failed to get IB devices list: Function not implemented\n"},
        {"a.log", log_of("w0", {"NET/IB : No device found.", "Using network Socket"})}}},
      {"switched off by hand",
       "ib_disabled",
       {{"ibstat.txt", link},
        {"a.log", log_of("w0", {"NCCL_IB_DISABLE set by environment to 1.", "Using network Socket",
                                "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Socket/0"})}}},
      {"sockets although the host's port is active",
       "wrong_interface",
       {{"ibstat.txt", link},
        {"a.log",
         log_of("w0", {"NET/Socket : Using [0]eno1:10.1.0.5<0>", "Using network Socket"})}}},
      {"a filter that matches no device",
       "ib_hca_selection",
       {{"ibstat.txt", link},
        {"env.txt", "NCCL_IB_HCA=ibp12s0\n"},
        {"a.log", log_of("w0", {"NCCL_IB_HCA set to ibp12s0", "NET/IB : No device found.",
                                "Using network Socket"})}}},
      {"/sys is hidden",
       "sys_not_visible",
       {{"a.log", log_of("w0", {"!Could not find real path of mlx5_0 "
                                "(/sys/class/infiniband/mlx5_0/device)"})}}},
  });
}

TEST(Variants, PluginsAndVersions) {
  expect_found({
      {"EFA: another registration error",
       "plugin_version",
       {{"a.log",
         log_of("w0", {"!NET/OFI Couldn't set FI_OPT_EFA_SENDRECV_IN_ORDER_ALIGNED_128_BYTES. "
                       "RC: -92, ERROR: Protocol not available"})}}},
      {"a library of another version",
       "plugin_version",
       {{"a.log", log_of("w0", {"NET/Plugin: libnccl-net-ofi.so: /opt/x/libibverbs.so.1: version "
                                "`IBVERBS_PRIVATE_34' not found (required by libefa.so.1)"})}}},
      {"symbols that NCCL tries are no error",
       "(none)",
       {{"a.log", log_of("w0", {"NET/Plugin: Failed to find ncclNetPlugin_v9 symbol.",
                                "TUNER/Plugin: undefined symbol: ncclTunerPlugin_v3",
                                "Using network AWS Libfabric"})}}},
      {"one node has the plugin",
       "plugin_mismatch_nodes",
       {{"a.log",
         log_of("w0",
                {"NET/Plugin: Loaded net plugin Libfabric (v10)", "Using network Libfabric"}) +
             log_of("w1", {"NET/Plugin: Could not find: libnccl-net.so", "Using network IB"})}}},
      {"one node falls back to sockets",
       "network_mismatch_nodes",
       {{"a.log", log_of("w0", {"Using network IB"}) + log_of("w1", {"Using network Socket"})}}},
      {"releases in two files",
       "nccl_version_mismatch",
       {{"w0.log", "NCCL version 2.18.6+cuda12.2\n"},
        {"w1.log",
         "w1:1:1 [0] NCCL INFO NCCL version "
         "2.26.2+cuda12.4\n"}}},
      {"NCCL 2.23 checks it",
       "nccl_version_mismatch",
       {{"a.log",
         log_of("w0", {"!Bootstrap: Mismatched NCCL version detected : rank 0 version 22304 "
                       "rank 8 version 22102"})}}},
      {"wordings of two releases",
       "nccl_version_mismatch",
       {{"a.log",
         log_of("w0",
                {"NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such "
                 "file or directory No plugin found (libnccl-net.so), using internal "
                 "implementation"}) +
             log_of(
                 "w1",
                 {"NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin."})}}},
      {"a plugin that was asked for",
       "plugin_missing",
       {{"a.log", log_of("w0", {"!Error: network gIB not found."})}}},
  });
}

TEST(Variants, SocketsAndSettings) {
  expect_found({
      {"iperf fills the link",
       "too_few_sockets",
       {{"a.log", log_of("w0", {"NET/Socket : Using [0]ens5:10.1.0.5<0>", "Using network Socket",
                                "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Socket/0"})},
        {"iperf.txt", "[SUM]   0.00-10.00  sec  107 GBytes  91.7 Gbits/sec   receiver\n"}}},
      {"2.4 with a forced number of rings",
       "too_few_sockets",
       {{"a.log", log_of("w0", {"NCCL_MIN_NRINGS set by environment to 8.",
                                "Ring 03 : 15 -> 0 [receive] via NET/Socket/0"})}}},
      {"text where a number is read", "env_ignored", {{"env.txt", "NCCL_IB_DISABLE=true\n"}}},
      {"level in small letters", "env_ignored", {{"env.txt", "NCCL_P2P_LEVEL=nvl\n"}}},
      {"two nodes, two settings",
       "env_mismatch_nodes",
       {{"env.w0.txt", "NCCL_ALGO=Ring\n"}, {"env.w1.txt", "NCCL_ALGO=Tree\n"}}},
      {"a forced buffer", "bad_tuning_env", {{"env.txt", "NCCL_BUFFSIZE=65536\n"}}},
      {"forced algorithm without candidate",
       "algo_no_candidate",
       {{"a.log", log_of("w0", {"!Error : no algorithm/protocol available for function AllGather "
                                "with datatype ncclFloat32. NCCL_ALGO was set to Tree."})}}},
  });
}

}  // namespace
}  // namespace busbw::diagnosis
