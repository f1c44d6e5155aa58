// Rules on GPUs, NVLink and the choice of algorithms.
#include <iterator>

#include "models/diagnosis/rule.h"

namespace busbw::diagnosis {
namespace {

const Rule kRules[] = {
    {"fabric_manager",
     Layer::kPhysical,
     "NVSwitch is not set up: the fabric manager is not running, has another version than the "
     "driver, or was restarted under running processes",
     {"systemctl enable --now nvidia-fabricmanager   # of the driver's version",
      "stop all GPU processes, restart it, nvidia-smi -r, or reboot",
      {"export NCCL_NVLS_ENABLE=0   # stopgap where only multicast fails",
       "nccl.nvls_failed & !nccl.cuda_not_ready & !is.fabric_not_ready & !smi.manager_down & "
       "!nccl.p2p_nvlink"}},
     "`nvidia-smi -q | grep -A 2 Fabric`: State must be Completed, Status Success",
     "all",
     "NVIDIA Fabric Manager user guide; CUDA error 802",
     {{7, "nccl.cuda_not_ready", "CUDA waits for the fabric"},
      {6, "nccl.nvls_failed", "multicast of NVSwitch cannot be set up"},
      {5, "is.fabric_not_ready", "the fabric is not ready"},
      {6, "smi.manager_down", "the fabric manager is not running"},
      {3, "nccl.p2p_nvlink", "GPUs with NVLink may not reach each other"},
      {-3, "is.acs_on", "ACS may be the reason"}}},
    {"nvlink_down",
     Layer::kPhysical,
     "link {link} of GPU {gpu} is inactive while others work",
     {"nvidia-smi nvlink -e; dmesg | grep Xid", "reset the GPU or reboot; then the vendor"},
     "`nvidia-smi nvlink -s` on an equal machine: as many links",
     "all",
     "nvidia-smi nvlink",
     {{3, "is.nvlink_inactive", "an inactive link beside active ones"}}},
    {"gpu_xid",
     Layer::kPhysical,
     "the driver reported Xid {code}: the GPU or its link failed, and ranks on it stopped",
     {"drain the node; nvidia-smi -q; the code is explained in NVIDIA's Xid catalog"},
     "time of the Xid against the first error of the job",
     "all",
     "NVIDIA, XID errors",
     {{6, "gpu.xid code=79", "the GPU fell off the bus"},
      {6, "gpu.fallen", "the GPU fell off the bus"},
      {5, "gpu.xid code=48", "uncorrectable memory error"},
      {5, "gpu.xid code=74", "NVLink error"},
      {5, "gpu.xid code=94", "contained memory error"},
      {5, "gpu.xid code=95", "uncontained memory error"},
      {3, "gpu.xid", "an error of the GPU"}}},
    {"duplicate_gpu",
     Layer::kFramework,
     "two ranks use the same GPU",
     {"torch.cuda.set_device(local_rank)   # before init_process_group",
      "one GPU a rank in CUDA_VISIBLE_DEVICES or the launcher"},
     "which device each rank prints",
     "all",
     "NCCL 2.18 to 2.30, src/init.cc",
     {{7, "nccl.duplicate_gpu", "NCCL says so"}}},
    {"no_transport",
     Layer::kCollective,
     "peer access, shared memory and network are all switched off or impossible between two ranks",
     {"unset NCCL_P2P_DISABLE NCCL_SHM_DISABLE NCCL_NET_DISABLE_INTRA",
      "one of peer access, /dev/shm and the network must be left between any two ranks"},
     "which of these variables is set",
     "all",
     "NCCL 2.18 to 2.30, src/transport.cc",
     {{7, "nccl.no_transport", "NCCL says so"}}},
    {"gpu_memory",
     Layer::kFramework,
     "the GPU has no memory left for NCCL's buffers",
     {"leave 1 to 2 GB free; fewer communicators",
      "# NCCL_BUFFSIZE=2097152 halves the buffers: enough only where little is missing"},
     "`nvidia-smi` at the time of the error",
     "all",
     "NCCL 2.18 to 2.30, src/include/alloc.h",
     {{6, "nccl.cuda_memory", "CUDA is out of memory"}}},
    {"cuda_failure",
     Layer::kFramework,
     "a call of CUDA failed inside NCCL; the error often comes from an earlier kernel of the "
     "program",
     {"CUDA_LAUNCH_BLOCKING=1   # names the kernel that failed", "compute-sanitizer <program>"},
     "the first CUDA error of all ranks",
     "all",
     "NCCL 2.18 to 2.30, src/include/checks.h",
     {{3, "nccl.cuda_failure & !nccl.nvls_failed & !nccl.cuda_memory", "CUDA failed"},
      {3, "cuda.illegal", "a kernel of the program failed"}}},
    {"algo_choice",
     Layer::kCollective,
     "the algorithm that is used does not fit: the search found no good graph, or the one that the "
     "tuning counts on is switched off",
     {{"unset NCCL_NVLS_ENABLE NCCL_ALGO NCCL_PROTO",
       "!nccl.no_path & !nccl.no_net_node & !nccl.ring_loop"},
      "compare NCCL_ALGO=Ring with NCCL_ALGO=Tree, and this release with the one before; "
      "NCCL_DEBUG_SUBSYS=GRAPH,TUNING"},
     "the same run with NCCL_ALGO=Ring and =Tree: very different confirms it",
     "2.18 and newer",
     "NCCL 2.18 to 2.30, src/graph/search.cc, tuning.cc",
     {{5, "nccl.no_path", "the search found no path and took the simple order"},
      {2, "nccl.no_net_node", "a NIC of the graph does not exist"},
      {2, "var name=NCCL_NVLS_ENABLE value=0", "reduction in NVSwitch is switched off"},
      {2, "var name=NCCL_ALGO", "the algorithm is forced"},
      {1, "nccl.ring_loop", "rings do not close"}},
     Proof::kElsewhere},
};

}  // namespace

std::vector<Rule> gpu_rules() {
  return {std::begin(kRules), std::end(kRules)};
}

}  // namespace busbw::diagnosis
