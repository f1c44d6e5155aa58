// JSON text <-> Value. Reading uses the event (SAX) interface of nlohmann-json, since its tree
// drops duplicate keys and knows no places; the place of each token is found again in the text by a
// cursor that follows the events. Writing is our own: the library's shortest doubles are not always
// the shortest.
//
// Refused when reading: nesting deeper than 64, whole numbers beyond int64.
#include "tools/json/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/core/text.h"

namespace busbw::json {
namespace {

constexpr std::size_t kMaxDepth = 64;

/// Builds the Value; each handler returns false to stop the parse.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(std::string_view text, std::string file, Problems& problems)
      : text_(text), file_(std::move(file)), problems_(problems) {}

  [[nodiscard]] Value take_root() { return std::move(root_); }

  bool null() override { return attach(Value(), token_place(4)); }
  bool boolean(bool value) override { return attach(Value(value), token_place(value ? 4 : 5)); }
  bool number_integer(number_integer_t value) override {
    return attach(Value(std::int64_t{value}), number_place());
  }
  bool number_unsigned(number_unsigned_t value) override {
    Location where = number_place();
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      return too_large(where);
    }
    return attach(Value(static_cast<std::int64_t>(value)), where);
  }
  bool number_float(number_float_t value, const string_t& digits) override {
    Location where = number_place();
    if (digits.find_first_of(".eE") == std::string::npos) {
      return too_large(where);
    }
    return attach(Value(value), where);
  }
  bool string(string_t& value) override { return attach(Value(std::move(value)), string_place()); }
  bool binary(binary_t& /*value*/) override { CHECK(false, "JSON text has no binary values"); }

  bool start_object(std::size_t /*size*/) override { return open(true); }
  bool start_array(std::size_t /*size*/) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Location where = string_place();
    Frame& frame = stack_.back();
    const auto [first, added] = frame.key_lines.try_emplace(name, where.line);
    if (!added) {
      problems_.add(where, fmt::format("duplicate key '{}'; it stands on line {} already", name,
                                       first->second));
    }
    frame.drop = !added;
    frame.key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 8: TEXT; last read: 'TOKEN'".
    std::string message = error.what();
    const std::size_t id_end = message.find("] ");
    message.erase(0, id_end == std::string::npos ? 0 : id_end + 2);
    if (message.rfind("parse error", 0) == 0) {
      message.erase(0, message.find(": ") + 2);
    }
    message.erase(std::min(message.find("; last read"), message.size()));
    // A whole token that is out of place is shown at its start, all else at the last byte read.
    const bool whole_token = message.find(" literal; expected") != std::string::npos ||
                             message.rfind("number overflow", 0) == 0;
    problems_.add(whole_token ? token_place(0) : byte_place(std::max<std::size_t>(position, 1) - 1),
                  "bad JSON: " + message);
    failed_ = true;
    return false;
  }

  [[nodiscard]] bool failed() const { return failed_; }

 private:
  /// A list or object whose end has not been read yet.
  struct Frame {
    bool is_object = false;
    Location where;
    Value::Array elements;
    Value::Object members;
    std::string key;  // of the value that comes next
    bool drop = false;
    std::map<std::string, int> key_lines;
  };

  /// Place of the next token, which is `length` bytes long; the cursor goes behind it.
  Location token_place(std::size_t length) {
    while (cursor_ < text_.size() &&
           std::string_view(" \t\r\n,:").find(text_[cursor_]) != std::string_view::npos) {
      if (text_[cursor_] == '\n') {
        line_++;
        line_start_ = cursor_ + 1;
      }
      cursor_++;
    }
    Location where = {file_, line_, static_cast<int>(cursor_ - line_start_) + 1};
    cursor_ += length;
    return where;
  }

  [[nodiscard]] Location byte_place(std::size_t offset) const {
    const std::string_view before = text_.substr(0, std::min(offset, text_.size()));
    const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
    const auto line = std::count(before.begin(), before.end(), '\n');
    return {file_, static_cast<int>(line) + 1, static_cast<int>(before.size() - start) + 1};
  }

  Location number_place() {
    Location where = token_place(0);
    const auto at = [&] { return cursor_ < text_.size() ? text_[cursor_] : ' '; };
    const auto skip_digits = [&] {
      cursor_ = std::min(text_.find_first_not_of("0123456789", cursor_), text_.size());
    };
    cursor_ += at() == '-' ? 1U : 0U;
    if (at() == '0') {
      cursor_++;  // "01" is the number 0 and then a stray 1
    } else {
      skip_digits();
    }
    if (at() == '.') {
      cursor_++;
      skip_digits();
    }
    if (at() == 'e' || at() == 'E') {
      cursor_++;
      cursor_ += at() == '+' || at() == '-' ? 1U : 0U;
      skip_digits();
    }
    return where;
  }

  Location string_place() {
    Location where = token_place(1);
    while (text_[cursor_] != '"') {  // the text is a valid string: its end comes
      cursor_ += text_[cursor_] == '\\' ? 2 : 1;
    }
    cursor_++;
    return where;
  }

  bool too_large(const Location& where) {
    const std::size_t end = cursor_;
    const std::size_t start = line_start_ + static_cast<std::size_t>(where.column) - 1;
    problems_.add(where, fmt::format("the whole number {} does not fit in 64 bits",
                                     text_.substr(start, end - start)));
    return attach(Value(), where);
  }

  bool open(bool is_object) {
    Location where = token_place(1);
    if (stack_.size() >= kMaxDepth) {
      problems_.add(where, fmt::format("nested deeper than {} levels", kMaxDepth));
      failed_ = true;
      return false;
    }
    Frame frame;
    frame.is_object = is_object;
    frame.where = where;
    stack_.push_back(std::move(frame));
    return true;
  }

  bool close() {
    token_place(1);
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    return attach(
        frame.is_object ? Value(std::move(frame.members)) : Value(std::move(frame.elements)),
        frame.where);
  }

  bool attach(Value value, const Location& where) {
    value.set_where(where);
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (!stack_.back().is_object) {
      stack_.back().elements.push_back(std::move(value));
    } else if (!stack_.back().drop) {
      stack_.back().members.emplace_back(std::move(stack_.back().key), std::move(value));
    }
    return true;
  }

  std::string_view text_;
  std::string file_;
  Problems& problems_;
  std::size_t cursor_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
  bool failed_ = false;
  Value root_;
  std::vector<Frame> stack_;
};

void print_string(const std::string& text, std::string& out) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(std::string_view(text).substr(at));
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0) {
      out += "\ufffd";  // a name from the system need not be UTF-8; the output has to be
    } else if (byte == '"' || byte == '\\') {
      out += {'\\', text[at]};
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (byte < 0x20) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out.append(text, at, length);
    }
    at += std::max<std::size_t>(length, 1);
  }
  out += '"';
}

void print_number(double value, std::string& out) {
  CHECK(std::isfinite(value), "JSON has no {}", value);
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  CHECK(error == std::errc());
  const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) {
    out += ".0";  // reads back as a double
  }
}

void print_value(const Value& value, std::size_t indent, std::string& out) {
  const std::string inner(indent + 2, ' ');
  const char* separator = "\n";
  if (value.is_null()) {
    out += "null";
  } else if (value.is_bool()) {
    out += value.as_bool() ? "true" : "false";
  } else if (value.is_integer()) {
    out += std::to_string(value.as_integer());
  } else if (value.is_number()) {
    print_number(value.as_number(), out);
  } else if (value.is_string()) {
    print_string(value.as_string(), out);
  } else if (value.is_array()) {
    out += '[';
    for (const Value& element : value.as_array()) {
      out += separator + inner;
      print_value(element, indent + 2, out);
      separator = ",\n";
    }
    out += value.as_array().empty() ? "]" : "\n" + std::string(indent, ' ') + "]";
  } else {
    out += '{';
    for (const Value::Member& member : value.as_object()) {
      out += separator + inner;
      print_string(member.first, out);
      out += ": ";
      print_value(member.second, indent + 2, out);
      separator = ",\n";
    }
    out += value.as_object().empty() ? "}" : "\n" + std::string(indent, ' ') + "}";
  }
}

}  // namespace

std::string print(const Value& value) {
  std::string out;
  print_value(value, 0, out);
  return out + "\n";
}

Value parse(std::string_view text, const std::string& file, Problems& problems) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") {
    text.remove_prefix(3);  // byte order mark
  }
  TreeBuilder builder(text, file, problems);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.failed() ? Value() : builder.take_root();
}

}  // namespace busbw::json
