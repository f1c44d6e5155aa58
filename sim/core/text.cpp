// Small text helpers. Numbers are parsed without the locale.
#include "sim/core/text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "sim/core/errors.h"

namespace busbw {
namespace {
bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}
}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  if (text.empty()) {
    return parts;
  }
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> split_blanks(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t at = 0;
  while (at < text.size()) {
    if (blank(text[at])) {
      at++;
      continue;
    }
    const std::size_t start = at;
    while (at < text.size() && !blank(text[at])) {
      at++;
    }
    parts.push_back(text.substr(start, at - start));
  }
  return parts;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) {
    lines.pop_back();
  }
  for (std::string_view& line : lines) {
    if (!line.empty() && line.back() == '\r') {
      line.remove_suffix(1);
    }
  }
  return lines;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    }
  }
  return result;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string result;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) {
      result += separator;
    }
    result += part;
  }
  return result;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty()) {
    return std::nullopt;
  }
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<int> before(width);
  std::vector<int> last(width);
  std::vector<int> row(width);
  for (std::size_t j = 0; j < width; j++) {
    last[j] = static_cast<int>(j);
  }
  for (std::size_t i = 1; i <= a.size(); i++) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j < width; j++) {
      const int replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  const std::string wanted = lower(word);
  std::optional<std::string> best;
  std::pair<int, int>
      best_distance;  // without and with case: 'GBs' is nearer to 'GB/s' than to 'Gb/s'
  for (const std::string& candidate : candidates) {
    const int longer = static_cast<int>(std::max(word.size(), candidate.size()));
    const int limit = std::min((longer + 2) / 3, longer - 1);  // one letter is never near another
    const int shorter = static_cast<int>(std::min(word.size(), candidate.size()));
    if (longer - shorter > limit) {
      continue;  // spares the work for absurdly long words
    }
    const int loose = edit_distance(wanted, lower(candidate));
    const std::pair<int, int> distance = {loose, edit_distance(word, candidate)};
    if (loose <= limit && (!best || distance < best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::optional<std::string> near = nearest(word, candidates);
  return near ? "; did you mean '" + *near + "'?" : "";
}

std::string quoted_list(const std::vector<std::string>& words) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); i++) {
    if (i > 0) {
      result += i + 1 == words.size() ? " or " : ", ";
    }
    result += "'" + words[i] + "'";
  }
  return result;
}

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) {
    return 0;
  }
  for (std::size_t i = 1; i < length; i++) {
    if ((byte(i) & 0xc0U) != 0x80U) {
      return 0;
    }
  }
  const unsigned second = byte(1);
  const bool bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                   (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return bad ? 0 : length;
}

std::string read_file(const std::string& path, std::size_t max_bytes) {
  // C streams: they report a directory and a read error by errno, which std::ifstream loses.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) {
    throw SystemError({"open", std::strerror(errno), path, ""});
  }
  std::string text;
  std::array<char, 65536> block{};
  while (text.size() < max_bytes) {
    const std::size_t wanted = std::min(block.size(), max_bytes - text.size());
    const std::size_t count = std::fread(block.data(), 1, wanted, file.get());
    text.append(block.data(), count);
    if (count < wanted) {
      if (std::ferror(file.get()) != 0) {
        throw SystemError({"read", std::strerror(errno), path, ""});
      }
      break;
    }
  }
  return text;
}

}  // namespace busbw
