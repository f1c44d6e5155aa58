// Rules on the job: slow nodes, processes that died, time-outs as what they are: symptoms.
#include <iterator>

#include "models/diagnosis/rule.h"

namespace busbw::diagnosis {
namespace {

const Rule kRules[] = {
    {"slow_node",
     Layer::kPhysical,
     "{slow} is slow with every partner ({value} against {others}); the others are cleared by "
     "pairs "
     "of their own",
     {"take {slow} out of the job",
      "compare PCIe width, NIC rate, BIOS and clocks of {slow} with its neighbours"},
     "{slow} with a partner that is fast in another pair",
     "all",
     "NVIDIA/nccl-tests, doc/PERFORMANCE.md",
     {{6, "is.slow_host", "slow with a partner that is fast with others"}}},
    {"job_does_not_run",
     Layer::kCollective,
     "NCCL would not start the job on these nodes ({outcome}): {error}",
     {"see the findings below, and `busbw run` for every rule that NCCL follows"},
     "`busbw preflight` after the change",
     "as asked for",
     "NCCL 2.18 to 2.30, src/bootstrap.cc, src/net.cc",
     {{6, "preflight.outcome", "predicted from the nodes and the environment"}}},
    {"rank_crashed",
     Layer::kFramework,
     "a process of the job died; the other ranks wait for it until they time out",
     {"find the first error of all ranks: core file, dmesg (oom-kill, segfault), log of the "
      "launcher"},
     "which rank stopped first, and its last lines",
     "all",
     "PyTorch, torchrun; Linux",
     {{6, "process.died", "a process ended by a signal"},
      {6, "process.killed", "the kernel killed a process"},
      {3, "process.bus_error", "a process ended by a bus error"},
      {4, "process.cuda_memory", "a process ran out of GPU memory"},
      {2, "process.raised & pytorch.watchdog", "an exception beside the time-out"},
      {3, "nccl.closed", "a peer closed its connection"},
      {-2, "nccl.completion", "the network failed too"}}},
    {"collective_desync",
     Layer::kFramework,
     "ranks wait in different collectives: the program took different ways, or one rank is a step "
     "behind",
     {"TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1   # the flight recorder",
      "TORCH_DISTRIBUTED_DEBUG=DETAIL"},
     "the last collective that each rank entered",
     "PyTorch",
     "PyTorch, ProcessGroupNCCL.cpp",
     {{6, "is.works_differ", "different collectives time out"},
      {3, "nccl.ranks_disagree", "ranks disagree on the communicator"},
      {4, "nccl.net_truncated", "the ends of a connection disagree on the collective's size"},
      {2, "nccl.truncated", "messages have different lengths"}}},
    {"rendezvous_failed",
     Layer::kFramework,
     "the processes do not find each other before NCCL starts: MASTER_ADDR and MASTER_PORT, not "
     "NCCL's interfaces",
     {"nc -zv $MASTER_ADDR $MASTER_PORT   # from each node"},
     "does MASTER_ADDR resolve to the same reachable address on all nodes",
     "PyTorch",
     "PyTorch, TCPStore",
     {{5, "pytorch.rendezvous & !nccl.log", "the store was not reached"},
      {2, "pytorch.rendezvous & nccl.log", "the store was not reached"},
      {4, "pytorch.gloo", "Gloo found no way; GLOO_SOCKET_IFNAME is its own variable"}}},
    {"ibstat_contradiction",
     Layer::kPhysical,
     "{text}",
     {"run ibstat again on {hca}; only an unedited output of one time can be trusted"},
     "`ibstat {hca}` once more",
     "all",
     "InfiniBand Architecture Specification, volume 1, port state machines",
     {{2, "rdma.contradiction", "two states that cannot hold together"}}},
    {"busbw_is_algbw",
     Layer::kCollective,
     "algbw and busbw are printed equal ({busbw} GB/s): for an all-reduce of n ranks busbw is "
     "algbw x "
     "2(n-1)/n, so one of them is not what nccl-tests prints, or the test is a broadcast, a reduce "
     "or "
     "send and receive",
     {"take the time of the row: size / time is algbw"},
     "the unedited table of nccl-tests",
     "all",
     "NVIDIA/nccl-tests, doc/PERFORMANCE.md",
     {{1, "is.busbw_is_algbw", "equal bandwidths"}}},
    {"stray_connection",
     Layer::kCollective,
     "something that is not this job connected to NCCL's port (a scanner, another job)",
     {"keep scanners off the nodes; a NCCL_COMM_ID of its own for each job"},
     "who connects: `ss -tnp` during start-up",
     "all",
     "NCCL 2.18 to 2.30, src/misc/socket.cc",
     {{3, "nccl.wrong_magic", "a message without NCCL's mark"}}},
    {"collective_timeout",
     Layer::kFramework,
     "a collective did not end in its time: a symptom. One rank is missing or the network between "
     "two is broken, and the files do not say which",
     {"NCCL_DEBUG=INFO on all ranks; look for the first error, not the last",
      "order: did a process die (framework), which rank is missing (collective), errors of verbs "
      "or "
      "sockets (protocol), ibstat and ib_write_bw (physical)"},
     "logs of all ranks: which one has no time-out of its own",
     "all",
     "PyTorch, ProcessGroupNCCL.cpp",
     {{3, "pytorch.watchdog", "the watchdog's message"},
      {1, "is.rank_not_complete", "a rank that started is not ready"},
      {3, "pytorch.error", "the process group failed"},
      {3, "test.nccl_failure", "the test failed"},
      {3, "test.cuda_failure", "the test failed"}},
     Proof::kSymptom},
};

}  // namespace

std::vector<Rule> job_rules() {
  return {std::begin(kRules), std::end(kRules)};
}

}  // namespace busbw::diagnosis
