// Between facts and NCCL's selection: hosts from tool output, and the log that NCCL would print on
// them as facts again, so that the rules of the diagnosis hold before a job starts.
#pragma once
#include <string>

#include "models/facts/fact.h"
#include "models/nccl/selection.h"

namespace busbw::tools {

/// Hosts with their interfaces and HCAs in the order of the files, and the variables. Without
/// facts on interfaces no host: nothing can be decided.
nccl::SelectionInput selection_input(const facts::FactStore& store, nccl::Version version);

/// Adds what `ip addr`, `ibstat` and `env` would say of a scenario's hosts, placed at `where`.
void add_hosts(const nccl::SelectionInput& input, const Location& where, facts::FactStore& store);

/// Adds the start-up lines that NCCL would print ("log of HOST, predicted"), and what became of the
/// job.
void add_decision(const nccl::Decision& decision, nccl::Version version, facts::FactStore& store);

}  // namespace busbw::tools
