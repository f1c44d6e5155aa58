// Element types: conversions against the definition of the formats, reductions worked by hand, and
// values whose results are exact.
#include "real/executor/element.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "real/executor/verify.h"

namespace busbw::real {
namespace {

/// binary16 by its definition: (-1)^s 2^(e-15) (1 + f/1024), or f 2^-24 for e = 0.
double half_by_definition(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  return exponent == 0 ? sign * fraction * std::pow(2.0, -24)
                       : sign * std::pow(2.0, exponent - 15) * (1 + fraction / 1024.0);
}

TEST(Half, EveryFiniteValueComesBack) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if ((half & 0x7c00) == 0x7c00)
      continue;  // infinity and NaN: below
    EXPECT_EQ(static_cast<double>(from_half(half)), half_by_definition(half)) << bits;
    EXPECT_EQ(to_half(from_half(half)), half);
  }
}

TEST(Half, RoundsToNearestTiesToEven) {
  for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const auto next = static_cast<std::uint16_t>(bits + 1);
    const float low = from_half(bits);
    const float high = from_half(next);
    const float middle = low + (high - low) / 2;  // exact in float
    EXPECT_EQ(to_half(middle), (bits & 1) == 0 ? bits : next) << bits;
    EXPECT_EQ(to_half(std::nextafter(middle, 0.0F)), bits) << bits;
    EXPECT_EQ(to_half(std::nextafter(middle, 1e9F)), next) << bits;
  }
}

TEST(Half, BeyondTheRange) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to_half(65519.0F), 0x7bff);  // below the middle of 65504 and 65536
  EXPECT_EQ(to_half(65520.0F), 0x7c00);
  EXPECT_EQ(to_half(-1e30F), 0xfc00);
  EXPECT_EQ(to_half(infinity), 0x7c00);
  EXPECT_EQ(from_half(0x7c00), infinity);
  EXPECT_TRUE(std::isnan(from_half(to_half(std::nanf("")))));
  EXPECT_EQ(to_half(0x1p-26F), 0);
  EXPECT_EQ(to_half(-0.0F), 0x8000);
}

TEST(Bfloat16, RoundsToNearestTiesToEven) {
  EXPECT_EQ(to_bfloat16(1.0F), 0x3f80);
  EXPECT_EQ(to_bfloat16(257.0F), to_bfloat16(256.0F));    // a tie, even is 256
  EXPECT_EQ(to_bfloat16(259.0F), to_bfloat16(260.0F));    // a tie, even is 260
  EXPECT_EQ(from_bfloat16(to_bfloat16(258.0F)), 258.0F);  // steps of 2 above 256
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(std::nanf("")))));
  for (std::uint32_t bits = 0; bits < 0x7f80; ++bits)
    EXPECT_EQ(to_bfloat16(from_bfloat16(static_cast<std::uint16_t>(bits))), bits);
}

template <class T>
T reduced(ElementType type, Reduction reduction, T a, T b) {
  T to{};
  Operands operands;
  operands.to = reinterpret_cast<std::byte*>(&to);
  operands.a = reinterpret_cast<const std::byte*>(&a);
  operands.b = reinterpret_cast<const std::byte*>(&b);
  operands.count = 1;
  reduce(type, reduction, operands);
  return to;
}

TEST(Reduce, ByHand) {
  EXPECT_EQ(reduced(ElementType::kFloat, Reduction::kSum, 1.5F, 2.25F), 3.75F);
  EXPECT_EQ(reduced(ElementType::kDouble, Reduction::kProd, 3.0, -7.0), -21.0);
  EXPECT_EQ(reduced<std::int32_t>(ElementType::kInt32, Reduction::kMin, -5, 3), -5);
  EXPECT_EQ(reduced<std::uint8_t>(ElementType::kUint8, Reduction::kMax, 200, 3), 200);
  // Integers wrap: 127 + 1 in int8, 200 x 2 in uint8, the largest int64 plus 1.
  EXPECT_EQ(reduced<std::int8_t>(ElementType::kInt8, Reduction::kSum, 127, 1), -128);
  EXPECT_EQ(reduced<std::uint8_t>(ElementType::kUint8, Reduction::kProd, 200, 2), 144);
  EXPECT_EQ(reduced<std::int64_t>(ElementType::kInt64, Reduction::kSum,
                                  std::numeric_limits<std::int64_t>::max(), 1),
            std::numeric_limits<std::int64_t>::min());
  // 256 + 1 has no bfloat16 and 2048 + 1 no half.
  EXPECT_EQ(reduced(ElementType::kBfloat16, Reduction::kSum, to_bfloat16(256), to_bfloat16(1)),
            to_bfloat16(256));
  EXPECT_EQ(reduced(ElementType::kHalf, Reduction::kSum, to_half(2048), to_half(1)), to_half(2048));
}

TEST(Divide, IntegersTowardsZero) {
  std::int8_t values[] = {-7, 7, 100};
  divide(ElementType::kInt8, reinterpret_cast<std::byte*>(values), 3, 2);
  EXPECT_EQ(values[0], -3);
  EXPECT_EQ(values[1], 3);
  EXPECT_EQ(values[2], 50);
}

TEST(Names, AreThoseOfNcclTests) {
  for (const std::string& name : element_type_names())
    EXPECT_EQ(to_string(*parse_element_type(name)), name);
  for (const std::string& name : reduction_names())
    EXPECT_EQ(to_string(*collectives::parse_reduction(name)), name);
  EXPECT_FALSE(parse_element_type("bf16"));
  EXPECT_FALSE(collectives::parse_reduction("mean"));
}

/// Whatever the order of the ranks, every partial result is exact: it fits, and comes back.
TEST(InputValues, KeepEveryPartialResultExact) {
  for (const std::string& type_name : element_type_names()) {
    for (const std::string& reduction_name : reduction_names()) {
      for (const std::int32_t ranks : {1, 2, 3, 7, 8, 64}) {
        CheckedCollective checked;
        checked.type = *parse_element_type(type_name);
        checked.reduction = *collectives::parse_reduction(reduction_name);
        checked.ranks = ranks;
        for (std::int64_t index = 0; index < 50; ++index) {
          std::int64_t largest = 0;  // no partial sum or product is larger
          std::int64_t product = 1;
          for (std::int32_t rank = 0; rank < ranks; ++rank) {
            const std::int64_t value = input_value(checked, RankId(rank), index);
            largest += std::abs(value);
            product *= checked.reduction == Reduction::kProd ? value : 1;
          }
          const bool adds =
              checked.reduction == Reduction::kSum || checked.reduction == Reduction::kAvg;
          EXPECT_LE(adds ? largest : product, exact_limit(checked.type))
              << type_name << " " << reduction_name << " " << ranks;
        }
      }
    }
  }
}

TEST(InputValues, DifferFromRankToRankAndElementToElement) {
  CheckedCollective checked;
  checked.ranks = 4;
  int same = 0;
  for (std::int64_t index = 0; index < 100; ++index) {
    same += input_value(checked, RankId(0), index) == input_value(checked, RankId(1), index);
    same += input_value(checked, RankId(0), index) == input_value(checked, RankId(0), index + 1);
  }
  EXPECT_LT(same, 10);
}

/// One after the other, by definition; with more ranks than int8 can count too.
TEST(ExpectedValue, IsTheReductionOfAllInputs) {
  for (const std::string& type_name : element_type_names()) {
    for (const std::string& reduction_name : reduction_names()) {
      for (const std::int32_t ranks : {1, 2, 3, 8, 130}) {
        CheckedCollective checked;
        checked.type = *parse_element_type(type_name);
        checked.reduction = *collectives::parse_reduction(reduction_name);
        checked.ranks = ranks;
        checked.salt = 5;
        for (std::int64_t index = 0; index < 50; ++index) {
          std::int64_t result = input_value(checked, RankId(0), index);
          for (std::int32_t rank = 1; rank < ranks; ++rank) {
            const std::int64_t value = input_value(checked, RankId(rank), index);
            if (checked.reduction == Reduction::kProd)
              result *= value;
            else if (checked.reduction == Reduction::kMin)
              result = std::min(result, value);
            else if (checked.reduction == Reduction::kMax)
              result = std::max(result, value);
            else
              result += value;
          }
          if (checked.reduction == Reduction::kAvg)
            result /= ranks;
          EXPECT_EQ(expected_value(checked, RankId(0), index, 50), result)
              << type_name << " " << reduction_name << " " << ranks << " ranks";
        }
      }
    }
  }
}

TEST(FindDifference, NamesTheFirstWrongElement) {
  CheckedCollective checked;
  checked.ranks = 2;
  checked.type = ElementType::kInt32;
  std::vector<std::int32_t> output(10);
  const std::span<std::byte> bytes(reinterpret_cast<std::byte*>(output.data()), 40);
  for (std::size_t i = 0; i < output.size(); ++i) {
    output[i] = static_cast<std::int32_t>(
        *expected_value(checked, RankId(1), static_cast<std::int64_t>(i), 10));
  }
  EXPECT_FALSE(find_difference(checked, RankId(1), bytes));
  const std::int32_t right = output[3];
  output[3] += 1;
  output[9] = -4;
  const std::string text = *find_difference(checked, RankId(1), bytes);
  EXPECT_EQ(text, "rank 1 element 3 of 10 is " + std::to_string(right + 1) + ", expected " +
                      std::to_string(right) + " (2 elements differ)");
}

/// What each collective promises, for 3 ranks of 2 elements, from the definition in nccl-tests.
TEST(ExpectedValue, OfEachCollective) {
  CheckedCollective checked;
  checked.ranks = 3;
  checked.root = RankId(1);
  const auto in = [&](std::int32_t rank, std::int64_t index) {
    return input_value(checked, RankId(rank), index);
  };
  const auto expect = [&](std::int32_t rank, std::int64_t index, std::int64_t count) {
    return expected_value(checked, RankId(rank), index, count);
  };
  using collectives::Collective;
  checked.collective = Collective::kBroadcast;
  EXPECT_EQ(expect(2, 1, 2), in(1, 1));
  checked.collective = Collective::kAllGather;
  EXPECT_EQ(expect(0, 5, 2), in(2, 1));
  checked.collective = Collective::kAllToAll;
  EXPECT_EQ(expect(2, 1, 2), in(0, 5));
  EXPECT_EQ(expect(2, 2, 2), in(1, 4));
  checked.collective = Collective::kSendRecv;
  EXPECT_EQ(expect(0, 1, 2), in(2, 1));
  checked.collective = Collective::kGather;
  EXPECT_EQ(expect(1, 3, 2), in(1, 1));
  EXPECT_FALSE(expect(0, 3, 2));
  checked.collective = Collective::kScatter;
  EXPECT_EQ(expect(2, 1, 2), in(1, 5));
  checked.collective = Collective::kReduce;
  EXPECT_EQ(expect(1, 0, 2), in(0, 0) + in(1, 0) + in(2, 0));
  EXPECT_FALSE(expect(2, 0, 2));
  checked.collective = Collective::kReduceScatter;
  EXPECT_EQ(expect(2, 1, 2), in(0, 5) + in(1, 5) + in(2, 5));
}

}  // namespace
}  // namespace busbw::real
