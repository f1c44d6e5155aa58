// From the texts of a record's system to typed facts, or the reason why it cannot be modelled.
//
// By kind and fields only: GPU model, how GPUs are joined, NICs, PCIe, conditions. Whatever the
// texts leave open and is taken for granted becomes an assumption, a sentence for the report.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/accuracy/record.h"
#include "topologies/catalog.h"
#include "topologies/machine.h"

namespace busbw::scenarios::accuracy {

/// Where the GPUs of a PCIe host stand.
enum class Placement {
  kUnknown,
  kSwitches,      // behind PCIe switches, so many a switch
  kOneSocket,     // on root ports of one CPU
  kAcrossSockets  // on root ports of different CPUs
};

/// How data leave the host.
enum class Carrier { kNone, kInfiniBand, kRoce, kPlugin, kSocket };

struct NicFacts {
  Carrier carrier = Carrier::kNone;
  const topologies::NicModel* model = nullptr;  // nullptr: virtual
  std::int32_t count = 0;
  Bandwidth rate;
  topologies::NicLinkLayer layer = topologies::NicLinkLayer::kEthernet;
  bool shaped = false;                      // `rate` is that of a shaper on the sending side
  std::vector<RecordInterface> interfaces;  // of virtual NICs that are named
};

struct SystemFacts {
  const topologies::GpuModel* gpu = nullptr;
  std::int32_t gpus = 1;  // per host
  std::int32_t hosts = 1;
  topologies::NvLinkWiring wiring = topologies::NvLinkWiring::kNone;
  std::int32_t links_per_pair = 0;  // of a mesh and of pairs
  std::int32_t hosts_per_nvlink_domain = 0;
  Placement placement = Placement::kUnknown;
  std::int32_t gpus_per_switch = 0;  // with kSwitches
  std::optional<bool> peer_to_peer;
  NicFacts nic;
  std::optional<std::int32_t> pcie_generation;
  std::optional<std::int32_t> pcie_lanes;
  /// The CPU that the bus numbers of the GPUs tell, where nothing is said of PCIe and CPU.
  const topologies::CpuModel* cpu_by_buses = nullptr;
  const topologies::CpuModel* cpu = nullptr;    // when said
  std::optional<std::int32_t> numa_per_socket;  // NPS
  std::string gpu_nic_path;                     // PIX, PXB, PHB, NODE, SYS; empty: not said
  bool pods = false;  // nodes are pods, and nothing says that their devices are aligned
  bool acs_redirect = false;
  bool dma_translation = false;
  bool gpudirect = true;
  std::optional<std::int64_t> mtu;
};

struct Description {
  std::optional<SystemFacts> facts;  // nothing: see `reason`
  std::string reason;
  std::vector<std::string> assumptions;
};

Description describe(const Record& record, const topologies::Catalog& catalog);

/// `text`, in lower case, or nothing where it says that there is none: "none", "no nvlink", "n/a".
std::string unless_denied(const std::string& text);

/// A module on a board with NVLinks; cards have them by bridges, which must be said.
bool is_on_a_board(const topologies::GpuModel& gpu);

/// The record whose name or alias is written in `text`, whatever the case and whatever stands
/// between letters and digits, '?' of an alias for any digit; the longest name wins, the earlier
/// one of equals. nullptr: none.
const topologies::GpuModel* gpu_in(const std::string& text, const topologies::Catalog& catalog);
const topologies::NicModel* nic_in(const std::string& text, const topologies::Catalog& catalog);
const topologies::CpuModel* cpu_in(const std::string& text, const topologies::Catalog& catalog);

}  // namespace busbw::scenarios::accuracy
