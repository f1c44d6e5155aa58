// What tests of parsers share: a text read as a file, and fields of its facts.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "models/facts/read_facts.h"

namespace busbw::facts {

struct ReadText {
  FactStore store;
  FileReport report;

  /// Field of the n-th fact of that name; "(absent)" when there are fewer.
  [[nodiscard]] std::string field(std::string_view name, std::string_view key,
                                  std::size_t n = 0) const {
    const std::vector<const Fact*> facts = store.named(name);
    return n < facts.size() ? std::string(facts[n]->get(key)) : "(absent)";
  }
  [[nodiscard]] std::size_t count(std::string_view name) const { return store.named(name).size(); }
  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> result;
    for (const InputProblem& note : store.notes())
      result.push_back(to_string(note));
    return result;
  }
};

/// The text as a file of that name, given in pieces of `piece` bytes.
inline ReadText read_text(const std::string& text, const std::string& file = "x.txt",
                          std::size_t piece = 7) {
  ReadText result;
  FileReader reader(file, host_of_file(file), result.store);
  for (std::size_t at = 0; at < text.size(); at += piece)
    reader.text(std::string_view(text).substr(at, piece));
  result.report = reader.finish();
  return result;
}

}  // namespace busbw::facts
