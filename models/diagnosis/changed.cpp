// See changed.h. Which decision a variable bears on comes from the model's list of variables
// (models/nccl/variables.h); what a log shows of each decision stands here.
#include "models/diagnosis/changed.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "models/diagnosis/derive.h"
#include "models/nccl/variables.h"
#include "sim/core/text.h"

namespace busbw::diagnosis {
namespace {

using facts::Fact;
using facts::FactStore;
using nccl::VariableChange;

/// What an old run showed, by the decision that it follows from.
enum Shown : unsigned {
  kInterfaces = 1,   // of bootstrap, sockets, out-of-band connections, and their failures
  kNetwork = 2,      // IB, Socket or a plugin, its devices, connections between nodes
  kDevicesSeen = 4,  // that no device was found or could be used
  kPlugin = 8,       // errors of a plugin that is loaded
  kQueuePairs = 16,  // how they are set up, and whether they work
  kCounters = 32,    // of ports
  kGpuPaths = 64,    // between GPUs, and between GPUs and NICs
  kSharedMemory = 128,
  kGraphs = 256,  // topology as NCCL sees it, patterns, rings
  kTopologyFile = 512,
  kAlgorithm = 1024,
  kMulticast = 2048,  // of NVSwitch
  kResults = 4096,    // what was measured, and how the run ended
  kSocketThreads = 8192,
  kRegistration = 16384,  // of memory with the plugin
};

struct ShownBy {
  const char* fact;  // all names that begin so
  unsigned shown;
};

// A fact that stands here is dropped when one of its decisions is made anew.
constexpr ShownBy kShownBy[] = {
    {"nccl.bootstrap", kInterfaces},
    {"nccl.oob", kInterfaces | kNetwork},
    {"nccl.socket_device", kInterfaces | kNetwork},
    {"nccl.socket_count", kInterfaces | kNetwork},
    {"nccl.no_interface", kInterfaces},
    {"nccl.connect_", kInterfaces},
    {"nccl.family", kInterfaces},
    {"nccl.network", kInterfaces | kNetwork},
    {"nccl.hca", kInterfaces | kNetwork},
    {"nccl.no_ib_device", kDevicesSeen},
    {"nccl.net_not_found", kNetwork},
    {"nccl.net_failed", kNetwork},
    {"nccl.net_counts", kNetwork},
    {"nccl.wrong_type", kNetwork},
    {"nccl.incompatible_links", kNetwork},
    {"nccl.no_plugin", kPlugin},
    {"nccl.plugin", kPlugin},  // and nccl.plugin_load, nccl.plugin_completion ...
    {"nccl.modify_qp", kNetwork | kQueuePairs},
    {"nccl.completion", kNetwork | kQueuePairs},
    {"nccl.qp_gid", kNetwork | kQueuePairs},
    {"nccl.plain_qp", kNetwork | kQueuePairs},
    {"nccl.roce_version", kNetwork | kQueuePairs},
    {"verbs.completion12", kQueuePairs},
    {"nccl.rail_crossed", kGraphs},
    {"counter", kCounters},
    {"nccl.no_transport", kGpuPaths},
    {"nccl.p2p_nvlink", kGpuPaths},
    {"nccl.gdr", kGpuPaths},
    {"nccl.shm_", kSharedMemory},
    {"nccl.system", kGraphs},
    {"nccl.pattern", kGraphs},
    {"nccl.topology_link", kGraphs},
    {"nccl.no_path", kGraphs},
    {"nccl.no_net_node", kGraphs},
    {"nccl.rings", kGraphs},
    {"nccl.ring_loop", kGraphs},
    {"nccl.topology_error", kTopologyFile},
    {"topology.", kTopologyFile},
    {"nccl.no_algorithm", kAlgorithm},
    {"nccl.nvls_failed", kMulticast},
    {"nccl.socket_threads", kSocketThreads},
    {"test.row", kResults},
    {"test.average", kResults},
    {"nccl.net_truncated", kResults},
    {"nccl.truncated", kResults},
    {"nccl.closed", kResults},
    {"pytorch.watchdog", kResults},
    {"pytorch.error", kResults},
    {"test.nccl_failure", kResults},
    {"test.cuda_failure", kResults},
};

constexpr unsigned kSelection = kNetwork | kDevicesSeen | kQueuePairs | kResults;

/// What variables bear on beyond their entry in the model's list.
struct BearsOn {
  const char* variable;
  unsigned shown;
};
constexpr BearsOn kBearsOn[] = {
    {"FI_EFA_SET_CUDA_SYNC_MEMOPS", kRegistration | kResults},
    {"NCCL_CROSS_NIC", kGraphs | kQueuePairs | kResults},
    {"NCCL_CUMEM_HOST_ENABLE", kSharedMemory | kResults},
    {"NCCL_IB_ADDR_FAMILY", kQueuePairs | kResults},
    {"NCCL_IB_ADDR_RANGE", kQueuePairs | kResults},
    {"NCCL_IB_GID_INDEX", kQueuePairs | kResults},
    {"NCCL_IB_PKEY", kQueuePairs | kResults},
    {"NCCL_IB_QPS_PER_CONNECTION", kCounters | kResults},
    {"NCCL_IB_ROCE_VERSION_NUM", kQueuePairs | kResults},
    {"NCCL_IB_SL", kQueuePairs | kCounters | kResults},
    {"NCCL_IB_SUBNET_AWARE_ROUTING", kQueuePairs | kResults},
    {"NCCL_IB_TC", kQueuePairs | kCounters | kResults},
    {"NCCL_NET_PLUGIN", kPlugin | kRegistration},
    {"NCCL_NSOCKS_PERTHREAD", kSocketThreads | kResults},
    {"NCCL_NVLS_ENABLE", kMulticast | kAlgorithm},
    {"NCCL_P2P_DISABLE", kSharedMemory},
    {"NCCL_PXN_DISABLE", kGraphs | kQueuePairs | kResults},
    {"NCCL_SHM_DISABLE", kSharedMemory},
    {"NCCL_SOCKET_NTHREADS", kSocketThreads | kResults},
    {"NCCL_TOPO_FILE", kTopologyFile | kGraphs | kGpuPaths | kResults},
};

unsigned of_decision(VariableChange change) {
  switch (change) {
    case VariableChange::kNothing:
    case VariableChange::kLog:
      return 0;
    case VariableChange::kBootstrap:
      return kInterfaces | kResults;
    case VariableChange::kNetwork:
    case VariableChange::kDevices:
      return kSelection;
    case VariableChange::kPathTypes:
      return kGpuPaths | kGraphs | kResults;
    case VariableChange::kGraphs:
      return kGraphs | kResults;
    case VariableChange::kAlgorithm:
    case VariableChange::kProtocol:
      return kAlgorithm | kResults;
    case VariableChange::kChannels:
    case VariableChange::kChunk:
    case VariableChange::kThreads:
      return kResults;
  }
  return 0;
}

unsigned bears_on(const std::string& variable) {
  const nccl::Variable* known = nccl::find_variable(variable);
  unsigned shown = known == nullptr ? 0U : of_decision(known->changes);
  for (const BearsOn& one : kBearsOn) {
    shown |= variable == one.variable ? one.shown : 0U;
  }
  return shown;
}

/// Between nodes a connection shows the network and its devices, inside one the ways of GPUs.
unsigned shown_by(const Fact& fact) {
  if (fact.name == "nccl.channel") {
    return fact.get("way") == "NET" ? kInterfaces | kNetwork | kGraphs | kGpuPaths : kGpuPaths;
  }
  if (fact.name == "nccl.gdr_module" || fact.name == "nccl.gdr_socket") {
    return 0;  // of the host: is the module loaded
  }
  unsigned shown = fact.name == "nccl.plugin_error" && !fact.get("memory").empty()
                       ? static_cast<unsigned>(kRegistration)
                       : 0U;
  for (const ShownBy& one : kShownBy) {
    shown |= fact.name.rfind(one.fact, 0) == 0 ? one.shown : 0U;
  }
  return shown;
}

bool is_setting_of(const Fact& fact, std::string_view variable) {
  return (fact.name == "env" || fact.name == "nccl.env") && fact.get("name") == variable;
}

/// "0", or "2 (1 up to 2.19)", whose history is not looked at: only a default that never changed.
bool is_default(const std::string& variable, const std::string& value) {
  const nccl::Variable* known = nccl::find_variable(variable);
  return known != nullptr && known->initial == value;
}

bool has_effect(const FactStore& store, const Change& change) {
  if (!is_read(store, change.name)) {
    return false;
  }
  bool set = false;
  bool other = false;
  for (const Fact& fact : store.all()) {
    if (is_setting_of(fact, change.name)) {
      set = true;
      other = other || fact.get("value") != change.value.value_or("");
    }
  }
  if (!set) {
    return !change.value || !is_default(change.name, *change.value);
  }
  return !change.value || other;
}

}  // namespace

Changed with_changes(const FactStore& store, const std::vector<Change>& changes) {
  Changed result;
  unsigned anew = 0;
  for (const Change& change : changes) {
    anew |= has_effect(store, change) ? bears_on(change.name) : 0U;
  }
  result.selects_anew = (anew & (kInterfaces | kNetwork)) != 0;
  const Fact* between_nodes = nullptr;
  for (const Fact& fact : store.all()) {
    const bool replaced = std::any_of(changes.begin(), changes.end(), [&](const Change& change) {
      return is_setting_of(fact, change.name);
    });
    if (replaced) {
      continue;
    }
    if ((shown_by(fact) & anew) == 0) {
      result.store.add(fact);
    } else if (fact.name == "nccl.channel" && fact.get("way") == "NET") {
      between_nodes = &fact;
    }
  }
  if (between_nodes != nullptr) {  // that the job has several nodes stays true
    conclude(result.store, *between_nodes, "nccl.nodes", {{"nodes", "2"}});
  }
  for (const Change& change : changes) {
    if (change.value) {
      Fact fact;
      fact.name = "env";
      fact.where = {"the change", 1, 1};
      fact.line = change.name + '=' + *change.value;
      fact.fields = {{"name", change.name}, {"value", *change.value}};
      result.store.add(std::move(fact));
    }
  }
  return result;
}

}  // namespace busbw::diagnosis
