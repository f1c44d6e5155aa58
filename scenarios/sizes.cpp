// The sizes of a variant: which candidates are looked at, and the rates of what comes out.
#include <algorithm>

#include <fmt/format.h>

#include "scenarios/candidate_runs.h"
#include "scenarios/simulate.h"
#include "sim/core/quantity.h"

namespace busbw::scenarios {
namespace {

SizeResult size_result(const Variant& variant, Bytes bytes) {
  SizeResult result;
  result.collective = variant.workload.collective;
  result.bytes = bytes;
  result.count = bytes / variant.workload.element;
  return result;
}

}  // namespace

std::vector<std::string> steady_remarks(const std::vector<SizeResult>& results) {
  std::vector<std::pair<std::string, std::string>> lines;  // from what, sizes
  for (const SizeResult& result : results) {
    const std::string& from = result.chosen.steady;
    if (from.empty()) {
      continue;
    }
    const auto known = std::find_if(lines.begin(), lines.end(),
                                    [&](const auto& line) { return line.first == from; });
    if (known == lines.end()) {
      lines.emplace_back(from, to_string(result.bytes));
    } else {
      known->second.append(", ").append(to_string(result.bytes));
    }
  }
  std::vector<std::string> remarks;
  remarks.reserve(lines.size());
  for (const auto& [from, sizes] : lines) {
    remarks.push_back(fmt::format("{}: steady state, from {}", sizes, from));
  }
  return remarks;
}

void set_rates(SizeResult& result, std::int32_t ranks) {
  const double seconds = result.chosen.time.as_seconds();
  const Ratio factor = collectives::busbw_factor(result.collective, ranks);
  result.algbw_GBps = static_cast<double>(result.bytes.count()) / seconds / 1e9;
  result.busbw_GBps = result.algbw_GBps * static_cast<double>(factor.numerator) /
                      static_cast<double>(factor.denominator);
}

std::vector<SizeResult> simulate_sizes(const Variant& variant, const Plan& plan,
                                       const Context& context, EngineChoice engine,
                                       Fingerprint& fingerprint) {
  CandidateRuns runs(variant, plan, context, engine);
  std::vector<SizeResult> results;
  for (const Bytes bytes : variant.workload.sizes) {
    SizeResult& result = results.emplace_back(size_result(variant, bytes));
    const Candidates candidates = candidates_of(plan, variant, bytes);
    result.passed_over = candidates.passed_over;
    for (const Candidate& candidate : candidates.list) {
      result.runs.push_back(runs.run(candidate, bytes, fingerprint));
    }
    result.chosen = result.runs.front();
    set_rates(result, plan.shape.ranks);
  }
  return results;
}

SizeResult simulate_choice(const Variant& variant, const Plan& plan, const Context& context,
                           EngineChoice engine, Bytes bytes) {
  Variant one = variant;
  if (bytes % one.workload.element != Bytes()) {
    one.workload.element = Bytes(1);
    one.workload.type = "uint8";
  }
  SizeResult result = size_result(one, bytes);
  const Candidates candidates = candidates_of(plan, one, bytes);
  result.passed_over = candidates.passed_over;
  Fingerprint unused;
  result.chosen =
      CandidateRuns(one, plan, context, engine).run(candidates.list.front(), bytes, unused);
  result.runs = {result.chosen};
  set_rates(result, plan.shape.ranks);
  return result;
}

}  // namespace busbw::scenarios
