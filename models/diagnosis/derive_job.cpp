// The job: which ranks got how far, what was measured, which settings were forced.
//
// is.slow_host {slow, value, others}       by a table of pairs of hosts
// is.works_differ {operation, rank}        time-outs of different collectives: the program went
// apart is.rank_not_complete {rank} is.forced {name, value}, is.restricted {name, value}
// is.network_slow {gbps, link}             perftest below the rate of the port
// is.collective_slow {gbps, busbw}         perftest good, busbw low
// is.busbw_is_algbw {busbw}                the test's two bandwidths are equal
// is.fast_socket {mbps}
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "models/diagnosis/derive.h"
#include "sim/core/text.h"

namespace busbw::diagnosis {
namespace {

using facts::Fact;
using facts::FactStore;

double value_of(const Fact& fact, std::string_view field) {
  return parse_number(fact.get(field)).value_or(0);
}

/// A pair is as fast as its slower host. A host that reaches the best figures with any partner is
/// cleared; one that is slow with every partner, and with at least one cleared one, is named.
void slow_hosts(FactStore& store) {
  const std::vector<Fact> pairs = all_of(store, "pair.row");
  double best = 0;
  for (const Fact& fact : pairs) {
    best = std::max(best, value_of(fact, "value"));
  }
  constexpr double kSlow = 0.8;  // ours: runs of equal pairs differ by a few percent
  std::set<std::string> cleared;
  for (const Fact& fact : pairs) {
    if (value_of(fact, "value") >= kSlow * best) {
      cleared.insert(std::string(fact.get("a")));
      cleared.insert(std::string(fact.get("b")));
    }
  }
  for (const Fact& fact : pairs) {
    if (value_of(fact, "value") >= kSlow * best) {
      continue;
    }
    for (const auto& [one, other] : {std::pair<const char*, const char*>{"a", "b"}, {"b", "a"}}) {
      const std::string host(fact.get(one));
      if (cleared.find(host) == cleared.end() &&
          cleared.find(std::string(fact.get(other))) != cleared.end()) {
        conclude(store, fact, "is.slow_host",
                 {{"slow", host},
                  {"value", std::string(fact.get("value"))},
                  {"others", fmt::format("{:.2f}", best)}});
      }
    }
  }
}

/// In a table with one host a row: far below the middle of all.
void slow_rows(FactStore& store) {
  const std::vector<Fact> rows = all_of(store, "node.row");
  std::vector<double> values;
  values.reserve(rows.size());
  for (const Fact& fact : rows) {
    values.push_back(value_of(fact, "value"));
  }
  std::sort(values.begin(), values.end());
  for (const Fact& fact : rows) {
    const double middle = values[values.size() / 2];
    if (value_of(fact, "value") < 0.8 * middle) {
      conclude(store, fact, "is.slow_host",
               {{"slow", std::string(fact.get("a"))},
                {"value", std::string(fact.get("value"))},
                {"others", fmt::format("{:.2f}", middle)}});
    }
  }
}

void works(FactStore& store) {
  const std::vector<Fact> works = all_of(store, "pytorch.watchdog");
  for (const Fact& fact : works) {
    const bool apart =
        !fact.get("sequence").empty() && (fact.get("operation") != works.front().get("operation") ||
                                          fact.get("sequence") != works.front().get("sequence") ||
                                          fact.get("elements") != works.front().get("elements"));
    if (apart) {
      for (const Fact* seen : {static_cast<const Fact*>(&works.front()), &fact}) {
        conclude(store, *seen, "is.works_differ",
                 {{"operation", std::string(seen->get("operation"))},
                  {"sequence", std::string(seen->get("sequence"))}});
      }
    }
  }
  std::set<std::string> complete;
  for (const Fact* fact : store.named("nccl.rank")) {
    if (fact->get("phase") == "complete") {
      complete.insert(std::string(fact->get("rank")));
    }
  }
  for (const Fact& fact : all_of(store, "nccl.rank")) {
    if (!complete.empty() && fact.get("phase") == "start" &&
        complete.find(std::string(fact.get("rank"))) == complete.end()) {
      conclude(store, fact, "is.rank_not_complete", {{"rank", std::string(fact.get("rank"))}});
    }
  }
}

void settings(FactStore& store) {
  // Old and new names of settings that fix what NCCL would tune.
  static constexpr std::string_view kForced[] = {
      "NCCL_MIN_NRINGS",   "NCCL_MAX_NRINGS",     "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS",
      "NCCL_NTHREADS",     "NCCL_BUFFSIZE",       "NCCL_MIN_CTAS",      "NCCL_MAX_CTAS",
      "NCCL_LL_THRESHOLD", "NCCL_TREE_THRESHOLD", "NCCL_PROTO"};
  static constexpr std::string_view kSwitches[] = {"NCCL_P2P_DISABLE",   "NCCL_SHM_DISABLE",
                                                   "NCCL_NET_GDR_LEVEL", "NCCL_ALGO",
                                                   "NCCL_P2P_LEVEL",     "NCCL_CROSS_NIC"};
  for (const Fact& fact : all_of(store, "var")) {
    const std::string name(fact.get("name"));
    const std::string value(fact.get("value"));
    if (std::find(std::begin(kForced), std::end(kForced), name) != std::end(kForced)) {
      conclude(store, fact, "is.forced", {{"name", name}, {"value", value}});
    }
    if (value != "0" &&
        std::find(std::begin(kSwitches), std::end(kSwitches), name) != std::end(kSwitches)) {
      conclude(store, fact, "is.restricted", {{"name", name}, {"value", value}});
    }
  }
}

std::optional<Fact> largest(const FactStore& store, std::string_view name, std::string_view field) {
  std::optional<Fact> best;
  for (const Fact* fact : store.named(name)) {
    if (!best || value_of(*fact, field) > value_of(*best, field)) {
      best = *fact;
    }
  }
  return best;
}

/// Is it the network or NCCL? Ours: below 0.8 of the port's rate perftest is slow; below half of
/// perftest a bus bandwidth is.
void measured(FactStore& store) {
  const std::optional<Fact> perftest = largest(store, "perftest.row", "gbps");
  const std::optional<Fact> port = largest(store, "is.rdma_on_host", "rate");
  const std::optional<Fact> test = largest(store, "test.row", "busbw");
  const std::optional<Fact> average = largest(store, "test.average", "busbw");
  if (perftest && port && value_of(*port, "rate") > 0 &&
      value_of(*perftest, "gbps") < 0.8 * value_of(*port, "rate")) {
    conclude(
        store, *perftest, "is.network_slow",
        {{"gbps", std::string(perftest->get("gbps"))}, {"link", std::string(port->get("rate"))}});
  }
  const std::optional<Fact>& bus = test ? test : average;
  if (perftest && bus && value_of(*bus, "busbw") * 8 < 0.5 * value_of(*perftest, "gbps")) {
    conclude(
        store, *bus, "is.collective_slow",
        {{"gbps", std::string(perftest->get("gbps"))}, {"busbw", std::string(bus->get("busbw"))}});
  }
  for (const Fact& fact : all_of(store, "test.row")) {
    if (value_of(fact, "algbw") == value_of(fact, "busbw") && value_of(fact, "busbw") > 0) {
      conclude(store, fact, "is.busbw_is_algbw", {{"busbw", std::string(fact.get("busbw"))}});
    }
  }
  for (const Fact& fact : all_of(store, "eth.speed")) {
    for (const Fact* device : store.named("nccl.socket_device")) {
      if (device->get("interface") == fact.get("name") && value_of(fact, "mbps") >= 40'000) {
        conclude(store, fact, "is.fast_socket", {{"mbps", std::string(fact.get("mbps"))}});
        break;
      }
    }
  }
}

}  // namespace

void derive_job(FactStore& store) {
  slow_hosts(store);
  slow_rows(store);
  works(store);
  settings(store);
  measured(store);
}

}  // namespace busbw::diagnosis
