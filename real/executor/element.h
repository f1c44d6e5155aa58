// Element types and reductions of collectives on host memory, exact to the type.
//
// half is IEEE binary16, bf16 the upper half of binary32; both are computed in float and rounded to
// nearest, ties to even, after every operation. Integers wrap. avg is a sum whose result is divided
// by the number of ranks at the end (integers: towards zero), as NCCL does for integers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/collectives/reduction.h"
#include "sim/core/units.h"

namespace busbw::real {

enum class ElementType { kFloat, kDouble, kBfloat16, kHalf, kInt8, kInt32, kInt64, kUint8 };
/// As nccl-tests spells them: "float", "double", "bfloat16", "half", "int8", "int32", "int64",
/// "uint8".
std::string to_string(ElementType type);
std::optional<ElementType> parse_element_type(const std::string& name);
const std::vector<std::string>& element_type_names();
Bytes size_of(ElementType type);

using collectives::Reduction;
/// "sum", "prod", "min", "max", "avg".
const std::vector<std::string>& reduction_names();

float from_half(std::uint16_t bits);
std::uint16_t to_half(float value);
float from_bfloat16(std::uint16_t bits);
std::uint16_t to_bfloat16(float value);

/// to[i] = a[i] op b[i] for `count` elements; kAvg adds. `to` may be `a` or `b`; no alignment is
/// assumed.
struct Operands {
  std::byte* to = nullptr;
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  std::size_t count = 0;
};
void reduce(ElementType type, Reduction reduction, const Operands& operands);
/// to[i] = to[i] / ranks.
void divide(ElementType type, std::byte* to, std::size_t count, std::int32_t ranks);

/// Element `index` as a number, and the other way. Every int64 a type holds exactly comes back.
double element_value(ElementType type, const std::byte* from, std::size_t index);
void set_element(ElementType type, std::byte* to, std::size_t index, std::int64_t value);
/// Largest n such that every integer from 0 to n is exact in the type.
std::int64_t exact_limit(ElementType type);
bool is_signed(ElementType type);

}  // namespace busbw::real
