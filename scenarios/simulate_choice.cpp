// See simulate_choice.h.
#include "scenarios/simulate_choice.h"

namespace busbw::scenarios {

namespace {

SizeResult play(const Variant& one, const Plan& plan, const Context& context, engine::Kind engine) {
  Fingerprint unused;
  return simulate_sizes(one, plan, context, engine, unused).front();
}

/// `one` has one size.
SizeResult play_or_extrapolate(const Variant& one, const Plan& plan, const Context& context,
                               engine::Kind engine) {
  const Bytes bytes = one.workload.sizes.front();
  if (bytes <= kLargestPlayed) {
    return play(one, plan, context, engine);
  }
  Variant part = one;
  part.workload.sizes = {kLargestPlayed / 2};
  const SizeResult half = play(part, plan, context, engine);
  part.workload.sizes = {kLargestPlayed};
  SizeResult result = play(part, plan, context, engine);
  const Ratio more{(bytes - kLargestPlayed).count(), (kLargestPlayed / 2).count()};
  const auto extend = [&](Duration& whole, Duration first_half) {
    whole += Duration::picoseconds(scale((whole - first_half).ps(), more));
  };
  extend(result.chosen.time, half.chosen.time);
  extend(result.chosen.latency, half.chosen.latency);
  result.chosen.leaving_host =
      Bytes(scale(result.chosen.leaving_host.count(), {bytes.count(), kLargestPlayed.count()}));
  result.runs = {result.chosen};
  result.bytes = bytes;
  result.count = bytes / one.workload.element;
  set_rates(result, plan.shape.ranks);
  return result;
}

}  // namespace

SizeResult simulate_choice(const Variant& variant, const Plan& plan, const Context& context,
                           engine::Kind engine, Bytes bytes) {
  Variant one = variant;
  one.workload.sizes = {bytes};
  if (bytes % one.workload.element != Bytes()) {
    one.workload.element = Bytes(1);
    one.workload.type = "uint8";
  }
  const Candidates candidates = find_candidates(plan, one, bytes);
  if (!candidates.list.empty() && !one.workload.algorithm) {
    one.workload.algorithm = candidates.list.front().algorithm;
  }
  SizeResult result = play_or_extrapolate(one, plan, context, engine);
  result.passed_over = candidates.passed_over;
  return result;
}

}  // namespace busbw::scenarios
