// The hardware catalogue: models of GPUs, NICs, CPUs, switches, cables and link generations, read
// from topologies/catalog/*.yaml. Every number has a source beside it in the file. Keys:
// docs/formats/catalog.md.
//
// Assumes: rates are one way, capacities are peaks as the data sheets give them. What software gets
// of them is the business of models/transport, not of the catalogue.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/units.h"

namespace busbw::topologies {

/// One generation of NVLink: per link and direction.
struct NvLinkGeneration {
  std::string name;  // "NVLink3"
  std::int32_t generation = 0;
  std::int32_t year = 0;   // first product
  Bandwidth per_link;      // one way, data rate (25 GB/s for NVLink 2 to 4)
  std::int32_t links = 0;  // of the largest GPU of this generation
  Duration latency;        // one hop
  std::string source;
};

/// PCI Express generation.
struct PcieGeneration {
  std::string name;  // "Gen4"
  std::int32_t generation = 0;
  std::int32_t year = 0;           // of the specification
  std::int64_t megatransfers = 0;  // MT/s per lane: 16000
  Ratio encoding;                  // 8/10, 128/130, 242/256 (FLIT)
  Ratio efficiency;                // payload share of TLPs at the usual maximum payload size
  Duration latency;                // one hop
  std::string source;
};

/// InfiniBand generation: per lane.
struct InfiniBandRate {
  std::string name;       // "HDR"
  std::int32_t year = 0;  // first product
  Bandwidth signalling;   // per lane, on the wire
  Bandwidth data;         // per lane, after line coding
  std::string encoding;   // "8b/10b", "64b/66b", "PAM4, 256b/257b and RS(544,514)"
  Ratio coding;           // data = signalling x coding: 8/10, 64/66, 16/17
  std::vector<std::int32_t> lanes;
  Duration latency;  // end to end through one switch, small message
  std::string source;
};

/// Ethernet port rate, named by data rate.
struct EthernetRate {
  std::string name;  // "100GbE"
  std::int32_t year = 0;
  Bandwidth rate;  // data rate of the port
  std::int32_t lanes = 0;
  Bandwidth signalling;  // per lane, on the wire
  std::string encoding;
  Ratio coding;      // rate = signalling x coding x lanes
  Duration latency;  // end to end through one switch by kernel TCP, small message
  std::string source;
};

struct GpuModel {
  std::string name;  // "A100-SXM4-40GB"
  std::vector<std::string> aliases;
  std::string architecture;  // "Ampere"
  std::int32_t sm = 0;       // compute capability x 10: 80
  Bytes memory;
  Bandwidth memory_bandwidth;
  std::int32_t pcie_generation = 0;
  std::int32_t pcie_lanes = 16;
  std::int32_t nvlink_generation = 0;  // 0: none
  std::int32_t nvlink_links = 0;
  std::optional<Bandwidth> chip_to_chip;  // NVLink-C2C to the CPU, one way
  std::optional<std::int64_t> pci_device;
  bool gpudirect_rdma = true;  // NICs may reach its memory; GeForce: false
  std::string source;
};

enum class NicLinkLayer { kInfiniBand, kEthernet };

struct NicModel {
  std::string name;                  // "ConnectX-6 200G"
  std::vector<std::string> aliases;  // MT4123 ...
  std::vector<NicLinkLayer> link_layers;
  Bandwidth port_rate;  // fastest
  std::int32_t ports = 1;
  bool rdma = false;
  std::int32_t pcie_generation = 0;
  std::int32_t pcie_lanes = 0;
  std::optional<std::int64_t> pci_vendor;
  std::optional<std::int64_t> pci_device;
  std::string nccl_plugin;  // network plugin that NCCL needs for its RDMA; empty: NCCL's own IB
  std::optional<Duration> plugin_latency;  // as that plugin tells NCCL
  std::optional<Bandwidth>
      software_verbs;  // both directions; driver's code moves the data of verbs
  Duration latency;    // one end, small message
  std::string source;
};

struct CpuModel {
  std::string name;                  // "Intel Ice Lake-SP"
  std::vector<std::string> aliases;  // "EPYC 7742"
  std::string vendor;                // "GenuineIntel", "AuthenticAMD", "arm64", "ppc64le"
  std::int32_t family = 0;           // as cpuid says; 0 where there is none
  std::int32_t model = 0;
  Bandwidth interconnect;  // one way between two sockets
  Duration interconnect_latency;
  Bandwidth memory_bandwidth;  // one socket
  /// Where the buses of root ports are numbered alike in most hosts of this CPU; else 0 and none.
  std::int32_t pcie_generation = 0;
  std::vector<std::int32_t> root_buses;
  std::string source;
};

struct SwitchModel {
  std::string name;  // "QM8700"
  std::vector<std::string> aliases;
  std::string fabric;  // "InfiniBand", "Ethernet" or "Omni-Path"
  std::int32_t ports = 0;
  Bandwidth port_rate;
  Duration latency;
  std::string source;
};

/// A cable with what is plugged in at its two ends.
struct CableModel {
  std::string name;  // "DAC OSFP"
  std::vector<std::string> aliases;
  std::string medium;     // "copper", "active copper" or "fibre"
  std::string connector;  // "QSFP56", "OSFP"
  Bandwidth port_rate;    // of the fastest port that takes it
  std::int32_t max_length_m = 0;
  Duration latency_per_metre;
  Duration latency;  // of both ends together, beside the length
  std::string source;
};

struct Catalog {
  std::vector<NvLinkGeneration> nvlink;
  std::vector<PcieGeneration> pcie;
  std::vector<InfiniBandRate> infiniband;
  std::vector<EthernetRate> ethernet;
  std::vector<GpuModel> gpus;
  std::vector<NicModel> nics;
  std::vector<CpuModel> cpus;
  std::vector<SwitchModel> switches;
  std::vector<CableModel> cables;
  std::string directory;  // where it was read

  // Look-ups by name or alias (case-insensitive); nothing if unknown.
  [[nodiscard]] const GpuModel* gpu(const std::string& name) const;
  [[nodiscard]] const NicModel* nic(const std::string& name) const;
  [[nodiscard]] const CpuModel* cpu(const std::string& name) const;
  [[nodiscard]] const SwitchModel* network_switch(const std::string& name) const;
  [[nodiscard]] const CableModel* cable(const std::string& name) const;
  [[nodiscard]] const NvLinkGeneration* nvlink_generation(std::int32_t generation) const;
  [[nodiscard]] const PcieGeneration* pcie_generation(std::int32_t generation) const;
  [[nodiscard]] const InfiniBandRate* infiniband_rate(const std::string& name) const;
  [[nodiscard]] const EthernetRate* ethernet_rate(const std::string& name) const;
};

/// A PCI bus as lspci writes it: 58 of "3a". Nothing for anything but two hexadecimal digits.
std::optional<std::int32_t> parse_bus(const std::string& text);

/// Payload rate of one direction: MT/s x lanes x encoding (before TLP efficiency).
Bandwidth pcie_bandwidth(const PcieGeneration& generation, std::int32_t lanes);

/// Reads gpus.yaml, nics.yaml, cpus.yaml, switches.yaml, cables.yaml, nvlink.yaml, pcie.yaml,
/// infiniband.yaml and ethernet.yaml of `directory`. Adds every problem of every file to
/// `problems`; what could be read is returned all the same.
Catalog load_catalog(const std::string& directory, Problems& problems);

}  // namespace busbw::topologies
