// What is left of a case when variables change: the facts of its hosts stay, with the new values;
// what an old run showed of decisions that the variables bear on is no evidence any more.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "models/facts/fact.h"

namespace busbw::diagnosis {

/// One variable, set alike for all ranks.
struct Change {
  std::string name;
  std::optional<std::string> value;  // nothing: unset
};

struct Changed {
  facts::FactStore store;
  /// The interfaces, the network or its devices are decided anew: what the log of the old run said
  /// of them is left out.
  bool selects_anew = false;
};

/// `store` as it was read, without conclusions. A value that all hosts have already, or that is
/// NCCL's default, changes nothing; neither does a variable that the release does not read.
Changed with_changes(const facts::FactStore& store, const std::vector<Change>& changes);

}  // namespace busbw::diagnosis
