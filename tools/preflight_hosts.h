// Between facts and NCCL's selection: hosts from tool output, and the log that NCCL would print on
// them as facts again, so that the rules of the diagnosis hold before a job starts.
#pragma once
#include <string>
#include <vector>

#include "models/facts/fact.h"
#include "models/nccl/selection.h"

namespace busbw::tools {

/// Hosts with their interfaces and HCAs in the order of the files, and the variables. Hosts without
/// facts on interfaces and their addresses are left out: nothing can be decided.
nccl::SelectionInput selection_input(const facts::FactStore& store, nccl::Version version);

/// What the log of an old run says of its hosts: the interfaces and HCAs that it names, each with
/// one address or port. Interfaces and HCAs that NCCL passed over are not in it, so that a choice
/// of "none" follows from nothing here. Hosts of which it names no interface, or over RDMA no HCA,
/// are left out; so are all when the files list addresses by themselves (selection_input).
std::vector<nccl::Inventory> hosts_of_log(const facts::FactStore& store);

/// Adds what `ip addr`, `ibstat` and `env` would say of a scenario's hosts, placed at `where`.
void add_hosts(const nccl::SelectionInput& input, const Location& where, facts::FactStore& store);

/// Adds the start-up lines that NCCL would print ("log of HOST, predicted"), and what became of the
/// job.
void add_decision(const nccl::Decision& decision, nccl::Version version, facts::FactStore& store);

}  // namespace busbw::tools
