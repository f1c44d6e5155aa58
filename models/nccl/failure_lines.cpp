// See failure_lines.h.
#include "models/nccl/failure_lines.h"

#include <fmt/format.h>

#include "sim/core/check.h"

namespace busbw::nccl {
namespace {

constexpr Version kTypeOfRequest{2, 19, 0};
constexpr Version kStatus{2, 20, 0};
constexpr Version kNamesHca{2, 22, 0};
constexpr Version kFatalEvents{2, 23, 0};
constexpr Version kBothWays{2, 24, 0};
constexpr Version kStatusNames{2, 30, 0};

const char* text_of(AsyncEvent event) {
  switch (event) {  // ibv_event_type_str()
    case AsyncEvent::kPortError:
      return "port error";
    case AsyncEvent::kPortActive:
      return "port active";
    case AsyncEvent::kDeviceFatal:
      return "local catastrophic error";
  }
  CHECK(false, "event {}", static_cast<int>(event));
}

int number_of(AsyncEvent event) {
  return event == AsyncEvent::kPortError ? 10 : 9;  // enum ibv_event_type
}

std::string gids(const FailedEnd& end) {
  return end.ethernet ? fmt::format(" localGid ::ffff:{} remoteGids::ffff:{}", end.own, end.peer)
                      : "";
}

std::string take_down(std::int32_t rank, const std::string& why) {
  return fmt::format("[Rank {}] NCCL watchdog thread terminated with exception: {}", rank, why);
}

std::vector<std::string> corrupted(std::int32_t rank) {
  return {fmt::format("[Rank {}] Some NCCL operations have failed or timed out. Due to the "
                      "asynchronous nature of CUDA kernels, subsequent GPU operations might run on "
                      "corrupted/incomplete data.",
                      rank),
          fmt::format("[Rank {}] To avoid data inconsistency, we are taking the entire process "
                      "down.",
                      rank)};
}

}  // namespace

bool handles_errors(const Environment& environment) {
  constexpr std::int64_t kSkipCleanUp = 3;
  const std::int64_t older = numeric(environment, "NCCL_ASYNC_ERROR_HANDLING", kSkipCleanUp);
  return numeric(environment, "TORCH_NCCL_ASYNC_ERROR_HANDLING", older) != 0;
}

bool ends_on_fatal_events(const Environment& environment, Version version) {
  return version >= kFatalEvents && numeric(environment, "NCCL_IB_RETURN_ASYNC_EVENTS", 1) != 0;
}

std::string retry_exceeded_line(const FailedEnd& end, Version version) {
  const std::string peer = end.peer + "<port>";
  if (version >= kStatusNames) {
    return fmt::format(
        "NET/IB: Got completion from peer {} with status=IBV_WC_RETRY_EXC_ERR(12) "
        "opcode=IBV_WC_SEND(0) vendor_err=129 {} hca {}",
        peer, gids(end), end.device);
  }
  if (version < kStatus) {
    return fmt::format(
        "NET/IB : Got completion from peer {} with error 12, opcode 0, len 0, "
        "vendor err 129{}",
        peer, version < kTypeOfRequest ? "" : " (Send)" + gids(end));
  }
  return fmt::format(
      "NET/IB : Got completion from peer {} with status=12 opcode=0 len=0 vendor "
      "err 129 (Send){}{}",
      peer, gids(end), version < kNamesHca ? "" : " hca " + end.device);
}

std::string socket_timed_out_line(const FailedEnd& end, Version version) {
  return fmt::format("{}: Call to {} {}<port> failed : Connection timed out",
                     version >= kStatusNames ? "ncclOsSocketProgressOpt" : "socketProgressOpt",
                     version >= kBothWays ? "send to" : "recv from", end.peer);
}

std::string async_event_line(AsyncEvent event, const std::string& device, int port,
                             Version version) {
  const std::string place = fmt::format("NET/IB : {}:{}", device, port);
  if (version < kFatalEvents) {
    return fmt::format("{} Got async event : {}", place, text_of(event));
  }
  if (event == AsyncEvent::kDeviceFatal) {
    return fmt::format("{} async fatal event: {}", place, text_of(event));
  }
  return fmt::format("{} Got non-fatal async event: {}({})", place, text_of(event),
                     number_of(event));
}

std::string fatal_error_line() {
  return "communicator encountered a fatal error (detected in ncclIbTest)";
}

std::vector<std::string> watchdog_error_lines(std::int32_t rank, bool remote,
                                              const std::string& last, Version version) {
  std::vector<std::string> lines = corrupted(rank);
  lines.push_back(take_down(
      rank, fmt::format("NCCL error: {}, NCCL version {}",
                        remote ? "remote process exited or there was a network error"
                               : "unhandled system error (run with NCCL_DEBUG=INFO for details)",
                        to_string(version))));
  lines.push_back(remote ? "ncclRemoteError: A call failed possibly due to a network error or a "
                           "remote process exiting prematurely."
                         : "ncclSystemError: System call (e.g. socket, malloc) or external library "
                           "call failed or device error.");
  lines.emplace_back("Last error:");
  lines.push_back(last);
  return lines;
}

std::vector<std::string> watchdog_timeout_lines(const TimedOut& work) {
  const auto milliseconds = static_cast<std::int64_t>(work.timeout.ps() / 1'000'000'000);
  const std::string caught = fmt::format(
      "[Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType={}, "
      "NumelIn={}, NumelOut={}, Timeout(ms)={}) ran for {} milliseconds before timing out.",
      work.rank, work.operation, work.count, work.count, milliseconds, milliseconds);
  std::vector<std::string> lines = {caught};
  for (std::string& line : corrupted(work.rank)) {
    lines.push_back(std::move(line));
  }
  lines.push_back(take_down(work.rank, caught));
  return lines;
}

}  // namespace busbw::nccl
