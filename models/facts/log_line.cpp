// See log_line.h.
#include "models/facts/log_line.h"

#include <vector>

#include "sim/core/text.h"

namespace busbw::facts {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

bool digit(char c) {
  return c >= '0' && c <= '9';
}

/// End of a colour code that starts at `at` (ESC [ 1 ; 31 m), or `at`.
std::size_t end_of_colour(std::string_view line, std::size_t at) {
  if (line[at] != '\x1b' || at + 1 >= line.size() || line[at + 1] != '[') {
    return at;
  }
  std::size_t end = at + 2;
  while (end < line.size() && (digit(line[end]) || line[end] == ';' || line[end] == '?')) {
    end++;
  }
  return end < line.size() ? end + 1 : end;
}

bool all_digits(std::string_view text) {
  for (const char c : text) {
    if (!digit(c)) {
      return false;
    }
  }
  return !text.empty();
}

/// "[1,0]<stdout>:node-a:1001:1101" -> "node-a"; nothing for other words.
std::string_view host_of_word(std::string_view word) {
  const std::size_t tid = word.rfind(':');
  if (tid == kNone || !all_digits(word.substr(tid + 1)) || tid == 0) {
    return {};
  }
  const std::size_t pid = word.rfind(':', tid - 1);
  if (pid == kNone || pid == 0 || !all_digits(word.substr(pid + 1, tid - pid - 1))) {
    return {};
  }
  std::string_view host = word.substr(0, pid);
  const std::size_t prefix = host.find_last_of(":>|]) ");
  if (prefix != kNone) {
    host.remove_prefix(prefix + 1);
  }
  // A time of day or an ISO time has the same form.
  const bool time = all_digits(host) || (host.size() > 10 && all_digits(host.substr(0, 4)) &&
                                         host[4] == '-' && host[7] == '-');
  return time ? std::string_view() : host;
}

}  // namespace

std::string without_colour(std::string_view line) {
  std::string result;
  result.reserve(line.size());
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = end_of_colour(line, at);
    if (end > at) {
      at = end;
      continue;
    }
    const auto byte = static_cast<unsigned char>(line[at]);
    if (byte == '\t' || (byte >= 0x20 && byte != 0x7f)) {
      result += line[at];
    }
    at++;
  }
  return result;
}

std::string without_json_frame(std::string line) {
  constexpr std::string_view kStart = "{\"log\":\"";
  if (line.compare(0, kStart.size(), kStart) != 0) {
    return line;
  }
  std::string result;
  for (std::size_t at = kStart.size(); at < line.size() && line[at] != '"'; at++) {
    if (line[at] != '\\' || at + 1 >= line.size()) {
      result += line[at];
      continue;
    }
    at++;
    if (line[at] == 't') {
      result += '\t';
    } else if (line[at] != 'n' && line[at] != 'r') {
      result += line[at];
    }
  }
  return result;
}

std::string_view without_quote_signs(std::string_view line) {
  line = trim(line);
  while (line.size() > 1 && (line[0] == '#' || line[0] == '>' || line[0] == '$') &&
         (line[1] == ' ' || line[1] == '\t')) {
    line = trim(line.substr(1));
  }
  return line;
}

bool read_nccl_line(std::string_view line, NcclLine& result) {
  static constexpr std::string_view kLevels[] = {"INFO", "WARN", "TRACE", "ERROR"};
  constexpr std::string_view kMark = "NCCL ";
  for (std::size_t mark = line.find(kMark); mark != kNone; mark = line.find(kMark, mark + 1)) {
    const std::string_view rest = line.substr(mark + kMark.size());
    for (const std::string_view level : kLevels) {
      if (rest.substr(0, level.size()) != level ||
          (rest.size() > level.size() && rest[level.size()] != ' ')) {
        continue;
      }
      result = {};
      result.level = std::string(level);
      result.text = trim(rest.substr(level.size()));
      for (const std::string_view word : split_blanks(line.substr(0, mark))) {
        const std::string_view host = host_of_word(word);
        if (result.host.empty() && !host.empty()) {
          result.host = std::string(host);
        } else if (word.size() > 2 && word.front() == '[' && word.back() == ']') {
          result.device = std::string(word.substr(1, word.size() - 2));
        } else if (!result.host.empty() && word.find(':') != kNone) {
          result.source = std::string(word);
        }
      }
      return true;
    }
  }
  return false;
}

}  // namespace busbw::facts
