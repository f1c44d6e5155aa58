// The sizes of a variant: which candidates are looked at, and the rates of what comes out.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "scenarios/candidate_runs.h"
#include "scenarios/simulate.h"
#include "sim/core/quantity.h"
#include "sim/core/text.h"

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

std::string engine_text(EngineChoice engine, const std::vector<SizeResult>& results) {
  struct Group {
    std::string level;
    std::string why;
    std::string first;
    std::string last;
  };
  const bool asked = engine.level != Level::kAuto;
  std::vector<Group> groups;
  for (const SizeResult& result : results) {
    const std::string level = result.chosen.steady.empty() ? "fluid" : "steady";
    const std::string size = to_string(result.bytes);
    if (!groups.empty() && groups.back().level == level &&
        (groups.back().why == result.chosen.level_why || level == "steady")) {
      groups.back().last = size;
    } else {
      groups.push_back({level, result.chosen.level_why, size, size});
    }
  }
  std::vector<std::string> texts;
  texts.reserve(groups.size());
  for (const Group& group : groups) {
    texts.push_back(fmt::format(
        "{} for {} ({})", group.level,
        group.first == group.last ? group.first : fmt::format("{} to {}", group.first, group.last),
        group.why));
  }
  const std::string name = to_string(engine);
  return asked || texts.empty() ? name : fmt::format("{}: {}", name, join(texts, ", "));
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

struct ChoiceRuns::Job {
  Job(Variant of, const Plan& plan, const Context& context, EngineChoice engine)
      : variant(std::move(of)), runs(variant, plan, context, engine) {}
  Variant variant;
  CandidateRuns runs;  // refers to it
};

ChoiceRuns::ChoiceRuns(const Variant& variant, const Plan& plan, const Context& context,
                       EngineChoice engine)
    : variant_(variant), plan_(plan), context_(context), engine_(engine) {}

ChoiceRuns::ChoiceRuns(ChoiceRuns&&) noexcept = default;
ChoiceRuns::~ChoiceRuns() = default;

ChoiceRuns::Job& ChoiceRuns::job_for(Bytes bytes) {
  const bool whole = bytes % variant_.workload.element == Bytes();
  std::unique_ptr<Job>& job = whole ? whole_ : in_bytes_;
  if (!job) {
    Variant variant = variant_;
    if (!whole) {
      variant.workload.element = Bytes(1);
      variant.workload.type = "uint8";
    }
    job = std::make_unique<Job>(std::move(variant), plan_, context_, engine_);
  }
  return *job;
}

SizeResult ChoiceRuns::run(Bytes bytes) {
  Job& job = job_for(bytes);
  SizeResult result = size_result(job.variant, bytes);
  const Candidates candidates = candidates_of(plan_, job.variant, bytes);
  result.passed_over = candidates.passed_over;
  Fingerprint unused;
  result.chosen = job.runs.run(candidates.list.front(), bytes, unused);
  result.runs = {result.chosen};
  set_rates(result, plan_.shape.ranks);
  return result;
}

}  // namespace busbw::scenarios
