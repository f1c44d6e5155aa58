// Facts that follow from several others: comparisons between hosts, arithmetic, filters applied as
// NCCL applies them. Their names begin with "is."; their place is that of the fact that they are
// most easily seen in.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/facts/fact.h"
#include "models/nccl/version.h"

namespace busbw::diagnosis {

/// Adds all of them, and var {name, value}: variables from any file or log.
void derive(facts::FactStore& store);

// Parts of it, by topic, in the order in which they run.
void derive_variables(facts::FactStore& store);
void derive_network(facts::FactStore& store);
void derive_expected(facts::FactStore& store);
void derive_interfaces(facts::FactStore& store);
void derive_rdma(facts::FactStore& store);
void derive_channels(facts::FactStore& store);
void derive_host(facts::FactStore& store);
void derive_job(facts::FactStore& store);

/// A fact with the place, line and host of `seen`.
void conclude(facts::FactStore& store, const facts::Fact& seen, std::string_view name,
              std::vector<facts::Fact::Field> fields);

/// Facts of that name whose field has that value, copied: adding facts moves the store.
std::vector<facts::Fact> all_of(const facts::FactStore& store, std::string_view name);

/// The last value that a variable was given; empty: not set.
std::string variable(const facts::FactStore& store, std::string_view name);
/// The lowest release that the facts name; nothing when they name none.
std::optional<nccl::Version> lowest_release(const facts::FactStore& store);
/// Whether that release reads the variable; true for unknown ones of either.
bool is_read(const facts::FactStore& store, const std::string& variable);

}  // namespace busbw::diagnosis
