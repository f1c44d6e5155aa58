// See line_pattern.h. Matching never goes back: a field ends where the next text first occurs.
#include "models/facts/line_pattern.h"

#include "sim/core/check.h"
#include "sim/core/text.h"

namespace busbw::facts {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

char lower_letter(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool blank(char c) {
  return c == ' ' || c == '\t';
}

/// End of `text` when it stands in `line` at `at`, else kNone.
std::size_t end_of(std::string_view text, std::string_view line, std::size_t at) {
  for (const char wanted : text) {
    if (blank(wanted)) {
      while (at < line.size() && blank(line[at])) {
        at++;
      }
    } else if (at < line.size() && lower_letter(line[at]) == wanted) {
      at++;
    } else {
      return kNone;
    }
  }
  return at;
}

struct Span {
  std::size_t begin = kNone;
  std::size_t end = kNone;
};

Span find(std::string_view text, std::string_view line, std::size_t from) {
  const char first = text.front();
  if (text.find_first_not_of(' ') == kNone) {  // blanks alone: here there must be one
    const std::size_t begin = line.find_first_of(" \t", from);
    return begin == kNone ? Span{} : Span{begin, end_of(text, line, begin)};
  }
  for (std::size_t at = from; at < line.size(); at++) {
    if (!blank(first) && lower_letter(line[at]) != first) {
      continue;
    }
    const std::size_t end = end_of(text, line, at);
    if (end != kNone) {
      return {at, end};
    }
  }
  return {};
}

}  // namespace

LinePattern::LinePattern(std::string_view shape) {
  constexpr std::string_view kAnywhere = "...";
  const bool anywhere = shape.substr(0, kAnywhere.size()) == kAnywhere;
  if (anywhere) {
    shape.remove_prefix(kAnywhere.size());
  }
  while (!shape.empty()) {
    const std::size_t open = shape.find('{');
    if (open != 0) {
      pieces_.push_back({lower(shape.substr(0, open)), ""});
      shape.remove_prefix(open == kNone ? shape.size() : open);
      continue;
    }
    const std::size_t close = shape.find('}');
    CHECK(close != kNone, "{}", shape);
    CHECK(pieces_.empty() || pieces_.back().field.empty(), "{}", shape);
    pieces_.push_back({"", std::string(shape.substr(1, close - 1))});
    shape.remove_prefix(close + 1);
  }
  CHECK(!pieces_.empty() && !pieces_.front().text.empty(), "a shape begins with text");
  first_ = anywhere ? '\0' : pieces_.front().text.front();
}

std::string_view LinePattern::sample() const {
  for (const std::string_view word : split_blanks(pieces_.front().text)) {
    if (word.size() >= kSample) {
      return word.substr(0, kSample);
    }
  }
  CHECK(false, "no word of four letters in '{}'", pieces_.front().text);
  return {};
}

std::optional<std::vector<Fact::Field>> LinePattern::match(std::string_view line) const {
  std::vector<Fact::Field> fields;
  std::size_t at = 0;
  for (std::size_t i = 0; i < pieces_.size(); i++) {
    const Piece& piece = pieces_[i];
    if (!piece.text.empty()) {
      at = i == 0 && first_ == '\0' ? find(piece.text, line, 0).end : end_of(piece.text, line, at);
      if (at == kNone) {
        return std::nullopt;
      }
      continue;
    }
    Span next{line.size(), line.size()};
    if (i + 1 < pieces_.size()) {
      next = find(pieces_[i + 1].text, line, at);
      if (next.end == kNone) {
        return std::nullopt;
      }
      i++;
    }
    fields.emplace_back(piece.field, trim(line.substr(at, next.begin - at)));
    at = next.end;
  }
  return fields;
}

}  // namespace busbw::facts
