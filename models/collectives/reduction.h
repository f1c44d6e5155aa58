// The reduction operators of NCCL. The operator belongs to the execution, not to the steps: a
// schedule is the same for all of them.
//
// avg is a sum that is scaled once. For integers NCCL divides at the end (SumPostDiv), for floating
// point it multiplies each rank's input by 1/n before (PreMulSum, ncclRedOpPreMulSum; NCCL 2.18 to
// 2.30, src/enqueue.cc, hostToDevRedOp). An executor may do either once per element: the steps do
// not care, and only the last digit of a float differs.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "models/collectives/schedule.h"

namespace busbw::collectives {

enum class Reduction : std::uint8_t { kSum, kProd, kMin, kMax, kAvg };
/// "sum", "prod", "min", "max", "avg": the names of nccl-tests' option -o.
std::string to_string(Reduction reduction);
std::optional<Reduction> parse_reduction(const std::string& name);

/// Whether the collective reduces: all_reduce, reduce, reduce_scatter.
bool reduces(Collective collective);

/// What a reduce step makes of two operands; of avg it is the sum. Wraps around as integers of a
/// GPU do.
std::int64_t combine(Reduction reduction, std::int64_t a, std::int64_t b);
/// What becomes of the combined value of `ranks` ranks in the end: avg divides, towards zero.
std::int64_t finish(Reduction reduction, std::int64_t value, std::int32_t ranks);

}  // namespace busbw::collectives
