// Rules on IP interfaces: which one NCCL listens on and sends by.
#include <iterator>

#include "models/diagnosis/rule.h"

namespace busbw::diagnosis {
namespace {

const Rule kRules[] = {
    {"virtual_interface",
     Layer::kCollective,
     "NCCL takes the interface {interface}, which a container runtime, bridge or tunnel made: "
     "unless NCCL_SOCKET_IFNAME says otherwise every interface but docker* and lo counts, and "
     "its address is not reachable from other nodes",
     {"export NCCL_SOCKET_IFNAME=^lo,docker,{interface}",
      "export NCCL_SOCKET_IFNAME=<the node's own interface>"},
     "ping the address of {interface} from another node: no answer confirms it",
     "all; virbr* is left out from 2.28 on",
     "NCCL 2.18 to 2.30, src/misc/socket.cc",
     {{4, "is.virtual_channel", "a connection between ranks runs over it"},
      {3, "is.virtual use=bootstrap", "the bootstrap listens on it"},
      {2, "is.virtual use=data", "it is one of the devices for data"},
      {2, "is.virtual use=oob & nccl.connect_failed", "queue pairs are exchanged over it"},
      {1, "is.virtual & is.link_local", "its address holds on one link only"},
      {2, "is.virtual & nccl.connect_failed", "connections fail"}}},
    {"loopback_selected",
     Layer::kCollective,
     "loopback is one of the interfaces, and other nodes cannot reach 127.0.0.1: an exclusion "
     "list in NCCL_SOCKET_IFNAME is taken to the letter, so that lo counts unless it is excluded "
     "too",
     {"export NCCL_SOCKET_IFNAME=^lo,docker0",
      "export NCCL_SOCKET_IFNAME=<the node's own interface>", "unset NCCL_SOCKET_IFNAME"},
     "does the log of each node show an address that the others can ping",
     "all",
     "NCCL 2.3 to 2.30, src/misc/socket.cc; NVIDIA's list of environment variables",
     {{5, "is.loopback & is.several_hosts", "loopback is in use in a job of several nodes"},
      {2, "is.loopback & nccl.connect_failed", "connections fail"},
      {1, "is.loopback & is.ifname_admits_loopback", "the exclusion list does not name lo"},
      {3, "is.ifname_admits_loopback & !nccl.log & !nccl.socket_device",
       "this exclusion list admits lo"},
      {2, "is.ifname_admits_loopback & nccl.log & !is.loopback", "this exclusion list admits lo"}}},
    {"ifname_not_found",
     Layer::kCollective,
     "NCCL_SOCKET_IFNAME names no interface of this host; some releases go on with an address "
     "that was never filled in",
     {"ip -br addr", "export NCCL_SOCKET_IFNAME=<an interface of that list>"},
     "`ip -br link` on the node that fails: is there an interface that the variable admits",
     "all; 2.27 and older print a nonsense address family",
     "NCCL 2.18 to 2.30, src/misc/socket.cc",
     {{6, "is.ifname_matches_none", "no interface of the host is admitted"},
      {7, "is.family_nonsense & var name=NCCL_SOCKET_IFNAME & !is.ifname_exclusion",
       "the family of the address is no number that exists, as when it was never set"},
      {7, "nccl.no_interface & var name=NCCL_SOCKET_IFNAME & !is.ifname_exclusion",
       "NCCL found no interface under that name"},
      {3, "nccl.no_interface & is.ifname_exclusion", "what the list leaves is nothing"},
      {3, "nccl.no_interface & !var name=NCCL_SOCKET_IFNAME", "NCCL found no interface"},
      {1, "is.family_nonsense", "the address was never filled in"}}},
    {"wrong_interface",
     Layer::kCollective,
     "traffic goes over {interface}, which is not the network meant for it",
     {"export NCCL_SOCKET_IFNAME={rdma_interface}", "export NCCL_IB_HCA={hca}",
      "export NCCL_SOCKET_IFNAME=^{interface},lo   # with lo: ^{interface} alone admits loopback, "
      "and other nodes cannot reach it"},
     "NCCL_DEBUG=INFO: the lines 'NET/IB : Using' or 'NET/IB : No device found' say why the HCA "
     "is not used (device missing in the container, libibverbs missing, NCCL_IB_DISABLE)",
     "all",
     "NCCL 2.18 to 2.30, src/misc/socket.cc, src/transport/net_ib.cc",
     {{6, "is.socket_beside_rdma", "sockets carry the data although an HCA of the host is active"},
      {5, "is.ifname_matches_unusable", "what the variable admits has no address or is down"},
      {4, "nccl.no_interface & is.ifname_exclusion",
       "an exclusion list leaves interfaces of which none is usable"},
      {3, "is.bootstrap_nets_differ", "the nodes listen in different networks"},
      {2, "is.bootstrap_nets_differ & nccl.connect_failed", "and cannot reach each other"},
      {-4, "is.port_waits_for_sm", "the HCA's port is not usable"}}},
    {"ipv6_link_local",
     Layer::kCollective,
     "NCCL listens on the IPv6 link-local address {address} of {interface}, which holds on one "
     "link and needs a zone to be reached",
     {"export NCCL_SOCKET_FAMILY=AF_INET",
      "export NCCL_SOCKET_IFNAME=<interface with a global address>"},
     "`ip -6 addr show {interface}`: has it a global address",
     "all",
     "NCCL 2.18 to 2.30, src/misc/socket.cc",
     {{2, "is.link_local", "a link-local address is in use"},
      {2, "is.link_local & nccl.connect_failed", "connections fail"},
      {-1, "is.virtual", "of a virtual interface, which is the cause in front of it"}}},
    {"address_family",
     Layer::kCollective,
     "one node listens on IPv4, another on IPv6",
     {"export NCCL_SOCKET_FAMILY=AF_INET   # on all nodes"},
     "the line 'Bootstrap : Using' of each node",
     "all",
     "NCCL 2.18 to 2.30, src/misc/socket.cc",
     {{5, "is.families_differ", "the families of the bootstrap addresses differ"}}},
    {"hostname_localhost",
     Layer::kFramework,
     "a node is called {name}: NCCL takes ranks whose host names (and boot ids) are equal for "
     "ranks of one node, and a peer's address may resolve to the own host",
     {"hostnamectl set-hostname <a name of its own>   # on each node",
      "export NCCL_HOSTID=<a value of its own on each node>"},
     "`hostname` on both nodes",
     "all",
     "NCCL 2.4 to 2.30, src/misc/utils.cc",
     {{4, "is.localhost", "the log's host name is that of every host"},
      {3, "is.localhost & nccl.connect_failed", "connections fail"}}},
    {"firewall",
     Layer::kPhysical,
     "the nodes cannot open TCP connections to each other on the ports that NCCL draws: a "
     "firewall (rejects: no route to host, refused; drops: timed out), or the peer is not there",
     {"systemctl stop firewalld   # or admit net.ipv4.ip_local_port_range between the nodes",
      "iptables -L -n; nft list ruleset   # on the node that is connected to"},
     "`nc -zv <peer> <port>` to a port on which the peer listens (nc -l): refused or timed out "
     "confirms it; if it connects, the peer process was not there yet or had died",
     "all",
     "NCCL 2.18 to 2.30, src/misc/socket.cc; firewalld rejects with icmp-host-prohibited",
     {{6, "nccl.connect_failed error~route", "rejected on the way"},
      {4, "nccl.connect_failed error~timed", "no answer"},
      {3, "nccl.connect_failed error~refused", "nobody listens, or a firewall rejects"},
      {1, "nccl.connect_retries", "and goes on failing"},
      {3, "nccl.connect_failed error~abort", "the connection was given up"},
      {3, "nccl.plugin_completion",
       "requests of the plugin fail, as with a security group that blocks"},
      {-3, "is.virtual", "the address belongs to a virtual interface"},
      {-5, "is.loopback", "the address is loopback"},
      {-2, "is.localhost", "host names may mislead"},
      {-2, "is.link_local", "the address is link-local"},
      {-2, "is.bootstrap_nets_differ", "the nodes listen in different networks"},
      {-2, "process.died", "a process died"}}},
    {"env_not_applied",
     Layer::kFramework,
     "NCCL_SOCKET_IFNAME={value} is set but the log uses {interface}: the variable did not reach "
     "this rank (launcher, container, sudo), or was set later",
     {"mpirun -x NCCL_SOCKET_IFNAME ...   # or srun --export=ALL, docker run -e "
      "NCCL_SOCKET_IFNAME"},
     "the line 'NCCL_SOCKET_IFNAME set by environment to' in the rank's log: absent confirms it",
     "all",
     "NCCL 2.18 to 2.30, src/misc/socket.cc",
     {{3, "is.ifname_ignored", "an interface that the variable does not admit"}}},
    {"jumbo_frames",
     Layer::kPhysical,
     "{interface} is fast and has an MTU of 1500: small frames cost processors and bandwidth",
     {"ip link set dev {interface} mtu 9000   # on all nodes and switch ports"},
     "`ping -M do -s 8972 <peer>` once all are set",
     "all",
     "Ethernet practice, IEEE 802.3",
     {{2, "is.mtu_small", "a fast interface with MTU 1500"},
      {2, "is.active_mtu_small", "RDMA over Ethernet with an active MTU of 1024"}}},
};

}  // namespace

std::vector<Rule> interface_rules() {
  return {std::begin(kRules), std::end(kRules)};
}

}  // namespace busbw::diagnosis
