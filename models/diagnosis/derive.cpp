// See derive.h. Here: the order, what the parts share, and variables.
#include "models/diagnosis/derive.h"

#include <algorithm>
#include <map>
#include <set>

#include "models/nccl/environment.h"
#include "models/nccl/variables.h"
#include "sim/core/text.h"

namespace busbw::diagnosis {
namespace {

using facts::Fact;
using facts::FactStore;

/// Variables whose values differ between hosts by nature.
bool per_host(std::string_view name) {
  return name.rfind("MASTER_", 0) == 0 || name.rfind("CUDA_VISIBLE", 0) == 0 ||
         name == "NCCL_HOSTID" || name == "NCCL_DEBUG_FILE";
}

/// NCCL reads variables by itself: what it says of them counts, else what the files say.
void join_variables(FactStore& store) {
  for (const char* source : {"nccl.env", "env"}) {
    for (const Fact& fact : all_of(store, source)) {
      const std::string name(fact.get("name"));
      if (name.rfind("NCCL_", 0) == 0 || name.rfind("TORCH_", 0) == 0 ||
          name.rfind("RCCL_", 0) == 0) {
        conclude(store, fact, "var", {{"name", name}, {"value", std::string(fact.get("value"))}});
      }
    }
  }
}

/// A variable that two hosts set to different values, or that one host of several sets.
void compare_hosts(FactStore& store) {
  std::map<std::string, std::vector<Fact>> by_name;
  std::set<std::string> hosts;
  for (const char* source : {"nccl.env", "env"}) {
    for (const Fact& fact : all_of(store, source)) {
      if (!fact.host.empty() && !per_host(fact.get("name"))) {
        by_name[std::string(fact.get("name"))].push_back(fact);
        hosts.insert(fact.host);
      }
    }
  }
  for (const auto& [name, values] : by_name) {
    const Fact& first = values.front();
    const auto other = std::find_if(values.begin(), values.end(), [&](const Fact& fact) {
      return fact.host != first.host && fact.get("value") != first.get("value");
    });
    if (other == values.end()) {
      continue;
    }
    for (const Fact* fact : {&first, &*other}) {
      conclude(store, *fact, "is.variable_differs",
               {{"name", name}, {"value", std::string(fact->get("value"))}, {"on", fact->host}});
    }
  }
}

/// What NCCL passes over in silence (models/nccl/environment.h).
void warn(FactStore& store) {
  nccl::Environment environment;
  std::map<std::string, Fact> places;
  for (const Fact& fact : all_of(store, "env")) {
    const std::string name(fact.get("name"));
    environment[name] = std::string(fact.get("value"));
    places.emplace(name, fact);
  }
  nccl::Version version = nccl::kNewest;
  for (const Fact& fact : all_of(store, "nccl.version")) {
    version = nccl::parse_version(std::string(fact.get("version"))).value_or(version);
  }
  for (const std::string& text : nccl::environment_warnings(environment, version)) {
    for (const auto& [name, fact] : places) {
      const std::size_t at = text.find(name);
      const bool whole = at != std::string::npos &&
                         (at + name.size() == text.size() ||
                          (text[at + name.size()] != '_' && text[at + name.size()] < 'A'));
      if (whole) {
        const bool number = text.find("is no number") != std::string::npos;
        conclude(store, fact, "is.variable_warning",
                 {{"name", name}, {"text", text}, {"number", number ? "yes" : "no"}});
        break;
      }
    }
  }
}

}  // namespace

void conclude(FactStore& store, const Fact& seen, std::string_view name,
              std::vector<Fact::Field> fields) {
  Fact fact = seen;
  fact.name = std::string(name);
  fact.fields = std::move(fields);
  store.add(std::move(fact));
}

std::vector<Fact> all_of(const FactStore& store, std::string_view name) {
  std::vector<Fact> result;
  for (const Fact* fact : store.named(name)) {
    result.push_back(*fact);
  }
  return result;
}

std::string variable(const FactStore& store, std::string_view name) {
  std::string value;
  for (const Fact* fact : store.named("var")) {
    if (fact->get("name") == name) {
      value = std::string(fact->get("value"));
    }
  }
  return value;
}

std::optional<nccl::Version> lowest_release(const FactStore& store) {
  std::optional<nccl::Version> lowest;
  for (const Fact* fact : store.named("nccl.version")) {
    const auto version = nccl::parse_version(std::string(fact->get("version")));
    lowest = version && (!lowest || *version < *lowest) ? version : lowest;
  }
  return lowest;
}

bool is_read(const FactStore& store, const std::string& variable) {
  const std::optional<nccl::Version> version = lowest_release(store);
  const nccl::Variable* known = nccl::find_variable(variable);
  // What the oldest examined release has is older, nobody says by how much.
  return !version || known == nullptr || known->since == nccl::kOldest || known->since <= *version;
}

void derive_variables(FactStore& store) {
  join_variables(store);
  compare_hosts(store);
  warn(store);
}

void derive(FactStore& store) {
  derive_variables(store);
  derive_network(store);
  derive_expected(store);
  derive_channels(store);
  derive_interfaces(store);
  derive_rdma(store);
  derive_host(store);
  derive_job(store);
}

}  // namespace busbw::diagnosis
