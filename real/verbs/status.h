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
inline constexpr int kRetryExceeded = 12;
inline constexpr int kReceiverNotReady = 13;

/// A peer that ended looks like this too, since its queue pair and its registered memory went with
/// it: others may know more.
constexpr bool peer_may_be_gone(int status) {
  return status == kRetryExceeded || status == kFlushed || status == kRemoteInvalidRequest ||
         status == kRemoteAccessError;
}

/// "IBV_WC_RETRY_EXC_ERR (12): peer unreachable: link down, ...".
std::string status_text(int status);

/// Why a call fails with this errno in practice, after a colon; empty when nothing is known.
std::string likely_cause(const std::string& call, int error);

}  // namespace busbw::real::verbs
