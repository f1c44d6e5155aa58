// The words of NCCL_ALGO and NCCL_PROTO. Source: NCCL 2.18 to 2.30.7, src/graph/tuning.cc.
#include "models/nccl/graph/algorithm_filter.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::nccl::graph {
namespace {

const std::vector<std::string>& function_names() {
  static const std::vector<std::string> kNames{"broadcast", "reduce", "allgather", "reducescatter",
                                               "allreduce"};
  return kNames;
}

/// One variable: its words and the switches it sets.
class List {
 public:
  List(std::string variable, std::vector<std::string> words, bool by_function)
      : variable_(std::move(variable)), words_(std::move(words)), by_function_(by_function) {}

  /// [function][word]
  std::vector<std::vector<bool>> enabled;
  std::vector<bool> given;

  void read(const Environment& environment) {
    enabled.assign(kFunctions, std::vector<bool>(words_.size(), true));
    given.assign(kFunctions, false);
    const std::string value = text(environment, variable_).value_or("");
    if (value.empty())
      return;
    if (!by_function_) {
      for (std::size_t function = 0; function < kFunctions; function++)
        apply(value, function);
      return;
    }
    bool first = true;
    for (const std::string_view part : split(value, ';')) {
      const std::size_t colon = part.find(':');
      if (colon == std::string_view::npos) {
        if (!first)
          refuse(std::string(part), function_names());
        for (std::size_t function = 0; function < kFunctions; function++)
          apply(part, function);
      } else {
        const std::string name = lower(trim(part.substr(0, colon)));
        const auto found = std::find(function_names().begin(), function_names().end(), name);
        if (found == function_names().end())
          refuse(name, function_names());
        apply(part.substr(colon + 1), static_cast<std::size_t>(found - function_names().begin()));
      }
      first = false;
    }
  }

 private:
  void apply(std::string_view list, std::size_t function) {
    const bool inverted = !list.empty() && list.front() == '^';
    if (inverted)
      list.remove_prefix(1);
    std::vector<bool> named(words_.size(), false);
    for (const std::string_view item : split(list, ',')) {
      bool known = false;
      for (std::size_t word = 0; word < words_.size(); word++) {
        if (lower(item) == lower(words_[word])) {
          named[word] = true;
          known = true;
        }
      }
      if (!known && by_function_)
        refuse(std::string(item), words_);
    }
    given[function] = true;
    for (std::size_t word = 0; word < words_.size(); word++)
      enabled[function][word] = named[word] != inverted;
  }

  [[noreturn]] void refuse(const std::string& word, const std::vector<std::string>& allowed) const {
    throw InputError(fmt::format("{}: unknown word '{}', expected {}{}", variable_, word,
                                 quoted_list(allowed), did_you_mean(word, allowed)));
  }

  std::string variable_;
  std::vector<std::string> words_;
  bool by_function_;
};

}  // namespace

Filter algorithm_filter(const Environment& environment, Version version) {
  const bool by_function = version >= Version{2, 24, 3};
  std::vector<std::string> algorithms{"Tree",         "Ring", "CollNetDirect",
                                      "CollNetChain", "NVLS", "NVLSTree"};
  if (version >= Version{2, 23, 4})
    algorithms.emplace_back("PAT");
  List algorithm("NCCL_ALGO", algorithms, by_function);
  List protocol("NCCL_PROTO", {"LL", "LL128", "Simple"}, by_function);
  algorithm.read(environment);
  protocol.read(environment);
  Filter filter;
  for (std::size_t function = 0; function < kFunctions; function++) {
    for (std::size_t a = 0; a < kAlgorithms; a++)
      filter.algorithm[function][a] = a >= algorithms.size() || algorithm.enabled[function][a];
    for (std::size_t p = 0; p < kProtocols; p++)
      filter.protocol[function][p] = protocol.enabled[function][p];
    filter.algorithm_given[function] = algorithm.given[function];
    filter.protocol_given[function] = protocol.given[function];
  }
  return filter;
}

}  // namespace busbw::nccl::graph
