// Element types of nccl-tests and their sizes.
#pragma once
#include <array>
#include <cstdint>

namespace busbw::scenarios {

struct ElementType {
  const char* name;
  std::int64_t bytes;
};

/// Source: nccl-tests 2.14, src/common.cu.
constexpr std::array<ElementType, 12> kElementTypes = {{{"int8", 1},
                                                        {"uint8", 1},
                                                        {"int32", 4},
                                                        {"uint32", 4},
                                                        {"int64", 8},
                                                        {"uint64", 8},
                                                        {"half", 2},
                                                        {"float", 4},
                                                        {"double", 8},
                                                        {"bfloat16", 2},
                                                        {"f8e4m3", 1},
                                                        {"f8e5m2", 1}}};

}  // namespace busbw::scenarios
