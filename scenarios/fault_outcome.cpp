// See fault_outcome.h.
#include "scenarios/fault_outcome.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "models/nccl/failure_lines.h"
#include "sim/core/check.h"
#include "sim/core/text.h"

namespace busbw::scenarios {
namespace {

/// PyTorch's name of the operation.
const char* operation_of(collectives::Collective collective) {
  switch (collective) {
    case collectives::Collective::kAllReduce:
      return "ALLREDUCE";
    case collectives::Collective::kReduce:
      return "REDUCE";
    case collectives::Collective::kBroadcast:
      return "BROADCAST";
    case collectives::Collective::kAllGather:
      return "_ALLGATHER_BASE";
    case collectives::Collective::kReduceScatter:
      return "_REDUCE_SCATTER_BASE";
    case collectives::Collective::kAllToAll:
      return "ALLTOALL_BASE";
    case collectives::Collective::kSendRecv:
      return "SEND";
    case collectives::Collective::kGather:
      return "GATHER";
    case collectives::Collective::kScatter:
      return "SCATTER";
  }
  CHECK(false, "collective {}", static_cast<int>(collective));
}

class Outcome {
 public:
  Outcome(const Stage& stage, const Faults& faults, const Playback& playback,
          const transport::Wiring& wiring)
      : stage_(stage),
        version_(stage.variant.version),
        faults_(faults),
        playback_(playback),
        wiring_(wiring) {}

  FaultOutcome make(std::int64_t count) {
    outcome_.asked = playback_.asked;
    outcome_.arrived = playback_.arrived;
    outcome_.lost = playback_.lost;
    outcome_.completed = !playback_.ended && !playback_.stuck;
    outcome_.hangs = playback_.stuck;
    outcome_.end = playback_.ended.value_or(playback_.time);
    if (playback_.stuck && !playback_.broken.empty()) {
      outcome_.end = playback_.broken.front().at;
    }
    for (const Happening& happening : faults_.happenings()) {
      if (happening.at <= outcome_.end || playback_.stuck) {
        outcome_.happenings.push_back(happening);
      }
    }
    events_of_ports();
    connections();
    if (playback_.ended && playback_.broken.empty()) {
      const Duration timeout = *faults_.trouble().watchdog;
      add_all(*playback_.ended, 0,
              nccl::watchdog_timeout_lines(
                  {0, operation_of(stage_.variant.workload.collective), count, timeout}));
    }
    std::stable_sort(outcome_.lines.begin(), outcome_.lines.end(),
                     [](const TimedLine& a, const TimedLine& b) { return a.at < b.at; });
    return std::move(outcome_);
  }

 private:
  void add(Duration at, std::int32_t rank, const std::string& line) {
    outcome_.lines.push_back({at, rank, line});
  }
  void add_all(Duration at, std::int32_t rank, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      add(at, rank, line);
    }
  }

  [[nodiscard]] bool is_socket() const {
    return stage_.plan.wiring.network == transport::Network::kSocket;
  }

  [[nodiscard]] std::int32_t first_rank(std::size_t host) const {
    std::size_t rank = 0;
    for (std::size_t before = 0; before < host; ++before) {
      rank += stage_.built.gpus[before].size();
    }
    return static_cast<std::int32_t>(rank);
  }

  /// Ports that go down and come back tell so, to the ranks of their host.
  void events_of_ports() {
    for (std::size_t number = 0; number < stage_.variant.events.size(); ++number) {
      const Fault& fault = stage_.variant.events[number];
      const bool gone = fault.kind == FaultKind::kHcaGone;
      if (is_socket() || fault.nic.empty() || (fault.kind != FaultKind::kLinkDown && !gone)) {
        continue;
      }
      const std::size_t colon = fault.nic.rfind(':');
      const std::string device = fault.nic.substr(0, colon);
      const int port = colon == std::string::npos
                           ? 1
                           : static_cast<int>(*parse_integer(fault.nic.substr(colon + 1)));
      const auto tell = [&](Duration at, nccl::AsyncEvent event) {
        if (at <= outcome_.end) {
          add(at, first_rank(*fault.host),
              "NCCL WARN " + nccl::async_event_line(event, device, port, version_));
        }
      };
      tell(fault.at, gone ? nccl::AsyncEvent::kDeviceFatal : nccl::AsyncEvent::kPortError);
      const std::optional<Duration> active = faults_.over(number);
      if (active && !gone) {
        tell(*active, nccl::AsyncEvent::kPortActive);
      }
    }
  }

  /// The lines of connections that gave up, once for each rank, peer and device.
  void connections() {
    std::set<std::tuple<RankId, std::size_t, std::string>> told;
    bool first = true;
    for (const BrokenConnection& broken : playback_.broken) {
      const std::optional<transport::PortPair> pair =
          wiring_.ports(broken.from, broken.to, broken.channel);
      if (!pair || broken.at > outcome_.end) {
        continue;
      }
      const RankId rank = broken.at_once ? own_rank(broken) : broken.from;
      const RankId other = rank == broken.from ? broken.to : broken.from;
      const transport::NetPort& port = rank == broken.from ? pair->out : pair->in;
      if (!told.insert({rank, wiring_.host_of(other), port.device}).second) {
        continue;
      }
      nccl::FailedEnd end;
      end.ethernet = stage_.plan.wiring.network == transport::Network::kRoce;
      end.device = port.device;
      end.own = stage_.plan.addresses[wiring_.host_of(rank)];
      end.peer = stage_.plan.addresses[wiring_.host_of(other)];
      const std::string line = broken.at_once ? nccl::fatal_error_line()
                               : is_socket()  ? nccl::socket_timed_out_line(end, version_)
                                              : nccl::retry_exceeded_line(end, version_);
      add(broken.at, rank.value(), "NCCL WARN " + line);
      if (std::exchange(first, false) && faults_.trouble().notice) {
        add_all(broken.at + *faults_.trouble().notice, rank.value(),
                nccl::watchdog_error_lines(rank.value(), !broken.at_once, line, version_));
      }
    }
  }

  /// The end whose adapter is gone.
  [[nodiscard]] RankId own_rank(const BrokenConnection& broken) const {
    const auto is_gone = [&](RankId rank) {
      return std::any_of(stage_.variant.events.begin(), stage_.variant.events.end(),
                         [&](const Fault& fault) {
                           return fault.kind == FaultKind::kHcaGone && fault.at == broken.at &&
                                  fault.host == wiring_.host_of(rank);
                         });
    };
    return is_gone(broken.from) ? broken.from : broken.to;
  }

  const Stage& stage_;
  nccl::Version version_;
  const Faults& faults_;
  const Playback& playback_;
  const transport::Wiring& wiring_;
  FaultOutcome outcome_;
};

}  // namespace

FaultOutcome fault_outcome(const Stage& stage, const Faults& faults, const Playback& playback,
                           const transport::Wiring& wiring, std::int64_t count) {
  return Outcome(stage, faults, playback, wiring).make(count);
}

}  // namespace busbw::scenarios
