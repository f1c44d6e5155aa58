// What NCCL and PyTorch print when connections fail under way, and who ends the job.
//
// Lines without the frame of host, process and file; "<port>" stands for a port number that differs
// from run to run. Source: NCCL 2.18 to 2.28, src/transport/net_ib.cc, 2.29 and 2.30
// src/transport/net_ib/, src/misc/socket.cc; PyTorch 2.0 to 2.7,
// torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp. Left out: lines of the ranks that only notice
// that another one has gone ("Connection closed by remote peer").
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "models/nccl/environment.h"
#include "models/nccl/version.h"
#include "sim/core/units.h"

namespace busbw::nccl {

/// PyTorch's watchdog ends a process whose collective failed or timed out:
/// TORCH_NCCL_ASYNC_ERROR_HANDLING, or its older name without TORCH_, is not 0 (the default is 3).
bool handles_errors(const Environment& environment);
/// Fatal events of an adapter end the communicator: from 2.23 on, unless
/// NCCL_IB_RETURN_ASYNC_EVENTS is 0.
bool ends_on_fatal_events(const Environment& environment, Version version);

/// One end of a connection that has given up.
struct FailedEnd {
  bool ethernet = false;  // RoCE
  std::string device;     // HCA
  std::string own;        // address of its interface, "10.0.0.1"; for RoCE's GIDs
  std::string peer;       // of the other end's
};
/// Status 12 of a send, "transport retry counter exceeded".
std::string retry_exceeded_line(const FailedEnd& end, Version version);
/// ETIMEDOUT of a socket.
std::string socket_timed_out_line(const FailedEnd& end, Version version);

/// What a port or adapter tells by itself.
enum class AsyncEvent { kPortError, kPortActive, kDeviceFatal };
std::string async_event_line(AsyncEvent event, const std::string& device, int port,
                             Version version);
/// What follows a fatal one where it ends the communicator.
std::string fatal_error_line();

/// PyTorch's, of rank `rank`, when its watchdog finds NCCL's error; `last` is NCCL's last WARN.
std::vector<std::string> watchdog_error_lines(std::int32_t rank, bool remote,
                                              const std::string& last, Version version);

/// A collective that did not end.
struct TimedOut {
  std::int32_t rank = 0;
  std::string operation;   // "ALLREDUCE"
  std::int64_t count = 0;  // elements in and out
  Duration timeout;
};
std::vector<std::string> watchdog_timeout_lines(const TimedOut& work);

}  // namespace busbw::nccl
