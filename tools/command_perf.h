// `busbw perf COLLECTIVE --machine M --nodes K`: what nccl-tests would print there.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/console.h"

namespace busbw::tools {

struct PerfOptions {
  std::string collective;
  std::string machine;  // machine file (.yaml), or machine of the catalogue
  std::string nodes = "1";
  std::string fabric;  // fabric file, or fabric of the catalogue, of the RDMA NICs
  std::string ecmp;    // of it, "5-tuple", "flowlet", "packet", with ",7" a seed of 7
  bool adaptive_routing = false;
  std::optional<std::int64_t> hottest;  // links of each size to report; nothing: as Context has it
  std::string nvlink_domain;            // hosts of one NVLink domain
  std::string from = "32M";             // as nccl-tests
  std::string to = "32M";
  std::string step;    // -i; empty: 1M unless a factor is given
  std::string factor;  // -f
  std::string gpus;    // of each node; empty: all
  std::string type = "float";
  std::string mtu = "9000";  // of RDMA over Ethernet
  std::vector<std::string> environment;
  std::string version;  // empty: the newest that is modelled
  std::string engine = "auto";
  std::string json;  // file, "-" for stdout in place of the table
  std::string csv;   // file, "-" for stdout in place of the table
  std::string plot;  // SVG file
};

/// Prints nccl-tests' table with what NCCL chose and what bounds it. A job that NCCL refuses gives
/// exit code 1. Throws InputError for a wrong command line.
int perf(const PerfOptions& options, Console& console);

}  // namespace busbw::tools
