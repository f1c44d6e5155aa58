// Lines of failing connections, release by release.
#include "models/nccl/failure_lines.h"

#include <gtest/gtest.h>

namespace busbw::nccl {
namespace {

FailedEnd end_of(bool ethernet) {
  FailedEnd end;
  end.ethernet = ethernet;
  end.device = "mlx5_0";
  end.own = "10.0.0.1";
  end.peer = "10.0.0.2";
  return end;
}

TEST(FailureLines, RetryExceededByRelease) {
  const FailedEnd end = end_of(false);
  EXPECT_EQ(retry_exceeded_line(end, {2, 18, 6}),
            "NET/IB : Got completion from peer 10.0.0.2<port> with error 12, opcode 0, len 0, "
            "vendor err 129");
  EXPECT_EQ(retry_exceeded_line(end, {2, 20, 5}),
            "NET/IB : Got completion from peer 10.0.0.2<port> with status=12 opcode=0 len=0 vendor "
            "err 129 (Send)");
  EXPECT_EQ(retry_exceeded_line(end, {2, 28, 9}),
            "NET/IB : Got completion from peer 10.0.0.2<port> with status=12 opcode=0 len=0 vendor "
            "err 129 (Send) hca mlx5_0");
  EXPECT_EQ(retry_exceeded_line(end_of(true), {2, 28, 9}),
            "NET/IB : Got completion from peer 10.0.0.2<port> with status=12 opcode=0 len=0 vendor "
            "err 129 (Send) localGid ::ffff:10.0.0.1 remoteGids::ffff:10.0.0.2 hca mlx5_0");
  EXPECT_NE(retry_exceeded_line(end, {2, 30, 7}).find("status=IBV_WC_RETRY_EXC_ERR(12)"),
            std::string::npos);
}

TEST(FailureLines, SocketsByRelease) {
  EXPECT_EQ(socket_timed_out_line(end_of(true), {2, 18, 6}),
            "socketProgressOpt: Call to recv from 10.0.0.2<port> failed : Connection timed out");
  EXPECT_EQ(socket_timed_out_line(end_of(true), {2, 28, 9}),
            "socketProgressOpt: Call to send to 10.0.0.2<port> failed : Connection timed out");
}

TEST(FailureLines, AsyncEventsByRelease) {
  EXPECT_EQ(async_event_line(AsyncEvent::kPortError, "mlx5_1", 1, {2, 18, 6}),
            "NET/IB : mlx5_1:1 Got async event : port error");
  EXPECT_EQ(async_event_line(AsyncEvent::kPortError, "mlx5_1", 1, {2, 28, 9}),
            "NET/IB : mlx5_1:1 Got non-fatal async event: port error(10)");
  EXPECT_EQ(async_event_line(AsyncEvent::kPortActive, "mlx5_1", 2, {2, 28, 9}),
            "NET/IB : mlx5_1:2 Got non-fatal async event: port active(9)");
  EXPECT_EQ(async_event_line(AsyncEvent::kDeviceFatal, "mlx5_1", 1, {2, 28, 9}),
            "NET/IB : mlx5_1:1 async fatal event: local catastrophic error");
}

TEST(FailureLines, WhoEndsTheJob) {
  EXPECT_TRUE(handles_errors({}));
  EXPECT_FALSE(handles_errors({{"NCCL_ASYNC_ERROR_HANDLING", "0"}}));
  EXPECT_TRUE(handles_errors(
      {{"NCCL_ASYNC_ERROR_HANDLING", "0"}, {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"}}));
  EXPECT_FALSE(ends_on_fatal_events({}, {2, 22, 3}));
  EXPECT_TRUE(ends_on_fatal_events({}, {2, 23, 4}));
  EXPECT_FALSE(ends_on_fatal_events({{"NCCL_IB_RETURN_ASYNC_EVENTS", "0"}}, {2, 28, 9}));
}

TEST(FailureLines, TheWatchdogNamesNcclsLastWarning) {
  const std::vector<std::string> lines = watchdog_error_lines(3, true, "NET/IB : x", {2, 19, 3});
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[2],
            "[Rank 3] NCCL watchdog thread terminated with exception: NCCL error: remote process "
            "exited or there was a network error, NCCL version 2.19.3");
  EXPECT_EQ(lines.back(), "NET/IB : x");
}

TEST(FailureLines, TheWatchdogTellsOfATimeOut) {
  const std::vector<std::string> lines =
      watchdog_timeout_lines({0, "ALLREDUCE", 1024, Duration::seconds(1800)});
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines.front(),
            "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, "
            "OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=1800000) ran for 1800000 "
            "milliseconds before timing out.");
}

}  // namespace
}  // namespace busbw::nccl
