// What the environment says about the IB plugin's connections: GID index, time-out, QPs ...
//
// The simulator and real mode read the variables here, so that both mean the same. Source: NCCL
// 2.18 to 2.28 src/transport/net_ib.cc, 2.29 and 2.30 src/transport/net_ib/. Left out: port
// failover, out-of-order receive queues, adaptive-routing threshold.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/nccl/environment.h"
#include "models/nccl/selection.h"

namespace busbw::nccl {

struct ConnectionSettings {
  int timeout = 20;     // exponent: one try takes 4.096 us x 2^timeout
  int retry_count = 7;  // tries after the first
  int service_level = 0;
  int traffic_class = 0;  // Ethernet only
  int pkey_index = 0;
  int queue_pairs = 1;      // per connection
  bool split_data = false;  // each message over all QPs; else message by message in turn
};

/// Reads NCCL_IB_TIMEOUT, _RETRY_CNT, _SL, _TC, _PKEY, _QPS_PER_CONNECTION and _SPLIT_DATA_ON_QPS.
/// Values beyond what a QP can hold are clamped, as the hardware's fields would cut them.
ConnectionSettings connection_settings(const Environment& environment, Version version);

/// An entry of a port's GID table.
struct GidTableEntry {
  bool readable = true;  // false: empty, or of another network name space
  std::array<std::uint8_t, 16> gid{};
  int roce_version = 0;  // 1 or 2, 0 unknown
};

struct GidChoice {
  int index = 0;
  std::vector<Reason> reasons;
};

/// The GID index that NCCL uses on a RoCE port: NCCL_IB_GID_INDEX, or from 2.21 on a search by
/// NCCL_IB_ADDR_FAMILY, NCCL_IB_ADDR_RANGE and NCCL_IB_ROCE_VERSION_NUM. The index that a user
/// sets is not checked against the table: the first use of it fails.
GidChoice choose_roce_gid(const Environment& environment, Version version,
                          const std::vector<GidTableEntry>& table);

/// The same for InfiniBand: index NCCL_IB_ROUTABLE_FLID_GID_INDEX if its FLID is not 0, else 0;
/// before 2.21 NCCL_IB_GID_INDEX.
GidChoice choose_infiniband_gid(const Environment& environment, Version version,
                                const std::vector<GidTableEntry>& table);

}  // namespace busbw::nccl
