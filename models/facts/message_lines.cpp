// See message_lines.h. Sources of the shapes: PyTorch 1.13 to 2.9 (ProcessGroupNCCL.cpp, TCPStore,
// torchrun), Open MPI, Slurm, UCX, perftest, infiniband-diags, the Linux kernel and NVIDIA's
// driver.
#include "models/facts/message_lines.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "models/facts/line_pattern.h"
#include "models/facts/nccl_items.h"
#include "sim/core/text.h"

namespace busbw::facts {
namespace {

struct Shape {
  const char* kind;  // of the text
  const char* fact;
  const char* shape;
  Refine refine = nullptr;
};

std::vector<Fact> refine_work(std::string_view name, const std::vector<Fact::Field>& fields) {
  const std::string_view rest = fields.empty() ? std::string_view() : fields.back().second;
  Fact fact;
  fact.name = std::string(name);
  for (const auto& [field, key] : {std::pair<const char*, const char*>{"sequence", "SeqNum="},
                                   {"operation", "OpType="},
                                   {"elements", "NumelIn="},
                                   {"timeout_ms", "Timeout(ms)="}}) {
    std::string_view value = word_after(rest, key);
    value = value.substr(0, value.find(')'));
    fact.fields.emplace_back(field, value);
  }
  return {std::move(fact)};
}

/// Field `code` up to the first letter that is no digit.
std::vector<Fact> refine_code(std::string_view name, const std::vector<Fact::Field>& fields) {
  Fact fact;
  fact.name = std::string(name);
  for (const Fact::Field& one : fields) {
    if (one.first == "code") {
      const std::size_t end = one.second.find_first_not_of("0123456789");
      fact.fields = {{"code", one.second.substr(0, end)}};
    }
  }
  return {std::move(fact)};
}

const Shape kShapes[] = {
    {"NCCL log", "nccl.version", "...NCCL version {version}"},
    {"NCCL log", "nccl.family",
     "...connecting to address {address} with family {family} is neither"},
    {"NCCL log", "nccl.no_interface", "...Bootstrap : no socket interface found"},
    {"NCCL log", "nccl.completion", "...NET/IB : Got completion from peer {peer} with {rest}",
     refine_completion},
    {"NCCL log", "nccl.modify_qp", "...Call to ibv_modify_qp failed with {rest}", refine_modify_qp},
    {"NCCL log", "nccl.connect_failed", "...socketStartConnect: Connect to {peer} failed : {error}",
     refine_peer},
    {"NCCL log", "nccl.shm_failed", "...Error while creating shared memory segment {path}"},
    {"NCCL log", "nccl.duplicate_gpu", "...Duplicate GPU detected{rest}"},
    {"NCCL log", "nccl.closed", "...socketProgress: Connection closed by remote peer {peer}",
     refine_peer},
    {"NCCL log", "nccl.nvls_failed", "...Failed to bind NVLink SHARP{rest}"},
    {"nccl-tests", "nccl.cuda_not_ready", "...CUDA failure {rest}system not yet initialized"},
    {"CUDA", "nccl.cuda_not_ready", "...system not yet initialized{rest}"},
    {"CUDA", "nccl.cuda_not_ready", "...CUDA_ERROR_SYSTEM_NOT_READY{rest}"},
    {"systemctl", "smi.manager_down", "...nvidia-fabricmanager{rest}failed"},
    {"systemctl", "smi.manager_down", "...nvidia-fabricmanager{rest}inactive"},
    {"nccl-tests", "test.nccl_failure", "...Test NCCL failure {rest}"},
    {"nccl-tests", "test.cuda_failure", "...Test CUDA failure {rest}"},
    {"GIN", "verbs.completion12", "...TRANSPORT_RETRY_EXC_ERR"},
    // PyTorch.
    {"PyTorch", "pytorch.watchdog", "...Watchdog caught collective operation timeout{rest}",
     refine_work},
    {"PyTorch", "pytorch.error", "...ncclSystemError{rest}"},
    {"PyTorch", "pytorch.error", "...ncclRemoteError{rest}"},
    {"PyTorch", "pytorch.error", "...ncclInternalError{rest}"},
    {"PyTorch", "pytorch.error", "...ncclUnhandledCudaError{rest}"},
    {"PyTorch", "pytorch.rendezvous", "...The client socket has failed to connect to {peer}"},
    {"PyTorch", "pytorch.rendezvous", "...The client socket has timed out{rest}"},
    {"PyTorch", "pytorch.rendezvous", "...Timed out after {time} waiting for clients{rest}"},
    {"PyTorch", "pytorch.gloo", "...Gloo connectFullMesh failed{rest}"},
    {"PyTorch", "process.cuda_memory", "...CUDA out of memory{rest}"},
    {"PyTorch", "process.cuda_memory", "...OutOfMemoryError{rest}"},
    {"PyTorch", "process.died", "...(exitcode: -{code}) local_rank: {rank}"},
    {"PyTorch", "process.died", "...exitcode : -{code}"},
    {"PyTorch", "process.raised", "...Traceback (most recent call last){rest}"},
    {"PyTorch", "cuda.illegal", "...an illegal memory access was encountered{rest}"},
    {"PyTorch", "cuda.illegal", "...device-side assert triggered{rest}"},
    // Launchers.
    {"launcher", "process.died", "...Signal: Segmentation fault{rest}"},
    {"launcher", "process.died", "...exited on signal {code}"},
    {"launcher", "process.died", "...Segmentation fault (core dumped){rest}"},
    {"launcher", "process.died", "...died with <Signals.{code}>"},
    {"launcher", "process.died", "...terminated by signal {code}"},
    {"launcher", "process.bus_error", "...Bus error{rest}"},
    {"PyTorch", "process.bus_error", "...out of shared memory{rest}"},
    {"launcher", "process.killed", "...oom-kill event{rest}"},
    {"launcher", "process.killed", "...OOMKilled{rest}"},
    // Verbs, UCX, perftest.
    {"verbs", "verbs.memory", "...ibv_{call} failed: Cannot allocate memory"},
    {"verbs", "verbs.memory", "...RLIMIT_MEMLOCK is {limit} bytes"},
    {"verbs", "verbs.no_provider", "...no userspace device-specific driver{rest}"},
    {"verbs", "verbs.no_provider", "...couldn't load driver '{driver}'"},
    {"verbs", "verbs.completion12", "...Transport retry count exceeded{rest}"},
    {"verbs", "verbs.completion12", "...transport retry counter exceeded{rest}"},
    {"verbs", "verbs.completion12", "...Failed status 12{rest}"},
    {"ibv_devinfo", "verbs.no_devices", "Failed to get IB devices list{error}"},
    {"ibv_devinfo", "verbs.none_listed", "No IB devices found"},
    {"ibstatus", "verbs.no_devices", "Fatal error: No devices"},
    {"infiniband-diags", "fabric.no_sm", "...iberror: failed: query"},
    {"infiniband-diags", "fabric.no_sm", "...sminfo: failed{rest}"},
    {"ping", "ping.too_long", "...Frag needed and DF set{rest}"},
    {"ping", "ping.too_long", "...message too long, mtu{rest}"},
    {"ibstat", "verbs.no_devices", "...can't list infiniband devices"},
    {"ibstat", "verbs.no_devices", "...can't list IB device names{rest}"},
    {"lsmod", "host.no_module", "modprobe: FATAL: Module {module} not found{rest}"},
    // The kernel's log.
    {"kernel log", "gpu.xid", "...NVRM: Xid ({bus}): {code}", refine_code},
    {"kernel log", "gpu.fallen", "...GPU has fallen off the bus{rest}"},
    {"kernel log", "dmesg.iommu", "...DMAR: IOMMU enabled{rest}"},
    {"kernel log", "dmesg.iommu", "...AMD-Vi: Interrupt remapping enabled{rest}"},
    {"kernel log", "dmesg.iommu", "...iommu: Default domain type: Translated{rest}"},
    {"kernel log", "dmesg.iommu_fault", "...DMAR: [{fault}] Request device{rest}"},
    {"kernel log", "dmesg.iommu_fault", "...AMD-Vi: Event logged [IO_PAGE_FAULT{rest}"},
    {"kernel log", "dmesg.passthrough", "...iommu: Default domain type: Passthrough{rest}"},
    {"kernel log", "process.killed", "...Out of memory: Killed process {rest}"},
    {"kernel log", "process.killed", "...Memory cgroup out of memory{rest}"},
    {"kernel log", "process.died", "...segfault at {rest}"},
    {"kernel log", "dmesg.link_down", "...mlx5_core {bus}Link down"},
    {"kernel log", "dmesg.link_down", "...NIC Link is Down"},
    {"kernel log", "dmesg.pcie_limited", "...available PCIe bandwidth, limited by {limit} at"},
    {"kernel log", "dmesg.pcie_limited", "...available PCIe bandwidth ({limit} link)"},
    {"kernel log", "dmesg.pcie_error", "...PCIe Bus Error: severity={severity}"},
    {"kernel log", "dmesg.pcie_error", "...AER: {severity} error received{rest}"},
    {"kernel log", "dmesg.nvswitch", "...nvidia-nvswitch{rest}"},
};

}  // namespace

struct MessageReader::Table {
  struct Entry {
    std::string_view kind;
    std::string fact;
    LinePattern pattern;
    Refine refine;
    std::size_t slot;  // of its four letters
  };
  static constexpr std::size_t kSlots = 65'536;
  std::vector<Entry> entries;
  std::vector<bool> seen = std::vector<bool>(kSlots);  // four letters of each shape, hashed

  Table() {
    for (const Shape& shape : kShapes) {
      LinePattern pattern(shape.shape);
      const std::size_t here = slot(pattern.sample());
      seen[here] = true;
      entries.push_back({shape.kind, shape.fact, std::move(pattern), shape.refine, here});
    }
  }

  static std::size_t slot(std::string_view four) {
    std::size_t hash = 0;
    for (const char c : four) {
      hash = hash * 37 + static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    return hash % kSlots;
  }

  /// The shapes that may stand in the line, by their four letters, in the order of the table: none
  /// for most lines of a training log.
  [[nodiscard]] std::vector<std::size_t> candidates(std::string_view line) const {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at + LinePattern::kSample <= line.size(); at++) {
      const std::size_t here = slot(line.substr(at, LinePattern::kSample));
      if (!seen[here]) {
        continue;
      }
      for (std::size_t i = 0; i < entries.size(); i++) {
        if (entries[i].slot == here) {
          found.push_back(i);
        }
      }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }
};

MessageReader::MessageReader() : table_(std::make_unique<const Table>()) {}
MessageReader::~MessageReader() = default;

std::string_view MessageReader::read(std::string_view line, const std::string& host,
                                     const Location& where, FactStore& facts) {
  for (const std::size_t index : table_->candidates(line)) {
    const Table::Entry& entry = table_->entries[index];
    std::optional<std::vector<Fact::Field>> fields = entry.pattern.match(line);
    if (!fields) {
      continue;
    }
    std::vector<Fact> found;
    if (entry.refine != nullptr) {
      found = entry.refine(entry.fact, *fields);
    } else {
      found.emplace_back();
      found.back().name = entry.fact;
      found.back().fields = std::move(*fields);
    }
    for (Fact& fact : found) {
      fact.host = host;
      fact.where = where;
      facts.add(std::move(fact), line);
    }
    return entry.kind;
  }
  return {};
}

}  // namespace busbw::facts
