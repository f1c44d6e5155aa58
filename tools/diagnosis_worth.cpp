// See diagnosis_worth.h.
#include "tools/diagnosis_worth.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "models/params/params.h"
#include "scenarios/worth.h"
#include "sim/core/text.h"
#include "tools/data_path.h"

namespace busbw::tools {
namespace {

using facts::Fact;
using facts::FactStore;

constexpr double kMostRate = 10'000'000;  // Mb/s; more is no port's

std::optional<Fact> first_of(const FactStore& store, std::string_view name) {
  const std::vector<const Fact*> facts = store.named(name);
  return facts.empty() ? std::nullopt : std::optional<Fact>(*facts.front());
}

/// Rate in Mb/s that the files give for an interface.
std::optional<double> speed_of(const FactStore& store, std::string_view interface) {
  for (const Fact* fact : store.named("eth.speed")) {
    if (fact->get("name") == interface) {
      return parse_number(fact->get("mbps"));
    }
  }
  return std::nullopt;
}

std::optional<Bandwidth> bandwidth(std::optional<double> mbps) {
  if (!mbps || *mbps < 1 || *mbps > kMostRate) {
    return std::nullopt;
  }
  return Bandwidth::megabits_per_second(static_cast<std::int64_t>(*mbps));
}

/// The rate of the port, or of its interface where a list gives a lower one.
std::optional<Bandwidth> hca_rate(const FactStore& store, const Fact& seen) {
  const std::optional<double> gbps = parse_number(seen.get("rate"));
  const std::optional<double> port = gbps ? std::optional<double>(*gbps * 1000) : std::nullopt;
  const std::optional<double> listed = speed_of(store, seen.get("rdma_interface"));
  if (port && listed) {
    return bandwidth(std::min(*port, *listed));
  }
  return bandwidth(port ? port : listed);
}

/// Ranks of the longest ring that a log prints, or of its ranks' lines.
std::int32_t ranks_of(const FactStore& store) {
  std::size_t most = 0;
  for (const Fact* fact : store.named("nccl.rings")) {
    most = std::max(most, split_blanks(fact->get("order")).size());
  }
  for (const Fact* fact : store.named("nccl.rank")) {
    const std::int64_t ranks = parse_integer(fact->get("ranks")).value_or(0);
    most = std::max(most, static_cast<std::size_t>(std::clamp<std::int64_t>(ranks, 0, 1 << 20)));
  }
  return static_cast<std::int32_t>(most);
}

/// Hosts that logs name; two when they name none: one would need no network.
std::int32_t hosts_of(const FactStore& store) {
  std::set<std::string> hosts;
  for (const Fact* fact : store.named("nccl.log")) {
    if (!fact->host.empty()) {
      hosts.insert(fact->host);
    }
  }
  for (const Fact* fact : store.named("nccl.nodes")) {
    const std::int64_t nodes = parse_integer(fact->get("nodes")).value_or(0);
    if (nodes > 1 && nodes < 4096) {
      return static_cast<std::int32_t>(nodes);
    }
  }
  return std::max<std::int32_t>(2, static_cast<std::int32_t>(hosts.size()));
}

struct Question {
  scenarios::SocketJob job;
  double measured = 0;  // algorithm bandwidth, GB/s
};

std::optional<Question> question_of(const FactStore& store) {
  const std::optional<Fact> seen = first_of(store, "is.socket_beside_rdma");
  std::optional<Fact> row;
  for (const Fact* fact : store.named("test.row")) {
    const bool larger = !row || parse_number(fact->get("bytes")).value_or(0) >
                                    parse_number(row->get("bytes")).value_or(0);
    row = larger ? *fact : row;
  }
  const std::int32_t ranks = ranks_of(store);
  const std::int32_t hosts = hosts_of(store);
  if (!seen || !row || ranks < hosts || ranks % hosts != 0) {
    return std::nullopt;
  }
  const std::optional<Bandwidth> socket = bandwidth(speed_of(store, seen->get("interface")));
  const std::optional<Bandwidth> hca = hca_rate(store, *seen);
  const std::int64_t bytes = parse_integer(row->get("bytes")).value_or(0);
  const double measured = parse_number(row->get("algbw")).value_or(0);
  if (!socket || !hca || bytes < 1 || bytes > (std::int64_t{1} << 40) || measured <= 0) {
    return std::nullopt;
  }
  Question question;
  question.job.hosts = hosts;
  question.job.gpus = ranks / hosts;
  question.job.interface = std::string(seen->get("interface"));
  question.job.socket_rate = *socket;
  question.job.hca_rate = *hca;
  question.job.bytes = Bytes(bytes);
  if (const std::optional<Fact> version = first_of(store, "nccl.version")) {
    const auto known = nccl::parse_version(std::string(version->get("version")));
    const bool examined = known && *known >= nccl::kOldest && *known <= nccl::kNewest;
    question.job.version = examined ? *known : nccl::kNewest;
  }
  question.measured = measured;
  return question;
}

}  // namespace

void add_worth(std::vector<diagnosis::Finding>& findings, const FactStore& store) {
  const auto finding = std::find_if(findings.begin(), findings.end(), [](const auto& one) {
    return one.kind == "wrong_interface" || one.kind == "ib_disabled";
  });
  const std::optional<Question> question = question_of(store);
  if (finding == findings.end() || !question) {
    return;
  }
  const DataPath data = find_data(process_query());
  Problems problems;
  const scenarios::Library library = scenarios::load_library(data.catalog(), problems);
  const params::Transports transports = params::load_transports(data.catalog(), problems);
  problems.throw_if_any();
  const std::optional<scenarios::SocketWorth> worth =
      scenarios::worth_of_rdma(question->job, library, {library.catalog, transports});
  if (!worth) {
    return;
  }
  diagnosis::Worth expected;
  expected.before = question->measured;
  expected.after = question->measured * worth->rdma_algbw_GBps / worth->sockets_algbw_GBps;
  expected.from_before =
      fmt::format("algbw as measured; predicted {:.2f}", worth->sockets_algbw_GBps);
  expected.from_after = fmt::format("measured x predicted ratio; predicted {:.2f}, GPUs as in {}",
                                    worth->rdma_algbw_GBps, worth->machine);
  finding->expected = {expected};
}

}  // namespace busbw::tools
