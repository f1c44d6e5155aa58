// Rules on the host: PCIe, IOMMU, shared memory, NUMA.
#include <iterator>

#include "models/diagnosis/rule.h"

namespace busbw::diagnosis {
namespace {

const Rule kRules[] = {
    {"acs_iommu",
     Layer::kPhysical,
     "PCIe peer-to-peer traffic (GPU to GPU, GPU to NIC) is redirected or translated by Access "
     "Control Services or the IOMMU: it fails, hangs or loses half its bandwidth",
     {"for d in $(lspci -d '*:*:*' | cut -d' ' -f1); do setpci -s $d ECAP_ACS+6.w=0000; done   # "
      "after each boot, or off in the BIOS",
      "iommu=pt (or intel_iommu=off, amd_iommu=off) on the kernel command line"},
     "`lspci -vvv | grep ACSCtl` (ReqRedir+ confirms it) and `dmesg | grep -i iommu`; "
     "NCCL_P2P_DISABLE=1 or NCCL_NET_GDR_LEVEL=LOC makes it work",
     "all",
     "NVIDIA NCCL user guide, troubleshooting: PCI Access Control Services",
     {{4, "nccl.completion status=4", "the HCA could not reach the memory"},
      {1, "nccl.completion status=4 vendor=81", "as a fault of the memory's protection"},
      {2, "nccl.completion status=11", "the peer's HCA could not reach its memory"},
      {2, "nccl.completion status=10", "the peer's HCA was not let at its memory"},
      {3, "is.acs_on", "requests between devices are redirected"},
      {1, "pci.acs valid=yes & !is.acs_on", "ACS is on in part"},
      {2, "is.iommu_on", "the IOMMU translates"},
      {3, "nccl.iommu_missing", "RCCL says so"},
      {3, "dmesg.iommu_fault", "the IOMMU refused an access"},
      {1, "is.p2p_pcie & is.iommu_default", "the kernel's default may translate"},
      {1, "is.p2p_pcie", "GPUs reach each other over PCIe"},
      {1, "is.shm_channels & is.few_numa", "GPUs do not reach each other directly"}}},
    {"p2p_broken",
     Layer::kPhysical,
     "the driver reports peer access between GPUs that does not work on this system",
     {"export NCCL_P2P_DISABLE=1   # stopgap: through host memory",
      "p2pBandwidthLatencyTest; simpleP2P of the CUDA samples"},
     "simpleP2P of the CUDA samples: an error there confirms it",
     "all",
     "NVIDIA CUDA samples",
     {{1, "is.p2p_pcie", "GPUs reach each other over PCIe"}},
     Proof::kElsewhere},
    {"pcie_downgraded",
     Layer::kPhysical,
     "{device} runs with {width} of {max} lanes: its bandwidth falls with them",
     {"reseat the card or riser; check the slot's wiring and bifurcation in the BIOS",
      "lspci -vv -s {device} | grep -e LnkCap -e LnkSta"},
     "LnkSta under load: a width below LnkCap confirms it (a lower speed alone may be power "
     "saving)",
     "all",
     "PCI Express Base Specification, link training; lspci(8)",
     {{4, "is.pcie_narrow", "fewer lanes than the device has"},
      {4, "dmesg.pcie_limited", "the kernel says that the slot limits the device"},
      {2, "dmesg.pcie_error", "errors on the bus"},
      {1, "is.tiny_bandwidth & !var name=NCCL_TOPO_FILE", "NCCL sees a very slow link"}}},
    {"shm_size",
     Layer::kProtocol,
     "/dev/shm is too small for NCCL's buffers: Docker gives 64 MiB unless told",
     {"docker run --shm-size=1g ...   # or --ipc=host",
      "an emptyDir with medium: Memory on /dev/shm   # Kubernetes",
      "export NCCL_CUMEM_HOST_ENABLE=1   # 2.23 and newer: without /dev/shm"},
     "`df -h /dev/shm` inside the container during the run",
     "all",
     "NVIDIA NCCL user guide, troubleshooting: shared memory",
     {{6, "nccl.shm_failed", "a segment could not be made"},
      {4, "process.bus_error & !is.shm_unused",
       "memory that is mapped but not there, as of a full /dev/shm"},
      {2, "is.shm_small", "it is small"},
      {2, "is.shm_full", "it is full"}}},
    {"shm_namespace",
     Layer::kProtocol,
     "a segment of /dev/shm that another rank made is not there: containers of one host name with "
     "a /dev/shm each",
     {"docker run --ipc=host ...", "a host name of its own for each container"},
     "`df /dev/shm` in both containers",
     "all",
     "NCCL 2.18 to 2.30, src/misc/shmutils.cc",
     {{5, "nccl.shm_attach & !nccl.shm_failed", "a segment could not be opened"}}},
    {"numa_affinity",
     Layer::kPhysical,
     "GPUs, NICs and memory sit on different NUMA nodes, or the BIOS hides the nodes: traffic "
     "crosses the link between the sockets",
     {"NPS4 (AMD) or SNC (Intel) in the BIOS where the vendor recommends it",
      "numactl --cpunodebind=<node of the GPU> ...",
      "move NICs to the sockets of the GPUs that use them"},
     "`nvidia-smi topo -m`: SYS between a GPU and the NIC it uses; `lscpu`: one node for each "
     "socket or more",
     "all",
     "AMD and NVIDIA tuning guides",
     {{2, "is.few_numa & is.shm_channels",
       "data between GPUs goes through host memory of one NUMA node a socket"},
      {1, "is.far_nics", "a GPU whose NICs are all behind the other socket"},
      {2, "is.all_nics_far & is.rdma_data", "every GPU is far from every NIC that NCCL uses"},
      {2, "is.gdr_distance & !is.vm_bus", "GPU and NIC are far apart"}},
     Proof::kElsewhere},
};

}  // namespace

std::vector<Rule> host_rules() {
  return {std::begin(kRules), std::end(kRules)};
}

}  // namespace busbw::diagnosis
