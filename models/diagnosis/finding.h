// From facts to findings: every rule counts what speaks for and against it; causes that explain the
// same lines are alternatives of each other.
#pragma once
#include <string>
#include <vector>

#include "models/diagnosis/rule.h"
#include "models/facts/fact.h"

namespace busbw::diagnosis {

enum class Confidence { kLow, kMedium, kHigh };
const char* to_string(Confidence confidence);

struct Evidence {
  Location where;
  std::string text;  // the quoted line
  std::string says;  // what it means
  int points = 0;    // below 0: against the cause
};

struct Alternative {
  std::string kind;
  Confidence confidence = Confidence::kLow;
  std::string cause;
  std::string decides;  // the one fact that would tell it from the others
};

/// What the fix is worth; nothing where the files do not say enough to compute it.
struct Worth {
  double before = 0;  // GB/s
  double after = 0;
  std::string from_before;  // where the figure comes from: "measured", "predicted"
  std::string from_after;
};

struct Finding {
  std::string kind;
  Layer layer = Layer::kProtocol;
  Confidence confidence = Confidence::kLow;
  int points = 0;
  std::string root_cause;
  std::vector<std::string> fix;
  std::vector<Evidence> evidence;  // for, then against
  std::vector<Alternative> alternatives;
  std::string next_check;
  std::string versions;
  std::string source;
  std::vector<Worth> expected;  // none or one
};

/// Findings, the likeliest first. `store` gets the facts that are computed from others.
std::vector<Finding> find(facts::FactStore& store);

/// What was looked at: one sentence a topic, for the facts that are there.
std::vector<std::string> checked(const facts::FactStore& store);

}  // namespace busbw::diagnosis
