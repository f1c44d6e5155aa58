// GPUs and their NVLinks as NVML tells them. The library comes with the driver; it is opened when
// it is there, never linked.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace busbw::real::collect {

struct NvmlGpu {
  std::string address;             // "0000:17:00.0"
  std::vector<std::string> peers;  // address at the other end of each active NVLink to a GPU
  int switch_links = 0;            // active NVLinks to NVSwitches
};

struct NvmlAnswer {
  std::vector<NvmlGpu> gpus;
  std::string failure;  // empty: all was read; else the call and what it said
};

/// In NVML's order. Without the library `failure` says so.
NvmlAnswer read_nvml();

}  // namespace busbw::real::collect
