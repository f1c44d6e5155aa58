// See status.h.
#include "real/verbs/status.h"

#include <array>
#include <cerrno>
#include <sys/resource.h>

#include <fmt/format.h>

namespace busbw::real::verbs {
namespace {

struct StatusWords {
  const char* name;
  const char* cause;
};

// By number: IBV_WC_SUCCESS is 0.
constexpr std::array<StatusWords, 23> kStatuses = {{
    {"IBV_WC_SUCCESS", "done"},
    {"IBV_WC_LOC_LEN_ERR",
     "local length error: the message is longer than the receive buffer or than the port allows; "
     "the peer sends another byte count"},
    {"IBV_WC_LOC_QP_OP_ERR",
     "local QP operation error: inconsistent work request or driver fault; on soft-RoCE also a key "
     "of another protection domain, or no route to the peer"},
    {"IBV_WC_LOC_EEC_OP_ERR", "local EE context error: not used by reliable connections"},
    {"IBV_WC_LOC_PROT_ERR",
     "local protection error: the local buffer is not registered (any more) with this key or in "
     "this protection domain, or its memory is gone"},
    {"IBV_WC_WR_FLUSH_ERR",
     "flushed: the queue pair was in error already; look for the first other status on any rank"},
    {"IBV_WC_MW_BIND_ERR", "memory window bind error"},
    {"IBV_WC_BAD_RESP_ERR", "bad response from the peer: driver or firmware fault"},
    {"IBV_WC_LOC_ACCESS_ERR",
     "local access error: the peer wrote or read outside what this side registered"},
    {"IBV_WC_REM_INV_REQ_ERR",
     "the peer refuses the request as invalid: message longer than its receive buffer, or the peer "
     "ended and its queue pair was reused"},
    {"IBV_WC_REM_ACCESS_ERR",
     "the peer refuses the access: wrong rkey, range outside its registered memory, or memory "
     "freed there"},
    {"IBV_WC_REM_OP_ERR",
     "the peer could not complete the request: its buffer, PCIe or device failed"},
    {"IBV_WC_RETRY_EXC_ERR",
     "peer unreachable: link down, wrong GID index, another P_Key, QP time-out too short for the "
     "path (NCCL_IB_TIMEOUT), or the peer's queue pair is gone"},
    {"IBV_WC_RNR_RETRY_EXC_ERR",
     "receiver not ready: the peer posted no receive within the retries"},
    {"IBV_WC_LOC_RDD_VIOL_ERR", "local RDD violation: not used by reliable connections"},
    {"IBV_WC_REM_INV_RD_REQ_ERR", "remote invalid RD request: not used by reliable connections"},
    {"IBV_WC_REM_ABORT_ERR", "the peer aborted the operation"},
    {"IBV_WC_INV_EECN_ERR", "invalid EE context number: not used by reliable connections"},
    {"IBV_WC_INV_EEC_STATE_ERR", "invalid EE context state: not used by reliable connections"},
    {"IBV_WC_FATAL_ERR", "fatal device error: see the kernel log"},
    {"IBV_WC_RESP_TIMEOUT_ERR", "the peer's response timed out"},
    {"IBV_WC_GENERAL_ERR", "general error: driver or firmware; see the kernel log"},
    {"IBV_WC_TM_ERR", "tag matching error"},
}};

// By number: IBV_EVENT_CQ_ERR is 0.
struct EventWords {
  const char* name;
  bool fatal;
  const char* cause;
};
constexpr std::array<EventWords, 20> kEvents = {{
    {"IBV_EVENT_CQ_ERR", true,
     "the completion queue overflowed: more completions came than it has entries"},
    {"IBV_EVENT_QP_FATAL", true, "the queue pair failed: driver or device"},
    {"IBV_EVENT_QP_REQ_ERR", true, "the peer sent a request that this side does not admit"},
    {"IBV_EVENT_QP_ACCESS_ERR", true,
     "the peer used a wrong rkey, or wrote or read outside what this side registered"},
    {"IBV_EVENT_COMM_EST", false, "the first packet came before the queue pair was ready to send"},
    {"IBV_EVENT_SQ_DRAINED", false, "the send queue is drained"},
    {"IBV_EVENT_PATH_MIG", false, "the connection has moved to its other path"},
    {"IBV_EVENT_PATH_MIG_ERR", false, "the connection could not move to its other path"},
    {"IBV_EVENT_DEVICE_FATAL", true, "the device failed: see the kernel log"},
    {"IBV_EVENT_PORT_ACTIVE", false, "the link came up"},
    {"IBV_EVENT_PORT_ERR", false, "the link went down"},
    {"IBV_EVENT_LID_CHANGE", false, "the LID of the port changed"},
    {"IBV_EVENT_PKEY_CHANGE", false, "the P_Key table of the port changed"},
    {"IBV_EVENT_SM_CHANGE", false, "another subnet manager"},
    {"IBV_EVENT_SRQ_ERR", true, "the shared receive queue failed: driver or device"},
    {"IBV_EVENT_SRQ_LIMIT_REACHED", false, "few receives are left in the shared receive queue"},
    {"IBV_EVENT_QP_LAST_WQE_REACHED", false, "the queue pair takes no more of the shared queue"},
    {"IBV_EVENT_CLIENT_REREGISTER", false, "the subnet manager asks to register again"},
    {"IBV_EVENT_GID_CHANGE", false, "the GID table of the port changed: an address came or went"},
    {"IBV_EVENT_WQ_FATAL", true, "a receive work queue failed: driver or device"},
}};

struct Cause {
  const char* call;  // start of the call's name
  int error;
  const char* text;
};

/// The limit of locked memory is put in.
constexpr const char* kMemlock =
    "the locked-memory limit is too low (ulimit -l: {}; needs unlimited or CAP_IPC_LOCK), or the "
    "device has none left";

std::string memory_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
    return "unknown";
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{}", limit.rlim_cur / 1024);
}
constexpr std::array kCauses = {
    Cause{"ibv_reg_mr", ENOMEM, kMemlock},
    Cause{"ibv_reg_mr", EFAULT, "the range is not mapped memory that can be pinned"},
    Cause{"ibv_create_cq", ENOMEM, kMemlock},
    Cause{"ibv_create_qp", ENOMEM, kMemlock},
    Cause{"ibv_create_srq", ENOMEM, kMemlock},
    Cause{"ibv_create_cq", EINVAL, "more entries than the device allows"},
    Cause{"ibv_create_qp", EINVAL, "queues deeper or inline data larger than the device allows"},
    Cause{"ibv_open_device", EACCES, "no permission for /dev/infiniband/uverbs*"},
    Cause{"ibv_open_device", EPERM, "no permission for /dev/infiniband/uverbs*"},
    Cause{"ibv_get_device_list", ENOSYS, "the kernel has no RDMA (module ib_uverbs not loaded)"},
    Cause{"ibv_modify_qp", ETIMEDOUT,
          "the peer's GID did not resolve to a hardware address: link down, wrong GID index, VLAN "
          "or subnet"},
    Cause{"ibv_modify_qp", EINVAL,
          "empty or foreign GID table entry, GID types that differ, or an MTU that the port lacks"},
    Cause{"ibv_modify_qp", ENETUNREACH, "no route to the peer's GID"},
    Cause{"ibv_modify_qp", EHOSTUNREACH, "no route to the peer's GID"},
    Cause{"ibv_modify_qp", ENODEV, "the GID table entry has no network interface"},
    Cause{"ibv_query_gid", EINVAL, "the GID index is beyond the table of the port"},
    Cause{"ibv_query_gid", ENODATA, "the GID table entry is empty"},
    Cause{"ibv_query_pkey", EINVAL, "the P_Key index is beyond the table of the port"},
    Cause{"ibv_query_pkey", ENOENT, "the P_Key index is beyond the table of the port"},
    Cause{"ibv_post_send", ENOMEM, "the send queue is full"},
    Cause{"ibv_post_recv", ENOMEM, "the receive queue is full"},
    Cause{"ibv_post_srq_recv", ENOMEM, "the shared receive queue is full"},
};

}  // namespace

std::string status_text(int status) {
  if (status < 0 || static_cast<std::size_t>(status) >= kStatuses.size())
    return fmt::format("work completion status {}", status);
  const StatusWords& words = kStatuses.at(static_cast<std::size_t>(status));
  return fmt::format("{} ({}): {}", words.name, status, words.cause);
}

std::string event_text(int type) {
  if (type < 0 || static_cast<std::size_t>(type) >= kEvents.size())
    return fmt::format("event {}", type);
  const EventWords& words = kEvents.at(static_cast<std::size_t>(type));
  return fmt::format("{} ({}): {}", words.name, type, words.cause);
}

bool event_is_fatal(int type) {
  return type >= 0 && static_cast<std::size_t>(type) < kEvents.size() &&
         kEvents.at(static_cast<std::size_t>(type)).fatal;
}

std::string port_state_text(int state) {
  constexpr std::array<const char*, 6> kStates = {"in no state", "Down",   "Init",
                                                  "Armed",       "Active", "Active but deferred"};
  return state >= 0 && static_cast<std::size_t>(state) < kStates.size()
             ? kStates.at(static_cast<std::size_t>(state))
             : fmt::format("in state {}", state);
}

std::string likely_cause(const std::string& call, int error) {
  for (const Cause& cause : kCauses) {
    if (cause.error == error && call.rfind(cause.call, 0) == 0)
      return cause.text == kMemlock ? fmt::format(kMemlock, memory_limit()) : cause.text;
  }
  return "";
}

}  // namespace busbw::real::verbs
