// Small text helpers that std lacks in C++20 on g++ 12 and clang 14.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace busbw {

std::string_view trim(std::string_view text);
/// Parts between separators; "a,,b" has three. Empty text has none.
std::vector<std::string_view> split(std::string_view text, char separator);
/// Parts between runs of blanks.
std::vector<std::string_view> split_blanks(std::string_view text);
std::vector<std::string_view> split_lines(std::string_view text);
// The parts are views of `text`: those of a string that ends with the statement would hang.
template <class Text>
concept Temporary = std::same_as<std::remove_const_t<Text>, std::string>;
template <Temporary Text>
std::vector<std::string_view> split(Text&& text, char separator) = delete;
template <Temporary Text>
std::vector<std::string_view> split_blanks(Text&& text) = delete;
template <Temporary Text>
std::vector<std::string_view> split_lines(Text&& text) = delete;
std::string lower(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// The whole text as a decimal integer, or nothing.
std::optional<std::int64_t> parse_integer(std::string_view text);
/// The whole text as a finite decimal number (locale independent), or nothing.
std::optional<double> parse_number(std::string_view text);

/// Optimal string alignment distance (insert, delete, replace, swap neighbours).
int edit_distance(std::string_view a, std::string_view b);
/// The candidate nearest to `word` if it is near enough (at most a third of its letters differ),
/// else nothing. Letter case counts only between candidates that are equally near; further ties
/// keep the first.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);
/// "; did you mean 'x'?" or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);
/// "'a', 'b' or 'c'".
std::string quoted_list(const std::vector<std::string>& words);

/// Length of the UTF-8 character at the start of `text` (not empty), 0 when it is none: stray and
/// missing bytes, overlong forms, surrogates, values above U+10FFFF.
std::size_t utf8_length(std::string_view text);

/// The file as text, its first `max_bytes` at most. Throws SystemError naming call and path, also
/// for a directory.
std::string read_file(const std::string& path, std::size_t max_bytes = std::string::npos);

}  // namespace busbw
