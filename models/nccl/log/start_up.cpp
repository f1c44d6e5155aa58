// Puts the parts of the log together, in the order of src/init.cc.
#include "models/nccl/log/start_up.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/nccl/log/lines.h"
#include "sim/core/check.h"

namespace busbw::nccl::log {
namespace {

constexpr const char* kDriver = "12040";
constexpr const char* kCuda = "12.4";
constexpr const char* kComm = "0x55d0c0000000";
constexpr const char* kCommId = "0x1";
constexpr int kFirstProcess = 1000;
constexpr std::size_t kMessageBuffer = 1022;

class Assembler {
 public:
  Assembler(const graph::Decision& decision, const StartUp& options)
      : options_(options), view_{decision, places(decision), options.rank, "IB"} {
    if (options.host != nullptr && options.host->network)
      view_.network = *options.host->network;
  }

  std::vector<RankLine> run() {
    process_start();
    if (failed_)
      return std::move(lines_);
    add(info("INIT", init("START")));
    if (view_.from(2, 23, 4)) {
      add(info("BOOTSTRAP|PROFILE",
               "Bootstrap timings total 0.000000 (create 0.000000, send 0.000000, recv 0.000000, "
               "ring 0.000000, delay 0.000000)"));
    }
    add(environment_lines(view_, Stage::kPaths, told_));
    add(topology_lines(view_));
    multicast();
    add(graph_lines(view_));
    device_counts();
    if (view_.from(2, 20, 3)) {
      const Place& place = view_.place(view_.rank);
      add(info(
          "INIT",
          fmt::format("comm {} rank {} nRanks {} nNodes {} localRanks {} localRank {} MNNVL {}",
                      kComm, view_.rank, comm().ranks, comm().nodes, place.local_ranks,
                      place.local_rank, view_.decision.mnnvl ? 1 : 0)));
    }
    add(channel_lines(view_));
    const bool early = connects_at_start(view_);
    if (early)
      add(connection_lines(view_));
    add(environment_lines(view_, Stage::kTuning, told_));
    add(tuning_lines(view_));
    add(info("INIT", init("COMPLETE")));
    timings();
    if (!early && options_.first_collectives)
      add(connection_lines(view_));
    return std::move(lines_);
  }

 private:
  [[nodiscard]] const graph::Communicator& comm() const { return view_.decision.comm; }
  [[nodiscard]] int device() const { return view_.gpu(view_.rank).gpu.dev; }

  void add(LogLine line) { lines_.push_back({view_.rank, device(), std::move(line), false}); }
  void add(const Lines& lines) {
    for (const LogLine& line : lines)
      add(line);
  }

  /// The lines of a process before its communicator: rank 0 makes the id and speaks of its
  /// interface first, the others look for theirs after the driver's line.
  void process_start() {
    Lines bootstrap;
    Lines network;
    if (options_.host != nullptr) {
      for (const LogLine& line : options_.host->log) {
        const bool before = std::none_of(bootstrap.begin(), bootstrap.end(), [](const LogLine& l) {
          return l.subsystem == "BOOTSTRAP";
        });
        (before ? bootstrap : network).push_back(line);
      }
      told_ = options_.host->log;
    }
    const LogLine driver = info("INIT", fmt::format("cudaDriverVersion {}", kDriver));
    if (view_.rank == 0)
      add(bootstrap);
    add(driver);
    if (view_.rank != 0)
      add(bootstrap);
    failed_ = options_.host != nullptr && !options_.host->network;
    if (failed_ && network.empty())
      return;
    version();
    for (LogLine& line : network) {
      if (line.subsystem == "INIT")
        line.subsystem = "INIT|NET";
      if (line.text.rfind("Using network ", 0) == 0 && view_.from(2, 19, 1) &&
          !view_.from(2, 23, 4))
        add(info("INIT|NET", "Using non-device net plugin version 0"));
      add(line);
    }
    if (!failed_)
      add(environment_lines(view_, Stage::kNetwork, told_));
  }

  void version() {
    const std::string text =
        fmt::format("NCCL version {}+cuda{}", to_string(view_.decision.version), kCuda);
    if (view_.from(2, 22, 3)) {
      add(info("ALL", text));
    } else if (view_.rank == 0) {
      lines_.push_back({view_.rank, device(), info("ALL", text), true});
    }
  }

  [[nodiscard]] std::string init(const char* what) const {
    const std::string function = view_.from(2, 30, 3)
                                     ? fmt::format("[Rank {}] ncclCommInitRank ", view_.rank)
                                 : view_.from(2, 21, 5) ? std::string("ncclCommInitRank ")
                                                        : std::string();
    return fmt::format(
        "{}comm {} rank {} nranks {} cudaDev {} nvmlDev {} busId {:x} commId {} - Init {}",
        function, kComm, view_.rank, comm().ranks, device(), device(), view_.gpu(view_.rank).id,
        kCommId, what);
  }

  void multicast() {
    if (!nvls_asked(view_))
      return;
    const bool supported = nvls_supported(view_);
    const std::string channels =
        view_.from(2, 24, 3)
            ? fmt::format(" (NVLS_NCHANNELS {})", supported ? comm().nvls_channels : 0)
            : "";
    add(info("INIT", fmt::format("NVLS multicast support is {}available on dev {}{}",
                                 supported ? "" : "not ", device(), channels)));
  }

  /// From 2.30 on the numbers of NICs are compared; equal hosts have equal ones.
  void device_counts() {
    if (!view_.from(2, 30, 3))
      return;
    const int own = nics(view_.rank);
    add(info("INIT", fmt::format("Rank {}: {} Net devices", view_.rank, own)));
    add(info("INIT", fmt::format("Rank {}: 0 CollNet devices", view_.rank)));
    if (view_.rank != 0)
      return;
    int least = own;
    int most = own;
    for (int rank = 0; rank < comm().ranks; rank++) {
      least = std::min(least, nics(rank));
      most = std::max(most, nics(rank));
    }
    add(info("INIT",
             fmt::format("Local Net device counts across ranks: min {} max {}", least, most)));
    add(info("INIT", "Local CollNet device counts across ranks: min 0 max 0"));
  }

  /// NICs of the rank's host, each once.
  [[nodiscard]] int nics(int rank) const {
    const graph::System& system = view_.group(rank).system;
    int count = 0;
    for (const int net : system.all(graph::NodeType::kNet)) {
      const graph::Node& node = system.nodes[static_cast<std::size_t>(net)];
      if (!node.net.copy && node.host == view_.gpu(rank).host)
        count++;
    }
    return count;
  }

  void timings() {
    if (!view_.from(2, 22, 3))
      return;
    const bool named = view_.from(2, 23, 4);
    add(info("INIT|PROFILE",
             fmt::format("Init timings{}: rank {} nranks {} total 0.00 (kernels 0.00, {}bootstrap "
                         "0.00, allgathers 0.00, topo 0.00, graphs 0.00, connections 0.00, rest "
                         "0.00)",
                         named ? " - ncclCommInitRank" : "", view_.rank, comm().ranks,
                         named ? "alloc 0.00, " : "")));
  }

  const StartUp& options_;
  View view_;
  Lines told_;
  std::vector<RankLine> lines_;
  bool failed_ = false;
};

}  // namespace

std::vector<RankLine> start_up_log(const graph::Decision& decision, const StartUp& options) {
  CHECK(options.rank >= 0 && options.rank < decision.comm.ranks, "rank {} of {}", options.rank,
        decision.comm.ranks);
  return Assembler(decision, options).run();
}

int host_of(const graph::Decision& decision, int rank) {
  return rank / std::max(1, decision.comm.ranks / std::max(1, decision.hosts));
}

std::string framed(const RankLine& line, const std::string& host, Version version) {
  if (line.bare)
    return line.line.text;
  LogFrame frame;
  frame.host = host;
  frame.pid = frame.tid = kFirstProcess + line.rank;
  frame.device = line.device;
  return cut(busbw::nccl::framed(line.line, frame, version), kMessageBuffer);
}

}  // namespace busbw::nccl::log
