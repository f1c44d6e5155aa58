// See simulate_choice.h.
#include "scenarios/simulate_choice.h"

namespace busbw::scenarios {

bool is_played(collectives::Collective collective) {
  return collective == collectives::Collective::kAllReduce;
}

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
  Fingerprint unused;
  SizeResult result = simulate_sizes(one, plan, context, engine, unused).front();
  result.passed_over = candidates.passed_over;
  return result;
}

}  // namespace busbw::scenarios
