// See element.h.
#include "real/executor/element.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

#include "sim/core/check.h"

namespace busbw::real {
namespace {

const std::vector<std::string> kTypeNames = {"float", "double", "bfloat16", "half",
                                             "int8",  "int32",  "int64",    "uint8"};
const std::vector<std::string> kReductionNames = {"sum", "prod", "min", "max", "avg"};

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
float float_of(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// `value` without its lowest `drop` bits, rounded to nearest, ties to even. 0 < drop < 32.
std::uint32_t round_off(std::uint32_t value, unsigned drop) {
  const std::uint32_t kept = value >> drop;
  const std::uint32_t rest = value & ((1U << drop) - 1U);
  const std::uint32_t half = 1U << (drop - 1U);
  return kept + (rest > half || (rest == half && (kept & 1U) != 0) ? 1U : 0U);
}

/// Storage of each type, and the type it is computed in.
template <class Stored, class Computed>
struct Plain {
  using Number = Computed;
  static constexpr std::size_t kBytes = sizeof(Stored);
  static Number load(const std::byte* from) {
    Stored stored{};
    std::memcpy(&stored, from, sizeof stored);
    return static_cast<Number>(stored);
  }
  static void store(std::byte* to, Number number) {
    const auto stored = static_cast<Stored>(number);
    std::memcpy(to, &stored, sizeof stored);
  }
};
template <float (*From)(std::uint16_t), std::uint16_t (*To)(float)>
struct Short {
  using Number = float;
  static constexpr std::size_t kBytes = 2;
  static Number load(const std::byte* from) {
    return From(Plain<std::uint16_t, std::uint16_t>::load(from));
  }
  static void store(std::byte* to, Number number) {
    Plain<std::uint16_t, std::uint16_t>::store(to, To(number));
  }
};

/// Calls body(Format()) for the format of `type`.
template <class Body>
auto with_format(ElementType type, Body body) {
  switch (type) {
    case ElementType::kFloat:
      return body(Plain<float, float>());
    case ElementType::kDouble:
      return body(Plain<double, double>());
    case ElementType::kBfloat16:
      return body(Short<from_bfloat16, to_bfloat16>());
    case ElementType::kHalf:
      return body(Short<from_half, to_half>());
    case ElementType::kInt8:
      return body(Plain<std::int8_t, std::int8_t>());
    case ElementType::kInt32:
      return body(Plain<std::int32_t, std::int32_t>());
    case ElementType::kInt64:
      return body(Plain<std::int64_t, std::int64_t>());
    case ElementType::kUint8:
      return body(Plain<std::uint8_t, std::uint8_t>());
  }
  CHECK(false, "element type {}", static_cast<int>(type));
}

/// Integers wrap: computed unsigned in 64 bits, whose low bits are right whatever the sign.
template <class Number>
Number add(Number a, Number b) {
  if constexpr (std::is_integral_v<Number>) {
    return static_cast<Number>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}
template <class Number>
Number multiply(Number a, Number b) {
  if constexpr (std::is_integral_v<Number>) {
    return static_cast<Number>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

template <class Format, class Combine>
void combine(const Operands& operands, Combine operation) {
  for (std::size_t i = 0; i < operands.count; ++i) {
    const std::size_t at = i * Format::kBytes;
    Format::store(operands.to + at,
                  operation(Format::load(operands.a + at), Format::load(operands.b + at)));
  }
}

}  // namespace

std::string to_string(ElementType type) {
  return kTypeNames.at(static_cast<std::size_t>(type));
}
const std::vector<std::string>& element_type_names() {
  return kTypeNames;
}
std::optional<ElementType> parse_element_type(const std::string& name) {
  const auto found = std::find(kTypeNames.begin(), kTypeNames.end(), name);
  if (found == kTypeNames.end())
    return std::nullopt;
  return static_cast<ElementType>(found - kTypeNames.begin());
}

Bytes size_of(ElementType type) {
  return Bytes(with_format(
      type, [](auto format) { return static_cast<std::int64_t>(decltype(format)::kBytes); }));
}

const std::vector<std::string>& reduction_names() {
  return kReductionNames;
}
float from_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t exponent = bits >> 10U & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0x1fU)
    return float_of(sign | 0x7f800000U | fraction << 13U);
  if (exponent == 0) {
    // Zero or subnormal: fraction x 2^-24, exact in float.
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return float_of(sign | bits_of(magnitude));
  }
  return float_of(sign | (exponent + 112U) << 23U | fraction << 13U);
}

std::uint16_t to_half(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000U) {
    half = 0x7e00U;  // a quiet NaN
  } else if (magnitude >= 0x38800000U) {
    // At least 2^-14: normal. Rounding may carry into the exponent, up to infinity.
    half = std::min(round_off(magnitude - 0x38000000U, 13), 0x7c00U);
  } else if (magnitude >= 0x33000000U) {
    // From 2^-25 (half of the least subnormal) on: shift the significand into place.
    const std::uint32_t significand = (magnitude & 0x7fffffU) | 0x800000U;
    half = round_off(significand, 126U - (magnitude >> 23U));
  }
  return static_cast<std::uint16_t>(sign | half);
}

float from_bfloat16(std::uint16_t bits) {
  return float_of(static_cast<std::uint32_t>(bits) << 16U);
}

std::uint16_t to_bfloat16(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U)
    return static_cast<std::uint16_t>(bits >> 16U | 0x40U);  // stays a NaN
  return static_cast<std::uint16_t>(round_off(bits, 16));
}

void reduce(ElementType type, Reduction reduction, const Operands& operands) {
  with_format(type, [&](auto format) {
    using Format = decltype(format);
    using Number = typename Format::Number;
    switch (reduction) {
      case Reduction::kSum:
      case Reduction::kAvg:
        return combine<Format>(operands, add<Number>);
      case Reduction::kProd:
        return combine<Format>(operands, multiply<Number>);
      case Reduction::kMin:
        return combine<Format>(operands, [](Number a, Number b) { return std::min(a, b); });
      case Reduction::kMax:
        return combine<Format>(operands, [](Number a, Number b) { return std::max(a, b); });
    }
    CHECK(false, "reduction {}", static_cast<int>(reduction));
  });
}

void divide(ElementType type, std::byte* to, std::size_t count, std::int32_t ranks) {
  with_format(type, [&](auto format) {
    using Format = decltype(format);
    using Number = typename Format::Number;
    // Integers in 64 bits: the number of ranks may be more than the type holds.
    using Wide = std::conditional_t<std::is_integral_v<Number>, std::int64_t, Number>;
    for (std::size_t i = 0; i < count; ++i) {
      std::byte* at = to + i * Format::kBytes;
      Format::store(
          at, static_cast<Number>(static_cast<Wide>(Format::load(at)) / static_cast<Wide>(ranks)));
    }
  });
}

double element_value(ElementType type, const std::byte* from, std::size_t index) {
  return with_format(type, [&](auto format) {
    using Format = decltype(format);
    return static_cast<double>(Format::load(from + index * Format::kBytes));
  });
}

void set_element(ElementType type, std::byte* to, std::size_t index, std::int64_t value) {
  with_format(type, [&](auto format) {
    using Format = decltype(format);
    Format::store(to + index * Format::kBytes, static_cast<typename Format::Number>(value));
  });
}

std::int64_t exact_limit(ElementType type) {
  static constexpr std::array<std::int64_t, 8> kLimits = {
      1LL << 24, 1LL << 53, 1LL << 8, 1LL << 11, 127, std::numeric_limits<std::int32_t>::max(),
      1LL << 53, 255};  // int64: what a double shows exactly
  return kLimits.at(static_cast<std::size_t>(type));
}

bool is_signed(ElementType type) {
  return type != ElementType::kUint8;
}

}  // namespace busbw::real
