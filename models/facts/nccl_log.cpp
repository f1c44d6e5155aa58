// See nccl_log.h. The table holds the literal core of what NCCL prints; sources: NCCL 2.4 to 2.30
// (src/init.cc, bootstrap.cc, misc/socket.cc, misc/shmutils.cc, misc/ibvwrap.cc, transport/*.cc,
// graph/*.cc, plugin/*.cc) and of aws-ofi-nccl.
#include "models/facts/nccl_log.h"

#include <array>
#include <optional>

#include "models/facts/line_pattern.h"
#include "models/facts/nccl_items.h"
#include "sim/core/text.h"

namespace busbw::facts {
namespace {

struct Shape {
  const char* fact;
  const char* shape;
  Refine refine = nullptr;
};

// Lines of level INFO are many and few of them matter away from their beginning.
constexpr std::string_view kWordsOfInfo[] = {"ailed",    "onnect",   "rror",     "Direct RDMA",
                                             "InitRank", "' not fo", "undefined"};

const Shape kShapes[] = {
    {"nccl.version", "NCCL version {version}"},
    // Start-up: interfaces, devices, network.
    {"nccl.bootstrap", "Bootstrap : Using {list}", refine_interfaces},
    {"nccl.no_interface", "Bootstrap : no socket interface found"},
    {"nccl.no_interface", "NET/Socket : no interface found"},
    {"nccl.no_interface", "NET/IB : No IP interface found"},
    {"nccl.no_interface_in_subnet", "Net : No interface found in the same subnet{rest}"},
    {"nccl.no_interface_in_subnet", "NET/Socket : No usable listening interface found{rest}"},
    {"nccl.socket_device", "NET/Socket : Using interface {list}", refine_interfaces},
    {"nccl.socket_device", "NET : Using interface {list}", refine_interfaces},
    {"nccl.socket_threads",
     "NET/Socket : Using {threads} threads and {sockets} sockets per thread"},
    {"nccl.socket_device", "NET/Socket : Using {list}", refine_interfaces},
    {"nccl.socket_count", "NET/Socket : {count} interfaces found"},
    {"nccl.hca", "NET/IB : Using device {hca} port {port}"},
    {"nccl.hca", "NET/IB : Using {list}", refine_hcas},
    {"nccl.no_ib_device", "NET/IB : No device found"},
    {"nccl.ib_open_failed", "NET/IB : Unable to open device {hca}"},
    {"nccl.ib_open_failed", "Call to ibv_open_device failed{rest}"},
    {"nccl.verbs_missing", "...Failed to open libibverbs.so{rest}"},
    {"nccl.verbs_missing", "...not open libibverbs.so{rest}"},
    {"nccl.network", "Using network {name}", refine_network},
    {"nccl.network", "Assigned NET plugin {name} to comm", refine_network},
    {"nccl.net_not_found", "Error: network {name} not found"},
    {"nccl.net_not_found", "Failed to initialize any NET plugin{rest}"},
    {"nccl.net_failed", "Failed to initialize NET plugin {name}"},
    {"nccl.real_path", "Could not find real path of {path}"},
    {"nccl.env", "NCCL_{name} set by environment to {value}", refine_variable},
    {"nccl.env", "NCCL_{name} set to {value}", refine_variable},
    {"nccl.env_invalid", "Invalid value {value} for {name}, using default{rest}"},
    // Plugins.
    {"nccl.plugin", "Plugin Path : {path}"},
    {"nccl.plugin", "P2P plugin {path}"},
    {"nccl.plugin", "...Loaded net plugin {path}"},
    {"nccl.plugin", "Successfully loaded external {kind}plugin {path}"},
    {"nccl.plugin_load", "NET/Plugin : {library}version `{symbol}' not found{rest}", refine_symbol},
    {"nccl.no_plugin", "NET/Plugin : {how}No plugin found{rest}", refine_no_plugin},
    {"nccl.no_plugin", "NET/Plugin : {how}Could not find{rest}", refine_no_plugin},
    {"nccl.plugin_load", "...version `{symbol}' not found{rest}", refine_symbol},
    {"nccl.plugin_load", "...undefined symbol: {symbol}", refine_symbol},
    {"nccl.plugin_no_device", "...fi_getinfo{rest}No data available"},
    {"nccl.plugin_completion", "NET/OFI Request{rest}completed with error{more}"},
    {"nccl.plugin_error", "NET/OFI Unable to register memory{memory}"},
    {"nccl.plugin_error", "NET/OFI {what} failed{rest}"},
    {"nccl.plugin_error", "NET/OFI {what}not supported{rest}"},
    {"nccl.plugin_error", "NET/OFI Couldn't {rest}"},
    {"nccl.plugin_error", "...Incompatible plugin version{rest}"},
    // Connections.
    {"nccl.channel", "Channel {channel} : {from} -> {to} via {way}", refine_channel},
    {"nccl.channel", "Ring {channel} : {from} -> {to} via {way}", refine_channel},
    {"nccl.rings", "Channel {channel} : {order}"},
    {"nccl.connected", "Connected all {what}"},
    {"nccl.nodes", "comm {comm} rank {rank} nRanks {ranks} nNodes {nodes} localRanks {local}"},
    {"nccl.rank", "...ncclCommInitRank{rest}", refine_rank},
    // GPU Direct RDMA.
    {"nccl.gdr_socket", "NET/Socket : GPU Direct RDMA {rest}"},  // of no account
    {"nccl.gdr", "...GPU Direct RDMA {state} for GPU {gpu} / HCA {hca} (distance {distance})"},
    {"nccl.gdr_module", "...GPU Direct RDMA {state} for HCA {hca}"},
    {"nccl.dmabuf", "DMA-BUF is available on GPU device {gpu}"},
    // Verbs.
    {"nccl.completion", "...Got completion from peer {peer} with {rest}", refine_completion},
    {"nccl.completion", "...Got completion with {rest}", refine_completion},
    {"nccl.modify_qp", "Call to ibv_modify_qp failed with {rest}", refine_modify_qp},
    {"nccl.modify_qp", "...ibv_modify_qp failed with {rest}", refine_modify_qp},
    {"nccl.verbs_memory", "Call to ibv_{call} failed{rest}Cannot allocate memory"},
    {"nccl.verbs_memory", "...ibv_{call} failed{rest}Cannot allocate memory"},
    {"nccl.verbs_address", "Call to ibv_reg_mr{call} failed{rest}Bad address"},
    {"nccl.verbs_address", "...ibv_reg_mr{call} failed{rest}Bad address"},
    {"nccl.verbs_create", "Call to ibv_create_{object} failed"},
    {"nccl.verbs_create", "Call to ibv_reg_mr{object} failed"},
    {"nccl.verbs_call", "Call to ibv_{call} failed with {rest}"},
    {"nccl.async_event", "...Got async event : {event}"},
    {"nccl.async_event", "...async fatal event{event}"},
    {"nccl.async_event", "...Got non-fatal async event{event}"},
    {"nccl.roce_version", "...read failed in ncclIbRoceGetVersionNum{rest}"},
    {"nccl.incompatible_links", "...Attempted to connect incompatible devices{rest}"},
    {"nccl.qp_gid",
     "NET/IB : {device} Port {port} qpn {qpn} mtu {mtu} GID {index} ({prefix}/{rest}", refine_gid},
    {"nccl.plain_qp", "NET/IB : Dev {device} Port {port} qpn {qpn} mtu {mtu}"},
    // Sockets.
    {"nccl.connect_retry", "...connect to {peer} returned {error}, retrying{rest}", refine_peer},
    {"nccl.connect_retry", "...Call to connect returned {error}, retrying{rest}", refine_peer},
    {"nccl.connect_failed", "...Connect to {peer} failed : {error}", refine_peer},
    {"nccl.connect_failed", "...connect to {peer} returned {error}", refine_peer},
    {"nccl.connect_failed", "...connect to {peer} {fate} : {error}", refine_peer},
    {"nccl.connect_failed", "...Call to connect timeout : {error}", refine_peer},
    {"nccl.connect_failed", "...Call to connect returned {error}", refine_peer},
    {"nccl.connect_failed", "...Call to connect failed : {error}", refine_peer},
    {"nccl.connect_retries", "...exceeded retries{rest}"},
    {"nccl.connect_retries", "...exceeded error retry count{rest}"},
    {"nccl.connect_retries", "...exceeded timeouts{rest}"},
    {"nccl.family", "...connecting to address {address} with family {family} is neither{rest}"},
    {"nccl.closed", "...Connection closed by remote peer {peer}", refine_peer},
    {"nccl.closed", "...Connection reset by peer"},
    {"nccl.closed", "...Broken pipe"},
    {"nccl.wrong_type", "...wrong type {found} != {wanted}"},
    {"nccl.wrong_magic", "...wrong magic{rest}"},
    {"nccl.net_truncated", "NET/Socket : {peer}message truncated : receiv{rest}"},
    {"nccl.net_truncated", "NET/IB : {request}collective mismatch{rest}"},
    {"nccl.truncated", "...message truncated : receiv{rest}"},
    {"nccl.version_check", "...Mismatched NCCL version detected{rest}"},
    {"nccl.ranks_disagree", "...mismatch in info from procs{rest}"},
    {"nccl.ranks_disagree", "...has already checked in{rest}"},
    {"nccl.net_counts", "Detected mixed local Net device counts{rest}"},
    {"nccl.net_counts", "...Detected mixed local Net device counts{rest}"},
    {"nccl.ring_loop", "Error : ring {ring} does not loop back to start{rest}"},
    // Memory of the host.
    {"nccl.shm_failed", "...Error while creating shared memory segment {path} (size {size})"},
    {"nccl.shm_failed", "...Error while creating shared memory segment {path}"},
    {"nccl.shm_failed", "...failed to extend {path} to {size} bytes{rest}"},
    {"nccl.shm_failed", "...Call to posix_fallocate failed{rest}"},
    {"nccl.shm_failed", "...No space left on device{rest}"},
    {"nccl.shm_attach", "...Error while attaching to shared memory segment {path}"},
    {"nccl.shm_attach", "...Call to shm_open failed{rest}"},
    // GPUs.
    {"nccl.nvls_failed", "...Failed to bind NVLink SHARP{rest}"},
    {"nccl.cuda_not_ready", "...Cuda failure {rest}system not yet initialized"},
    {"nccl.cuda_memory", "...Cuda failure {rest}out of memory"},
    {"nccl.cuda_failure", "...Cuda failure {error}"},
    {"nccl.p2p_nvlink", "...P2P is disabled between NVLINK connected GPUs {rest}"},
    {"nccl.duplicate_gpu", "...Duplicate GPU detected{rest}"},
    {"nccl.duplicate_gpu", "...Multiple Ranks are using the same GPU{rest}"},
    {"nccl.no_transport", "...No transport found for rank {rest}"},
    {"nccl.nvls_available", "NVLS multicast support is available{rest}"},
    {"nccl.iommu_missing", "Missing \"iommu=pt\" from kernel command line{rest}"},  // RCCL
    // Topology, graphs, tuning.
    {"nccl.topology_error", "Could not open XML {rest}"},
    {"nccl.topology_error", "...XML Parse {rest}"},
    {"nccl.system", "=== System : maxBw {max} totalBw {total} ==="},
    {"nccl.pattern",
     "Pattern {pattern}, crossNic {cross}, nChannels {channels}, {bw} {intra}/{inter}, type "
     "{type}, "
     "sameChannels {same}"},
    {"nccl.topology_link", "+ {kind}[{width}] - {device}"},
    {"nccl.no_path", "...Could not find a path for pattern {pattern}, falling back{rest}"},
    {"nccl.no_net_node", "...Could not find NET with id {id}"},
    {"nccl.no_algorithm", "...no algorithm/protocol available for function {rest}"},
    {"nccl.no_algorithm", "...Error : no algorithm/protocol available{rest}"},
    {"nccl.rail_crossed", "...rail-local{rest}"},
};

bool has_word_of_info(std::string_view text) {
  for (const std::string_view word : kWordsOfInfo) {
    if (text.find(word) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

/// Which source files say by themselves what failed.
std::optional<std::string> fact_of_source(std::string_view source, std::string_view text) {
  if (source.find("transport/nvls.cc") != std::string_view::npos &&
      lower(text).find("cuda failure") != std::string::npos) {
    return "nccl.nvls_failed";
  }
  return std::nullopt;
}

}  // namespace

struct NcclLogReader::Table {
  struct Entry {
    std::string fact;
    LinePattern pattern;
    Refine refine;
  };
  // By the first letter of the shape; those that may begin anywhere stand under 0.
  std::array<std::vector<Entry>, 128> entries;

  Table() {
    for (const Shape& shape : kShapes) {
      LinePattern pattern(shape.shape);
      const auto bucket = static_cast<std::size_t>(pattern.first()) % entries.size();
      entries[bucket].push_back({shape.fact, std::move(pattern), shape.refine});
    }
  }

  /// Facts of the first shape of that bucket that fits; nothing when none does.
  [[nodiscard]] std::optional<std::vector<Fact>> match(std::size_t bucket,
                                                       std::string_view text) const {
    for (const Entry& entry : entries[bucket]) {
      std::optional<std::vector<Fact::Field>> fields = entry.pattern.match(text);
      if (!fields) {
        continue;
      }
      if (entry.refine != nullptr) {
        return entry.refine(entry.fact, *fields);
      }
      Fact fact;
      fact.name = entry.fact;
      fact.fields = std::move(*fields);
      return std::vector<Fact>{std::move(fact)};
    }
    return std::nullopt;
  }
};

NcclLogReader::NcclLogReader() : table_(std::make_unique<const Table>()) {}
NcclLogReader::~NcclLogReader() = default;

void NcclLogReader::read(const NcclLine& nccl, std::string_view line, const Location& where,
                         FactStore& facts) {
  const auto add = [&](Fact fact) {
    fact.host = nccl.host;
    fact.where = where;
    facts.add(std::move(fact), line);
  };
  Fact counted;
  counted.name = "nccl.log";
  counted.fields = {{"level", nccl.level}};
  add(std::move(counted));
  if (const std::optional<std::string> name = fact_of_source(nccl.source, nccl.text)) {
    Fact fact;
    fact.name = *name;
    add(std::move(fact));
  }
  if (nccl.text.empty()) {
    facts.note(where, "line of the log ends behind its level");
    return;
  }
  const std::string first = lower(nccl.text.substr(0, 1));
  const auto bucket = static_cast<std::size_t>(static_cast<unsigned char>(first[0])) % 128;
  std::optional<std::vector<Fact>> found;
  if (bucket != 0) {
    found = table_->match(bucket, nccl.text);
  }
  if (!found && (nccl.level != "INFO" || has_word_of_info(nccl.text))) {
    found = table_->match(0, nccl.text);
  }
  if (!found) {
    return;
  }
  for (Fact& fact : *found) {
    // Plugins try and fail many things in passing: only what they warn of is an error.
    if (fact.name != "nccl.plugin_error" || nccl.level == "WARN" || nccl.level == "ERROR") {
      add(std::move(fact));
    }
  }
}

}  // namespace busbw::facts
