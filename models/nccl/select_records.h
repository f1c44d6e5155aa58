// Selection records: real NCCL runs with their inventory, environment and outcome, read for
// prediction, and the prediction written beside what was measured.
//
// A record gives, among other fields: id, nccl_version, hosts, env {NAME: text},
// reported_interface_speed_mbit (what sysfs says of every interface but loopback) and interfaces[]
// {name, address, ipv6_link_local, shaped_gbit, up} in kernel order. In an address "{host}" is the
// host's number from 1; null means IPv6 link-local only. Interfaces are virtual, hosts have no HCA
// and no default route, as in the network namespaces that the records were made in. The fields of
// the answer (bootstrap_interface, data_interfaces ...) are not read.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/selection.h"
#include "sim/core/errors.h"
#include "sim/core/value.h"

namespace busbw::nccl {

/// One measured size of a record.
struct RecordPoint {
  std::string collective;  // nccl-tests' spelling
  std::int64_t bytes = 0;
  double measured_busbw_GBps = 0;
  bool noisy = false;
};

struct SelectionRecord {
  std::string id;
  SelectionInput input;
  std::int64_t gpus_per_host = 1;
  std::vector<RecordPoint> points;
  Location where;
};

/// Reads an array of records (or an object with a member `records`). Everything wrong is added to
/// `problems` with its place; a record with problems is left out.
std::vector<SelectionRecord> read_selection_records(const Value& records, Problems& problems);

/// Predicted busbw in GB/s of one point, or nothing.
using PointPredictor = std::function<std::optional<double>(const SelectionRecord&, const Decision&,
                                                           const RecordPoint&)>;

/// {id, bootstrap_interface, data_interfaces[], network, channels[] {channel, net_device}, outcome,
/// error, reasons[], points[] {bytes, measured_busbw_GBps, predicted_busbw_GBps}, warnings[]}, of
/// host 0. outcome: "ran", "error" or "no progress: WHY". Null or [] for what does not exist.
/// Without a predictor the predictions are null.
Value selection_output(const SelectionRecord& record, const Decision& decision,
                       const PointPredictor& predict = nullptr);
/// "rule: text (source)" of the reasons of host 0, then of the job.
std::vector<std::string> reason_lines(const Decision& decision);

}  // namespace busbw::nccl
