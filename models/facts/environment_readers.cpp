// Variables of a job: output of `env`, lines of a launch script, of nccl.conf, of a Dockerfile, of
// a container's or job's YAML, and what a program in Python sets.
//
// Facts: env {name, value}: variables that NCCL, PyTorch, MPI or UCX read.
#include <algorithm>
#include <array>
#include <optional>

#include "models/facts/line_reader.h"
#include "sim/core/text.h"

namespace busbw::facts {
namespace {

class EnvironmentReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "environment"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::string_view bare = line.bare;
    if (bare.empty() || trim(line.text).front() == '#') {  // a comment
      return false;
    }
    if (listed(line, facts)) {
      return true;
    }
    bool found = false;
    for (std::size_t at = 0; at < bare.size();) {
      const std::size_t end = end_of_name(bare, at);
      if (end > at && starts_word(bare, at) && known(bare.substr(at, end - at))) {
        const std::optional<std::string> value = value_behind(line, at, end);
        if (value) {
          put(facts, line, "env",
              {{"name", std::string(bare.substr(at, end - at))}, {"value", *value}});
          found = true;
        }
      }
      at = std::max(end, at + 1);
    }
    return found;
  }

 private:
  static bool is_letter(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  static std::size_t end_of_name(std::string_view text, std::size_t at) {
    while (at < text.size() && is_letter(text[at])) {
      at++;
    }
    return at;
  }

  /// A name stands at the beginning of a word, or behind what joins variables:
  /// "export A=1", "-x A=1", "A=1 B=2 torchrun", "--export=ALL,A=1", "os.environ["A"]".
  static bool starts_word(std::string_view text, std::size_t at) {
    return at == 0 || std::string_view(" \t\"'=,;").find(text[at - 1]) != std::string_view::npos;
  }

  static bool known(std::string_view name) {
    static constexpr std::array<std::string_view, 10> kStarts = {
        "NCCL_", "TORCH_", "UCX_",    "OMPI_MCA_",    "FI_",
        "RCCL_", "GLOO_",  "MASTER_", "CUDA_VISIBLE", "HSA_"};
    return std::any_of(kStarts.begin(), kStarts.end(), [&](std::string_view start) {
      return name.size() > start.size() && name.substr(0, start.size()) == start;
    });
  }

  /// A container's list: "- name: A", and in the next line "value: 1".
  bool listed(const SourceLine& line, FactStore& facts) {
    std::string_view key;
    std::string_view value;
    if (!key_and_value(line.bare, key, value)) {
      listed_.clear();
      return false;
    }
    key = trim(key.substr(key.substr(0, 2) == "- " ? 2 : 0));
    if (key == "name" && known(unquoted(value))) {
      listed_ = std::string(unquoted(value));
      return true;
    }
    const std::string name = std::move(listed_);
    listed_.clear();
    if (key != "value" || name.empty()) {
      return false;
    }
    put(facts, line, "env", {{"name", name}, {"value", std::string(unquoted(value))}});
    return true;
  }

  /// The value of the name in [begin, end) of the line; nothing when it is only spoken of.
  static std::optional<std::string> value_behind(const SourceLine& line, std::size_t begin,
                                                 std::size_t end) {
    const std::string_view text = line.bare;
    if (end < text.size() && text[end] == '=') {  // a shell's
      return std::string(value_at(text, end + 1));
    }
    const std::vector<std::string_view>& words = line.words;
    const bool of_command = words.size() == 3 && (words[0] == "ENV" || words[0] == "setenv");
    if (of_command && text.substr(begin, end - begin) == words[1]) {
      return std::string(unquoted(words[2]));
    }
    std::size_t at = end;
    while (at < text.size() && (text[at] == '"' || text[at] == '\'' || text[at] == ']')) {
      at++;
    }
    const bool quoted = at > end;
    while (at < text.size() && text[at] == ' ') {
      at++;
    }
    const bool assigned = quoted && at < text.size() && text[at] == '=';  // os.environ["A"] = "1"
    // A mapping of YAML: the name begins the line, one word follows.
    const bool mapped = at < text.size() && text[at] == ':' && words.size() == 2 &&
                        begin == (text.front() == '"' || text.front() == '\'' ? 1 : 0);
    if (!assigned && !mapped) {
      return std::nullopt;
    }
    return std::string(value_at(trim(text.substr(at + 1)), 0));
  }

  static std::string_view unquoted(std::string_view text) {
    const bool quotes = text.size() > 1 && (text.front() == '"' || text.front() == '\'') &&
                        text.back() == text.front();
    return quotes ? text.substr(1, text.size() - 2) : text;
  }

  /// The word there, without quotes; ",B=2" behind it is another variable.
  static std::string_view value_at(std::string_view text, std::size_t at) {
    if (at < text.size() && (text[at] == '"' || text[at] == '\'')) {
      const std::size_t end = text.find(text[at], at + 1);
      return text.substr(at + 1, end == std::string_view::npos ? end : end - at - 1);
    }
    std::string_view value = text.substr(std::min(at, text.size()));
    value = value.substr(0, value.find_first_of(" \t\\;"));
    for (std::size_t comma = value.find(','); comma != std::string_view::npos;
         comma = value.find(',', comma + 1)) {
      const std::size_t end = end_of_name(value, comma + 1);
      if (end < value.size() && value[end] == '=' &&
          known(value.substr(comma + 1, end - comma - 1))) {
        return value.substr(0, comma);
      }
    }
    return value;
  }

  std::string listed_;  // the name of a container's list, whose value comes next
};

}  // namespace

void add_environment_readers(LineReaders& readers) {
  readers.push_back(std::make_unique<EnvironmentReader>());
}

}  // namespace busbw::facts
