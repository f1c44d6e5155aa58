// Variables of a job: output of `env`, lines of a launch script or of nccl.conf.
//
// Facts: env {name, value}: variables that NCCL, PyTorch, MPI or UCX read.
#include <array>

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
    bool found = false;
    for (std::size_t at = bare.find('='); at != std::string_view::npos;
         at = bare.find('=', at + 1)) {
      std::size_t begin = at;
      while (begin > 0 && is_letter(bare[begin - 1])) {
        begin--;
      }
      // A name stands at the beginning of a word: "export A=1", "-x A=1", "A=1 B=2 torchrun".
      if (begin > 0 && bare[begin - 1] != ' ' && bare[begin - 1] != '\t' &&
          bare[begin - 1] != '"' && bare[begin - 1] != '\'') {
        continue;
      }
      const std::string_view name = bare.substr(begin, at - begin);
      if (!known(name)) {
        continue;
      }
      put(facts, line, "env",
          {{"name", std::string(name)}, {"value", std::string(value_at(bare, at + 1))}});
      found = true;
    }
    return found;
  }

 private:
  static bool is_letter(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  static bool known(std::string_view name) {
    static constexpr std::array<std::string_view, 10> kStarts = {
        "NCCL_", "TORCH_", "UCX_",    "OMPI_MCA_",    "FI_",
        "RCCL_", "GLOO_",  "MASTER_", "CUDA_VISIBLE", "HSA_"};
    for (const std::string_view start : kStarts) {
      if (name.size() > start.size() && name.substr(0, start.size()) == start) {
        return true;
      }
    }
    return false;
  }

  /// The word there, without quotes.
  static std::string_view value_at(std::string_view text, std::size_t at) {
    if (at < text.size() && (text[at] == '"' || text[at] == '\'')) {
      const std::size_t end = text.find(text[at], at + 1);
      return text.substr(at + 1, end == std::string_view::npos ? end : end - at - 1);
    }
    return text.substr(at, text.find_first_of(" \t\\;", at) == std::string_view::npos
                               ? std::string_view::npos
                               : text.find_first_of(" \t\\;", at) - at);
  }
};

}  // namespace

void add_environment_readers(LineReaders& readers) {
  readers.push_back(std::make_unique<EnvironmentReader>());
}

}  // namespace busbw::facts
