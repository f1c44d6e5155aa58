// The fuzzers of busbw_fuzz.
//
// A fuzzer is a function that draws one case from a seeded Random, runs it, and throws when a
// property does not hold. The runner gives every iteration its own seed, so that a failure is
// repeated alone.
//
// To add fuzzers for a folder: write tests/fuzz/fuzz_<folder>.cpp with a function
// `std::vector<Fuzzer> <folder>_fuzzers()`, declare it below, add it to the list in all_fuzzers()
// and the file (and the library that it tests) to CMakeLists.txt. `smoke` then runs it on every
// build.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/random.h"

namespace busbw::fuzz {

struct Fuzzer {
  std::string name;
  std::string property;  // what is checked, for `list`
  std::int64_t smoke_iterations;
  void (*once)(Random& random);
};

/// A property that did not hold; says which and for what input.
class Broken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Broken with `property` and the input, escaped, when `holds` is false.
void require(bool holds, const std::string& property, const std::string& input);

std::vector<Fuzzer> accuracy_fuzzers();
std::vector<Fuzzer> collect_fuzzers();
std::vector<Fuzzer> collectives_fuzzers();
std::vector<Fuzzer> core_fuzzers();
std::vector<Fuzzer> facts_fuzzers();
std::vector<Fuzzer> fabric_fuzzers();
std::vector<Fuzzer> events_fuzzers();
std::vector<Fuzzer> json_fuzzers();
std::vector<Fuzzer> nccl_graph_fuzzers();
std::vector<Fuzzer> nccl_fuzzers();
std::vector<Fuzzer> params_fuzzers();

/// Every fuzzer, in the order in which `list` prints and `smoke` runs them.
std::vector<Fuzzer> all_fuzzers();

/// One to eight random edits of a text drawn from `documents`: bytes changed, ranges deleted,
/// repeated or taken from another document, words of `dictionary` put in.
std::string mutate(Random& random, const std::vector<std::string>& documents,
                   const std::vector<std::string>& dictionary);

/// What holds for the problems of any file: they name `file`, a line of it and a column, and their
/// message is one line, not empty, with no full stop at its end.
void require_good_problems(const Problems& problems, const std::string& file,
                           const std::string& text);

}  // namespace busbw::fuzz
