// The list of fuzzers and what they share.
#include "tests/fuzz/registry.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw::fuzz {
namespace {

/// Printable on one line, as in a C++ string literal.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (byte < 0x20 || byte >= 0x7f) {
      result += fmt::format("\\{:03o}", byte);
    } else {
      result += c;
    }
  }
  return result;
}

std::size_t below(Random& random, std::size_t bound) {
  return static_cast<std::size_t>(random.below(bound));
}

/// A random piece of `text`, up to 32 bytes.
std::string piece(Random& random, const std::string& text) {
  if (text.empty()) {
    return "";
  }
  return text.substr(below(random, text.size()), 1 + below(random, 32));
}

void edit(Random& random, std::string& text, const std::string& other,
          const std::vector<std::string>& dictionary) {
  const std::size_t at = below(random, text.size() + 1);
  switch (random.below(7)) {
    case 0:
      text.insert(at, 1, static_cast<char>(random.below(256)));
      break;
    case 1:
      if (at < text.size()) {
        text[at] =
            static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << random.below(8)));
      }
      break;
    case 2:
      text.erase(at, 1 + below(random, 8));
      break;
    case 3:
      text.insert(at, piece(random, text));
      break;
    case 4:
      text.insert(at, piece(random, other));
      break;
    case 5:
      text.resize(random.chance(1, 4) ? at : text.size());
      break;
    default:
      text.insert(at, dictionary.at(below(random, dictionary.size())));
      break;
  }
}

}  // namespace

void require(bool holds, const std::string& property, const std::string& input) {
  if (!holds) {
    throw Broken(fmt::format("{}, input \"{}\"", property, escaped(input)));
  }
}

std::vector<Fuzzer> all_fuzzers() {
  std::vector<Fuzzer> all;
  for (const std::vector<Fuzzer>& folder :
       {accuracy_fuzzers(), collect_fuzzers(), collectives_fuzzers(), core_fuzzers(),
        events_fuzzers(), facts_fuzzers(), fabric_fuzzers(), json_fuzzers(), nccl_fuzzers(),
        nccl_graph_fuzzers(), params_fuzzers()}) {
    all.insert(all.end(), folder.begin(), folder.end());
  }
  return all;
}

std::string mutate(Random& random, const std::vector<std::string>& documents,
                   const std::vector<std::string>& dictionary) {
  std::string text = documents.at(below(random, documents.size()));
  const std::string& other = documents.at(below(random, documents.size()));
  for (std::uint64_t edits = 1 + random.below(8); edits > 0; edits--) {
    edit(random, text, other, dictionary);
  }
  return text;
}

void require_good_problems(const Problems& problems, const std::string& file,
                           const std::string& text) {
  const auto line_count = 1 + std::count(text.begin(), text.end(), '\n');
  for (const InputProblem& problem : problems.all()) {
    const std::string shown = "problem '" + to_string(problem) + "' ";
    require(problem.where.file == file, shown + "names no file", text);
    require(problem.where.line >= 1 && problem.where.line <= line_count, shown + "names no line",
            text);
    require(problem.where.column >= 1, shown + "names no column", text);
    require(!problem.message.empty() && problem.message.back() != '.',
            shown + "is empty or ends in a full stop", text);
    const std::string line = to_string(problem);
    require(split_lines(line).size() == 1, shown + "is not one line", text);
  }
}

}  // namespace busbw::fuzz
