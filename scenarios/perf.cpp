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
  if (result.decision.outcome != nccl::Outcome::kRuns) {
    result.error = result.decision.error.value_or("no reason given");
    return result;
  }
  const Plan plan = make_plan(result.variant, job);
  result.ranks = plan.shape.ranks;
  double sum = 0;
  for (const Bytes asked : request.sizes) {
    const TestSize size = test_size(request.collective, asked, request.element, result.ranks);
    if (size.bytes == Bytes()) {
      result.empty.push_back(asked);
      continue;
    }
    result.sizes.push_back(
        simulate_choice(result.variant, plan, context, request.engine, size.bytes));
    result.sizes.back().count = size.count;
    if (result.sizes.back().chosen.failure) {
      throw InputError(*result.sizes.back().chosen.failure + ": a link on its way is down");
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
