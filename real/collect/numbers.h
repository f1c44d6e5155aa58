// Numbers as the kernel prints them in small files.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace busbw::real::collect {

/// "17"; nothing for other text.
std::optional<std::int64_t> decimal(std::string_view text);
/// "0x1003" or "1003"; at most 16 digits, nothing for other text.
std::optional<std::uint64_t> hexadecimal(std::string_view text);
/// "0200:00ff:fe00:0001": groups of digits; nothing for other text.
std::optional<std::uint64_t> grouped(std::string_view text);

}  // namespace busbw::real::collect
