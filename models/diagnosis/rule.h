// The rules: what each kind of cause looks like in the facts, and what to do about it. They are
// data; what has to be computed from several facts is a fact of its own (derive.h, names in "is.").
#pragma once
#include <string>
#include <vector>

namespace busbw::diagnosis {

/// From the program down to the cable.
enum class Layer { kFramework, kCollective, kProtocol, kPhysical };
const char* to_string(Layer layer);

/// One observation and what it counts. Against a cause: below 0.
struct Signal {
  int points = 0;
  std::string when;  // condition.h
  std::string says;  // what it means, for people
};

// What points come to. Ours: one observation that names the cause alone counts kHigh.
constexpr int kLow = 1;
constexpr int kMedium = 3;
constexpr int kHigh = 6;

/// Where a cause can be proved.
enum class Proof {
  kInFiles,    // output of this host or job shows it
  kElsewhere,  // switches, cables, BIOS, the other end: what files show only points there, and the
               // finding is never certain
  kSymptom,    // it is no cause: listed behind all others
};

/// One step of a fix. A step that sets a variable ("export X=...", "unset X") cures: with it the
/// finding is gone. What only shows more, or only eases, is no such step: it begins with '#'.
struct Step {
  // A list of texts is a list of steps. NOLINTNEXTLINE(google-explicit-constructor)
  Step(const char* step_text, const char* condition = "") : text(step_text), when(condition) {}
  std::string text;  // {field} is filled in from the evidence; see finding.cpp for lists of them
  std::string when;  // condition.h; empty: always
};

struct Rule {
  std::string kind;
  Layer layer = Layer::kProtocol;
  std::string cause;      // {field} is filled in from the evidence
  std::vector<Step> fix;  // one at least without a condition
  std::string decides;    // the one fact that tells this cause from the others
  std::string versions;   // of NCCL, empty: all
  std::string source;
  std::vector<Signal> signals;
  Proof proof = Proof::kInFiles;
};

/// All rules; of causes that are equally likely the one that stands first is named first.
const std::vector<Rule>& rules();

// Parts of it, by topic.
std::vector<Rule> interface_rules();
std::vector<Rule> network_rules();
std::vector<Rule> rdma_rules();
std::vector<Rule> fabric_rules();
std::vector<Rule> host_rules();
std::vector<Rule> gpu_rules();
std::vector<Rule> job_rules();

}  // namespace busbw::diagnosis
