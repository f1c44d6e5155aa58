// The frame of a scenario file: base sections, then variants over a copy of the base.
#include "scenarios/spec/load.h"

#include <algorithm>
#include <utility>

#include "scenarios/spec/draft.h"
#include "scenarios/spec/read_events.h"
#include "sim/core/text.h"
#include "sim/core/yaml.h"

namespace busbw::scenarios {
namespace {

constexpr const char* kSchema = "busbw.scenario/1";

void read_environment(MappingReader& reader, nccl::Environment& environment) {
  const std::optional<YamlNode> node = reader.mapping("environment");
  if (!node) {
    return;
  }
  for (const YamlNode::Entry& entry : node->entries()) {
    if (entry.value.is_null()) {
      environment.erase(entry.key);  // a variant takes the variable away
    } else if (entry.value.is_scalar()) {
      environment[entry.key] = entry.value.text();
    } else {
      reader.problems().add(
          entry.value.where(),
          "value of variable '" + entry.key + "' must be a text, not " + entry.value.describe());
    }
  }
}

void read_version(MappingReader& reader, Draft& draft) {
  const std::optional<std::string> text = reader.text("nccl");
  if (!text) {
    return;
  }
  draft.has_version = true;
  const std::optional<nccl::Version> version = nccl::parse_version(*text);
  if (version) {
    draft.variant.version = *version;
  } else {
    reader.problem("nccl", "no NCCL version: '" + *text + "'; examples: 2.18.6, 2.28.9");
  }
}

Expectation read_expectation(const YamlNode& node, Problems& problems) {
  MappingReader reader(node, "'expect'", problems);
  Expectation expect;
  expect.where = node.where();
  expect.outcome = reader.choice("outcome", {"runs", "error", "hang"});
  expect.network = reader.text("network");
  expect.bootstrap_interface = reader.text("bootstrap_interface");
  expect.data_devices = reader.texts("data_devices");
  expect.algorithm = reader.choice("algorithm", {"Ring", "Tree", "Hierarchical"});
  expect.error_contains = reader.text("error_contains");
  reader.finish();
  return expect;
}

std::vector<Note> read_notes(const YamlNode& list, Problems& problems) {
  std::vector<Note> notes;
  for (const YamlNode& element : list.elements()) {
    MappingReader reader(element, "a note", problems);
    Note note;
    note.story = reader.required_text("story");
    note.rule = reader.required_text("rule");
    note.source = reader.required_text("source");
    reader.finish();
    notes.push_back(std::move(note));
  }
  return notes;
}

void read_own_keys(MappingReader& reader, Draft& draft) {
  Variant& variant = draft.variant;
  variant.title = reader.text("title").value_or("");
  if (const auto node = reader.mapping("expect")) {
    variant.expect = read_expectation(*node, reader.problems());
  }
  if (const auto node = reader.mapping("measured")) {
    variant.measured = read_measured(*node, reader.problems());
  }
  if (const auto node = reader.sequence("notes")) {
    variant.notes = read_notes(*node, reader.problems());
  }
}

Variant read_variant(const YamlNode& node, const Library& library, Draft draft,
                     Problems& problems) {
  MappingReader reader(node, "a variant", problems);
  draft.variant.where = node.where();
  draft.variant.name = reader.required_text("name");
  read_sections(reader, library, draft);
  read_own_keys(reader, draft);
  reader.finish();
  return resolve(draft, library.catalog, problems);
}

void check_names(const Scenario& scenario, Problems& problems) {
  std::vector<std::string> names;
  for (const Variant& variant : scenario.variants) {
    if (!variant.name.empty() && std::count(names.begin(), names.end(), variant.name) > 0) {
      problems.add(variant.where, "second variant named '" + variant.name + "'");
    }
    names.push_back(variant.name);
  }
  for (const Variant& variant : scenario.variants) {
    const std::optional<Training>& training = variant.training;
    if (training && !training->bytes_per_sync && !training->solve_variant.empty() &&
        std::count(names.begin(), names.end(), training->solve_variant) == 0) {
      names.erase(std::remove(names.begin(), names.end(), ""), names.end());
      names.erase(std::unique(names.begin(), names.end()), names.end());
      problems.add(training->where, "'solve' names the variant '" + training->solve_variant +
                                        "'; allowed: " + quoted_list(names));
      return;  // the same section in every variant
    }
  }
}

/// The variants that 'validate' names.
void check_validation(const Scenario& scenario, Problems& problems) {
  if (!scenario.validation) {
    return;
  }
  std::vector<std::string> names;
  for (const Variant& variant : scenario.variants) {
    names.push_back(variant.name);
  }
  const auto check = [&](const std::string& name, const char* what, const Location& where) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
      problems.add(where, std::string(what) + " names the variant '" + name +
                              "'; allowed: " + quoted_list(names) + did_you_mean(name, names));
    }
  };
  for (const Validation::TimeRatio& ratio : scenario.validation->ratios) {
    check(ratio.of, "a ratio", ratio.where);
    check(ratio.over, "a ratio", ratio.where);
  }
  for (const std::string& name : scenario.validation->reported) {
    check(name, "'reported' of 'validate'", scenario.validation->where);
  }
}

Scenario read_scenario(const YamlNode& root, const std::string& file, const Library& library,
                       Problems& problems) {
  MappingReader reader(root, "the scenario", problems);
  Scenario scenario;
  scenario.file = file;
  if (!root.is_mapping()) {
    return scenario;  // said by the reader; no use in naming every key that is not there
  }
  reader.required_choice("schema", {kSchema});
  scenario.name = reader.required_text("name");
  scenario.description = reader.text("description").value_or("");
  scenario.estimate = reader.text("estimate").value_or("");
  if (const auto node = reader.mapping("validate")) {
    scenario.validation = read_validation(*node, problems);
  }
  Draft base;
  base.variant.name = "default";
  base.variant.where = root.where();
  read_sections(reader, library, base);
  const std::optional<YamlNode> variants = reader.sequence("variants");
  if (variants) {
    scenario.title = reader.text("title").value_or("");
    if (const auto node = reader.sequence("notes")) {
      scenario.notes = read_notes(*node, problems);
    }
    for (const YamlNode& node : variants->elements()) {
      scenario.variants.push_back(read_variant(node, library, base, problems));
    }
  } else {
    read_own_keys(reader, base);
    scenario.title = base.variant.title;
    scenario.notes = std::exchange(base.variant.notes, {});
    scenario.variants.push_back(resolve(base, library.catalog, problems));
  }
  reader.finish();
  if (variants && variants->elements().empty()) {
    problems.add(variants->where(), "'variants' is empty");
  }
  check_names(scenario, problems);
  check_validation(scenario, problems);
  return scenario;
}

}  // namespace

void read_sections(MappingReader& reader, const Library& library, Draft& draft) {
  Problems& problems = reader.problems();
  read_version(reader, draft);
  if (const auto node = reader.mapping("cluster")) {
    read_cluster(*node, library, problems, draft);
  }
  if (const auto list = reader.sequence("nics")) {
    read_nic_patches(*list, problems, draft);
  }
  if (const auto node = reader.mapping("inventory")) {
    read_inventory(*node, problems, draft);
  }
  read_environment(reader, draft.variant.environment);
  if (const auto node = reader.mapping("workload")) {
    draft.variant.workload = read_workload(*node, problems);
    draft.has_workload = true;
  }
  if (const auto node = reader.mapping("training")) {
    draft.variant.training = read_training(*node, problems);
  }
  if (const auto node = reader.mapping("real")) {
    read_real(*node, problems, draft.variant.real);
  }
  if (const auto list = reader.sequence("events")) {
    draft.variant.events = read_events(*list, problems);
  }
  if (const auto watchdog = reader.duration("watchdog")) {
    draft.variant.watchdog = *watchdog;
  }
  if (auto parameters = read_parameters(reader)) {
    draft.variant.parameters = std::move(parameters);
  }
}

Library load_library(const std::string& directory, Problems& problems) {
  Library library;
  library.catalog = topologies::load_catalog(directory, problems);
  library.machines = topologies::load_machines(directory + "/machines", library.catalog, problems);
  return library;
}

Scenario load_scenario(const std::string& path, const Library& library, Problems& problems) {
  const std::size_t before = problems.all().size();
  const YamlNode root = load_yaml(path, problems);
  // Duplicate keys are problems of parsing, yet the rest can be read: all problems at once.
  const bool unreadable = root.is_null() && problems.all().size() > before;
  return unreadable ? Scenario{} : read_scenario(root, path, library, problems);
}

Scenario parse_scenario(const std::string& text, const std::string& file, const Library& library,
                        Problems& problems) {
  const std::size_t before = problems.all().size();
  const YamlNode root = parse_yaml(text, file, problems);
  const bool unreadable = root.is_null() && problems.all().size() > before;
  return unreadable ? Scenario{} : read_scenario(root, file, library, problems);
}

}  // namespace busbw::scenarios
