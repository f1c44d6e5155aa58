// See perf.h.
#include "scenarios/perf.h"

#include <map>

#include <fmt/format.h>

#include "scenarios/job.h"
#include "scenarios/plan.h"
#include "sim/core/errors.h"
#include "sim/core/quantity.h"
#include "sim/core/text.h"

namespace busbw::scenarios {
namespace {

using collectives::Collective;

constexpr std::int64_t kAlignment = 16;  // bytes of a part in nccl-tests

bool has_parts(Collective collective) {
  return collective == Collective::kAllGather || collective == Collective::kReduceScatter ||
         collective == Collective::kAllToAll || collective == Collective::kGather ||
         collective == Collective::kScatter;
}

Variant variant_of(const PerfRequest& request, const Context& context) {
  Variant variant;
  variant.name = request.machine.name;
  variant.environment = request.environment;
  variant.version = request.version;
  variant.workload.collective = request.collective;
  variant.workload.type = request.type;
  variant.workload.element = request.element;
  set_equal_hosts(request.machine, request.hosts, context.catalog, variant);
  return variant;
}

/// "hosts 1, 2 and 7".
std::string hosts_text(const std::vector<std::size_t>& hosts) {
  std::string text = hosts.size() == 1 ? "host " : "hosts ";
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    text += i == 0 ? "" : i + 1 == hosts.size() ? " and " : ", ";
    text += std::to_string(hosts[i]);
  }
  return text;
}

void remark_ports(PerfResult& result) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> hosts;  // from 1
  for (std::size_t host = 0; host < result.variant.inventories.size(); ++host) {
    for (const nccl::Hca& hca : result.variant.inventories[host].hcas) {
      for (const nccl::HcaPort& port : hca.ports) {
        if (port.state != nccl::PortState::kActive) {
          hosts[{fmt::format("{}:{}", hca.name, port.number), to_string(port.state)}].push_back(
              host + 1);
        }
      }
    }
  }
  std::vector<std::string> parts;
  parts.reserve(hosts.size());
  for (const auto& [port, where] : hosts) {
    parts.push_back(fmt::format("{} of {} {}", port.first, hosts_text(where), port.second));
  }
  if (!parts.empty()) {
    result.remarks.push_back("NCCL does not list ports that are not Active: " + join(parts, ", "));
  }
}

void add_remarks(PerfResult& result) {
  std::map<std::string, std::vector<std::string>> sizes;
  for (const SizeResult& size : result.sizes) {
    if (size.passed_over) {
      sizes[*size.passed_over].push_back(to_string(size.bytes));
    }
  }
  for (const auto& [choice, list] : sizes) {
    result.remarks.push_back(
        fmt::format("NCCL takes {} for {}, which is not simulated: the best of Ring and Tree "
                    "stands there instead",
                    choice, join(list, ", ")));
  }
}

}  // namespace

TestSize test_size(Collective collective, Bytes bytes, Bytes element, std::int32_t ranks) {
  std::int64_t count = bytes / element;
  if (has_parts(collective)) {
    const std::int64_t aligned = std::max<std::int64_t>(1, kAlignment / element.count());
    count = count / ranks / aligned * aligned;
    return {element * count * ranks, count};
  }
  return {element * count, count};
}

PerfResult perf(const PerfRequest& request, const Context& context) {
  PerfResult result;
  result.variant = variant_of(request, context);
  const Job job = decide(result.variant, context.catalog);
  result.decision = job.selection;
  remark_ports(result);
  if (result.decision.outcome != nccl::Outcome::kRuns) {
    result.error = result.decision.error.value_or("no reason given");
    return result;
  }
  const Plan plan = make_plan(result.variant, job);
  result.ranks = plan.shape.ranks;
  ChoiceRuns runs(result.variant, plan, context, request.engine);
  double sum = 0;
  for (const Bytes asked : request.sizes) {
    const TestSize size = test_size(request.collective, asked, request.element, result.ranks);
    if (size.bytes == Bytes()) {
      result.empty.push_back(asked);
      continue;
    }
    result.sizes.push_back(runs.run(size.bytes));
    result.sizes.back().count = size.count;
    if (result.sizes.back().chosen.failure) {  // nothing is measured in perf: it has faults
      result.error = failure_text(result.sizes.back());
      result.sizes.clear();
      return result;
    }
    sum += result.sizes.back().busbw_GBps;
  }
  add_remarks(result);
  if (!result.sizes.empty()) {
    result.average_busbw_GBps = sum / static_cast<double>(result.sizes.size());
  }
  return result;
}

}  // namespace busbw::scenarios
