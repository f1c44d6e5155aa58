// Measurement records: what somebody measured on a system, as plain values.
//
// The texts of a system ("ConnectX-7 (gIB plugin)", "NVLink3 mesh, 4 links per pair") stay texts
// here; describe.h gives them their meaning. Format: docs/formats/measurement-records.md.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/environment.h"
#include "sim/core/errors.h"
#include "sim/core/units.h"

namespace busbw::scenarios::accuracy {

/// How the GPUs of a host are joined.
struct RecordIntra {
  std::string nvlink;     // "NVLink4", "NVLink2 hybrid cube mesh (NV1/NV2)"; empty: not said
  std::string nv_switch;  // "NVSwitch3", "none", "NVL72 rack (MNNVL)"
  std::string kind;       // PCIe hosts: "PCIe Gen3 x16 behind one switch (PIX)"
  std::string other;      // a fabric that is no NVLink: "Infinity Fabric mesh"
  std::optional<Bandwidth> per_gpu;   // one way
  std::optional<Bandwidth> per_pair;  // one way
  std::optional<bool> p2p;            // the driver lets GPUs reach each other
};

struct RecordInterface {
  std::string name;
  std::optional<Bandwidth> shaped;  // on the sending side
};

struct RecordNic {
  std::string type;                   // "ConnectX-7 (gIB plugin)"
  std::string link;                   // "InfiniBand NDR", "RoCEv2", "EFA"
  std::optional<std::int32_t> count;  // per host
  std::optional<Bandwidth> rate;
  std::optional<bool> gdr;    // NICs reach GPU memory
  std::optional<bool> sharp;  // the network reduces
  std::vector<RecordInterface> interfaces;
  std::optional<std::int64_t> mtu;
  std::optional<std::int64_t> reported_speed_mbit;  // what sysfs says of the interfaces
};

/// One NIC that is slower than the others.
struct SlowLink {
  std::int32_t host = 1;  // from 1
  std::string nic;
  Bandwidth rate;  // sending
};

struct RecordSystem {
  std::string gpu;
  std::optional<std::int32_t> gpus_per_node;
  std::optional<std::int32_t> nodes;
  std::optional<std::int32_t> ranks;
  RecordIntra intra;
  RecordNic nic;
  std::string pcie;  // "Gen4 x16", "Gen4; GPU-NIC distance SYS"
  std::string cpu;
  std::string host;
  std::vector<std::int32_t> gpu_buses;  // PCI bus numbers; empty: not said
  std::string gpu_buses_of;             // the record of the same document that says them
  /// acs, iommu, nps, mtu, gdr, gpu_nic_path, gpu_placement ...; numbers and booleans as text.
  std::map<std::string, std::string> conditions;
};

/// One row of a table, as it was given.
struct RecordPoint {
  std::optional<Bytes> bytes;
  std::optional<double> time_us;
  std::optional<double> algbw_GBps;
  std::optional<double> busbw_GBps;
  std::optional<double> rate_GBps;  // of a copy or a link
  std::string test;                 // of tables that have several
  bool noisy = false;               // shown, not judged
  bool inconsistent = false;        // the figures of the row contradict each other
};

enum class Quality { kHigh, kMedium, kLow };
/// "high", "medium", "low".
std::string to_string(Quality quality);

struct Record {
  std::string id;
  std::string source;
  std::string kind;  // "nccl-tests", "ib_write_bw -a"
  RecordSystem system;
  std::string nccl_version;  // as given; empty: not said
  nccl::Environment environment;
  std::string collective;
  std::string algorithm;  // what NCCL took, as somebody wrote it; empty: not said
  std::string protocol;
  std::vector<RecordPoint> points;
  std::string notes;
  Quality quality = Quality::kHigh;
  std::optional<SlowLink> slow_link;
  Location where;
};

}  // namespace busbw::scenarios::accuracy
