// Work completion statuses and errno of verbs calls in words, with what usually causes them.
//
// Source: rdma-core 44 infiniband/verbs.h (numbers, names), InfiniBand Architecture Specification
// vol. 1, 10.10 and 11.6 (meanings); causes: what breaks in practice.
#pragma once
#include <string>

namespace busbw::real::verbs {

/// The statuses that code asks for by name.
inline constexpr int kSuccess = 0;
inline constexpr int kLocalLengthError = 1;
inline constexpr int kLocalProtectionError = 4;
inline constexpr int kFlushed = 5;
inline constexpr int kRemoteInvalidRequest = 9;
inline constexpr int kRemoteAccessError = 10;
inline constexpr int kRemoteOperationError = 11;
inline constexpr int kRetryExceeded = 12;
inline constexpr int kReceiverNotReady = 13;

/// A peer that ended looks like this too, since its queue pair, receive requests and registered
/// memory went with it: others may know more.
constexpr bool peer_may_be_gone(int status) {
  return status == kRetryExceeded || status == kFlushed || status == kRemoteInvalidRequest ||
         status == kRemoteAccessError || status == kRemoteOperationError;
}

/// "IBV_WC_RETRY_EXC_ERR (12): peer unreachable: link down, ...".
std::string status_text(int status);

/// The events that code asks for by name.
inline constexpr int kQueueOverflow = 0;
inline constexpr int kQueuePairAccessError = 3;
inline constexpr int kDeviceFatal = 8;
inline constexpr int kPortActive = 9;
inline constexpr int kPortError = 10;

/// "IBV_EVENT_CQ_ERR (0): the completion queue overflowed: ...".
std::string event_text(int type);
/// Traffic has stopped for good. A port that goes down is none: it may come back within the
/// retries.
bool event_is_fatal(int type);

/// "Down", "Init", "Armed", "Active": the state of a port (IBV_PORT_*).
std::string port_state_text(int state);

/// Why a call fails with this errno in practice, after a colon; empty when nothing is known. Reads
/// this process's limit of locked memory where that is the cause.
std::string likely_cause(const std::string& call, int error);

}  // namespace busbw::real::verbs
