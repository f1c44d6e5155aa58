// The whole decision: environment, bootstrap and network of each host, channels, and whether the
// hosts can meet.
//
// Order of events as in NCCL: bootstrap interface (start of ncclGetUniqueId), the root's listening
// socket when NCCL_COMM_ID names it, network, exchange over the bootstrap interfaces, channels,
// data connections.
#include "models/nccl/selection.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/nccl/channel_devices.h"
#include "models/nccl/network.h"
#include "models/nccl/reach.h"
#include "sim/core/check.h"
#include "sim/core/text.h"

namespace busbw::nccl {
namespace {

constexpr const char* kBootstrapSource = "NCCL 2.18 to 2.30, src/bootstrap.cc";
constexpr const char* kSocketSource = "NCCL 2.18 to 2.30, src/misc/socket.cc";
constexpr Version kBootstrapSpelling{2, 24, 0};
constexpr Version kSubnetMissSilent{2, 24, 0};
constexpr Version kMismatchCheck{2, 30, 0};
constexpr Version kUniformChecks{2, 24, 0};

/// What a host decided, with the parts that only reachability needs.
struct HostState {
  const Inventory* inventory = nullptr;
  std::optional<ChosenInterface> bootstrap;
  NetworkChoice network;
};

class Selector {
 public:
  explicit Selector(const SelectionInput& input) : input_(input) {
    CHECK(!input.hosts.empty(), "select needs at least one host");
  }

  Decision run() {
    decision_.warnings = environment_warnings(input_.environment, input_.version);
    if (input_.version < kOldest || input_.version > kNewest) {
      decision_.warnings.push_back(fmt::format(
          "NCCL {} was not examined, the rules of {} are used", to_string(input_.version),
          to_string(input_.version < kOldest ? kOldest : kNewest)));
    }
    decision_.hosts.resize(input_.hosts.size());
    states_.resize(input_.hosts.size());
    for (std::size_t i = 0; i < input_.hosts.size(); ++i)
      decide_host(i);
    finish_errors();
    if (decision_.outcome == Outcome::kError)
      return std::move(decision_);
    if (!networks_agree() || !bootstrap_meets())
      return std::move(decision_);
    ChannelPlan plan;
    const bool known_devices =
        std::all_of(decision_.hosts.begin(), decision_.hosts.end(),
                    [](const HostDecision& h) { return !h.data_devices.empty(); });
    if (known_devices) {
      plan = plan_channels(decision_.hosts, input_);
      decision_.channels = plan.channels;
      decision_.reasons.insert(decision_.reasons.end(), plan.reasons.begin(), plan.reasons.end());
      data_meets(plan);
    }
    return std::move(decision_);
  }

 private:
  static void fail(HostDecision& host) { host.outcome = Outcome::kError; }

  void decide_host(std::size_t i) {
    HostState& state = states_[i];
    HostDecision& host = decision_.hosts[i];
    state.inventory = &input_.hosts[i];
    host.host = input_.hosts[i].host;
    if (!find_bootstrap(i))
      return fail(host);
    host.bootstrap_interface = state.bootstrap->name;
    host.bootstrap_address = to_string(state.bootstrap->address);
    host.log.push_back(
        {"BOOTSTRAP", false,
         fmt::format("Bootstrap{} Using {}", input_.version < kBootstrapSpelling ? " :" : ":",
                     to_string(*state.bootstrap))});
    if (i == 0 && !root_listens(host))
      return fail(host);
    state.network = choose_network(input_, *state.inventory);
    host.network = state.network.network;
    host.data_devices = state.network.devices;
    host.reasons.insert(host.reasons.end(), state.network.reasons.begin(),
                        state.network.reasons.end());
    host.log.insert(host.log.end(), state.network.log.begin(), state.network.log.end());
    if (!host.network)
      fail(host);
  }

  bool find_bootstrap(std::size_t i) {
    HostDecision& host = decision_.hosts[i];
    const std::optional<std::string> comm_id = text(input_.environment, "NCCL_COMM_ID");
    if (comm_id)
      return bootstrap_by_comm_id(i, *comm_id);
    InterfaceSearch search = find_interfaces(input_, *states_[i].inventory, {"bootstrap", 1});
    host.reasons.insert(host.reasons.end(), search.reasons.begin(), search.reasons.end());
    host.log.insert(host.log.end(), search.log.begin(), search.log.end());
    if (search.found.empty()) {
      warn(host, "Bootstrap : no socket interface found");
      return false;
    }
    states_[i].bootstrap = search.found.front();
    return true;
  }

  bool bootstrap_by_comm_id(std::size_t i, const std::string& value) {
    HostDecision& host = decision_.hosts[i];
    const CommId id = parse_comm_id(value);
    for (const std::string& line : id.warnings)
      warn(host, line);
    if (!id.warnings.empty()) {
      reason(host, "bootstrap.comm_id_invalid",
             fmt::format("NCCL_COMM_ID='{}' counts as set but cannot be read{}", value,
                         id.note.empty() ? "" : ": " + id.note),
             kBootstrapSource);
      return false;
    }
    if (id.address)
      states_[i].bootstrap = match_subnet(*states_[i].inventory, *id.address);
    if (!states_[i].bootstrap) {
      if (input_.version < kSubnetMissSilent && id.address) {
        warn(host, "Net : No interface found in the same subnet as remote address " +
                       to_string(*id.address));
      }
      warn(host, "NET/Socket : No usable listening interface found");
      reason(host, "bootstrap.comm_id_no_subnet",
             fmt::format("NCCL_COMM_ID={} lies in the subnet of no interface{}", value,
                         id.note.empty() ? "" : ": " + id.note),
             kBootstrapSource);
      return false;
    }
    root_ = id.address;
    const bool ifname = text(input_.environment, "NCCL_SOCKET_IFNAME").has_value();
    reason(host, "bootstrap.comm_id",
           fmt::format("NCCL_COMM_ID={}: {} is the first interface in its subnet{}", value,
                       states_[i].bootstrap->name,
                       ifname ? "; NCCL_SOCKET_IFNAME is not looked at for the bootstrap" : ""),
           kBootstrapSource);
    return true;
  }

  /// Rank 0 listens on the address of NCCL_COMM_ID itself, so it must be an address of its host.
  bool root_listens(HostDecision& host) {
    if (!root_ || owns_address(input_.hosts.front(), *root_))
      return true;
    if (root_->loopback)
      return true;  // the whole of 127.0.0.0/8 is local
    warn(host, fmt::format("Call to bind failed{}: Cannot assign requested address",
                           input_.version < kUniformChecks ? " " : ""));
    reason(host, "bootstrap.comm_id_not_local",
           fmt::format("rank 0 listens on the address of NCCL_COMM_ID, and {} is no address of {}",
                       to_string(*root_), host.host),
           kSocketSource);
    return false;
  }

  static void warn(HostDecision& host, std::string text) {
    host.log.push_back({"NET", true, std::move(text)});
  }
  static void reason(HostDecision& host, std::string rule, std::string text, const char* source) {
    host.reasons.push_back({std::move(rule), std::move(text), source});
  }
  void job_reason(std::string rule, std::string text, const char* source) {
    decision_.reasons.push_back({std::move(rule), std::move(text), source});
  }

  /// The first WARN of a failed host is the origin; the first failed host speaks for the job.
  void finish_errors() {
    for (HostDecision& host : decision_.hosts) {
      if (host.outcome != Outcome::kError)
        continue;
      const auto first = std::find_if(host.log.begin(), host.log.end(),
                                      [](const LogLine& l) { return l.warning; });
      if (first != host.log.end())
        host.error = first->text;
      if (decision_.outcome == Outcome::kError)
        continue;
      decision_.outcome = Outcome::kError;
      decision_.error = host.error;
    }
  }

  bool networks_agree() {
    const HostDecision& first = decision_.hosts.front();
    for (const HostDecision& host : decision_.hosts) {
      if (host.network == first.network)
        continue;
      decision_.outcome = Outcome::kError;
      decision_.error = "socketFinalizeAccept: wrong type 4 != 3";
      job_reason(
          "job.networks_differ",
          fmt::format(
              "{} uses {} and {} uses {}; nothing compares the names, the connections do not fit",
              first.host, *first.network, host.host, *host.network),
          kSocketSource);
      return false;
    }
    for (const HostDecision& host : decision_.hosts) {
      if (input_.version >= kMismatchCheck &&
          host.data_devices.size() != first.data_devices.size()) {
        job_reason(
            "job.device_counts_differ",
            fmt::format(
                "{} has {} network devices and {} has {}; only noted (NCCL_IGNORE_NET_MISMATCH=1)",
                first.host, first.data_devices.size(), host.host, host.data_devices.size()),
            "NCCL 2.30, src/init.cc");
      }
    }
    return true;
  }

  /// Host `from` must reach `target` of host `to`; if not, the job ends here.
  bool connects(std::size_t from, std::size_t to, const ChosenInterface& target,
                const std::string& what) {
    const Reach way = reach(input_.hosts[from], input_.hosts[to], target);
    if (way.result == ConnectResult::kOk)
      return true;
    const ConnectVerdict verdict = judge(way.result, target, input_.version);
    HostDecision& host = decision_.hosts[from];
    host.outcome = decision_.outcome = verdict.error ? Outcome::kError : Outcome::kHang;
    if (verdict.error) {
      host.error = decision_.error = verdict.line;
      warn(host, verdict.line);
    } else {
      decision_.error = way.why;
    }
    job_reason(what, verdict.error ? way.why : fmt::format("{}; {}", way.why, verdict.course),
               kSocketSource);
    return false;
  }

  /// Every rank reports to the root, the root answers, and the ranks form a ring.
  bool bootstrap_meets() {
    const std::size_t count = input_.hosts.size();
    for (std::size_t i = 1; i < count; ++i) {
      ChosenInterface root = *states_[0].bootstrap;
      if (root_)
        root = root_interface();
      if (!connects(i, 0, root, "bootstrap.unreachable"))
        return false;
      if (!connects(0, i, *states_[i].bootstrap, "bootstrap.unreachable"))
        return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t next = (i + 1) % count;
      if (next != i && !connects(i, next, *states_[next].bootstrap, "bootstrap.unreachable"))
        return false;
    }
    return true;
  }

  /// Where the root really listens when NCCL_COMM_ID names it.
  ChosenInterface root_interface() {
    const Inventory& host = input_.hosts.front();
    for (std::size_t i = 0; i < host.interfaces.size(); ++i) {
      for (const Address& own : host.interfaces[i].addresses) {
        if (own.bytes == root_->bytes)
          return {i, host.interfaces[i].name, *root_};
      }
    }
    return {states_[0].bootstrap->position, states_[0].bootstrap->name, *root_};
  }

  /// Connections of the channels to the neighbours in host order, both ways; IB meets over its
  /// out-of-band interface.
  void data_meets(const ChannelPlan& plan) {
    const std::size_t count = input_.hosts.size();
    for (std::size_t i = 0; i < count; ++i) {
      for (const std::size_t peer : {(i + 1) % count, (i + count - 1) % count}) {
        if (peer == i)
          continue;
        if (states_[peer].network.oob &&
            !connects(i, peer, *states_[peer].network.oob, "ib_oob.unreachable"))
          return;
        const std::vector<ChosenInterface>& sockets = states_[peer].network.sockets;
        if (sockets.empty())
          continue;
        const std::vector<std::size_t> best = fastest(decision_.hosts[peer].data_devices);
        const std::size_t used =
            std::min(plan.channels.size(), static_cast<std::size_t>(plan.search_channels));
        for (std::size_t c = 0; c < used; ++c) {
          if (!connects(i, peer, sockets[best[c]], "socket.unreachable"))
            return;
        }
      }
    }
  }

  const SelectionInput& input_;
  Decision decision_;
  std::vector<HostState> states_;
  std::optional<Address> root_;
};

}  // namespace

std::string to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kRuns:
      return "runs";
    case Outcome::kError:
      return "error";
    case Outcome::kHang:
      break;
  }
  return "hang";
}

Decision select(const SelectionInput& input) {
  return Selector(input).run();
}

}  // namespace busbw::nccl
