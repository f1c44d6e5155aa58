// Prints HCAs as `ibstat`, `ibstatus`, `ibv_devinfo`, `rdma link`, `ibdev2netdev` and `show_gids`
// do. ibstat_text.h reads the first back.
//
// The values are those of /sys/class/infiniband, so that a real host's and an emulated one's go
// through one printer. Forms: rdma-core 50, infiniband-diags/ibstat.c and scripts/ibstatus,
// libibverbs/examples/devinfo.c; iproute2 6, rdma/link.c; MLNX_OFED scripts ibdev2netdev and
// show_gids. Names of states: InfiniBand Architecture Specification, PortInfo.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace busbw::facts {

struct PrintedGid {
  int index = 0;
  std::string gid;   // eight groups of four digits
  std::string type;  // "IB/RoCE v1", "RoCE v2", as sysfs has it
  std::string netdev;
};

struct PrintedPort {
  int number = 1;
  int state = 0;               // 1 down, 2 init, 3 armed, 4 active
  std::string physical_state;  // "LinkUp", "Polling"; an unknown word is printed as it is
  std::string rate;            // "100 Gb/sec (4X EDR)"
  std::uint32_t base_lid = 0;
  std::uint32_t lmc = 0;
  std::uint32_t sm_lid = 0;
  std::uint32_t capability_mask = 0;
  std::uint64_t guid = 0;
  std::string link_layer;  // "InfiniBand", "Ethernet", "Unknown"
  std::string default_gid;
  int max_mtu = 4096;  // bytes
  int active_mtu = 0;
  std::string netdev;  // empty: none in this network name space
  bool netdev_up = false;
  std::vector<PrintedGid> gids;
};

struct PrintedHca {
  std::string name;      // mlx5_0
  std::string type;      // "MT4129"; empty: the driver does not say
  std::string firmware;  // empty: as an emulated device, none
  std::string hardware = "0";
  std::string board;
  std::uint64_t node_guid = 0;
  std::uint64_t system_image_guid = 0;
  std::uint32_t vendor = 0;       // vendor_id of verbs
  std::uint32_t vendor_part = 0;  // device id
  bool opens = true;              // ibv_open_device works
  std::vector<PrintedPort> ports;
};

/// GUID as verbs print it: "0200:00ff:fe00:0001".
std::string guid_groups(std::uint64_t guid);
/// A GID of the link-local prefix.
std::string link_local_gid(std::uint64_t guid);
/// The vendor that verbs name for a PCI vendor: Mellanox tells its IEEE number, others the same.
std::uint32_t verbs_vendor(std::uint32_t pci_vendor);
/// Number of a physical state by its name; nothing for another word.
std::optional<int> physical_state_number(const std::string& name);

/// Without an HCA: what ibstat says where there is no RDMA driver.
std::string print_ibstat(const std::vector<PrintedHca>& hcas);
std::string print_ibstatus(const std::vector<PrintedHca>& hcas);
/// Devices that cannot be opened are a line each, as the tool writes them to its error output.
std::string print_ibv_devinfo(const std::vector<PrintedHca>& hcas);
std::string print_rdma_link(const std::vector<PrintedHca>& hcas);
std::string print_ibdev2netdev(const std::vector<PrintedHca>& hcas);
std::string print_show_gids(const std::vector<PrintedHca>& hcas);

}  // namespace busbw::facts
