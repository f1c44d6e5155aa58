// One thing broken on purpose, on whatever devices there are: to see, and to test, what a failure
// looks like.
//
// Everything is passed on to another Api but for the fault. busbw-rank takes one from the variable
// BUSBW_FAULT; nothing else does. Errors of single calls are the business of a fake, not of this.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "real/verbs/api.h"

namespace busbw::real::verbs {

enum class FaultKind {
  kWrongKey,        // a WRITE or READ carries an rkey that the peer did not give
  kForeignDomain,   // a request names local memory by its key in another protection domain
  kQueuePairError,  // the queue pair goes into the ERROR state before a request is posted
  kQueueOverflow,   // the completion queue has one entry, and is not polled for a second
  kKill             // the process is killed before a request is posted
};

struct Fault {
  FaultKind kind = FaultKind::kWrongKey;
  std::int64_t at = 1;  // the n-th posted request that it can hit; kQueueOverflow: no matter
};

/// A fault and the rank that it hits.
struct RankFault {
  std::int32_t rank = 0;
  Fault fault;
};
/// "RANK:KIND" or "RANK:KIND:N", KIND wrong-rkey, foreign-pd, qp-error, cq-overflow or kill. Throws
/// InputError for other text.
RankFault parse_fault(const std::string& text);

/// `api` with the fault. Frees what the fault made with the queue pair that it hit.
std::shared_ptr<Api> with_fault(std::shared_ptr<Api> api, const Fault& fault);

}  // namespace busbw::real::verbs
