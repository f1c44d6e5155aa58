// See command_preflight.h.
#include "tools/command_preflight.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "models/diagnosis/changed.h"
#include "models/diagnosis/derive.h"
#include "models/diagnosis/finding.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "tools/diagnosis_report.h"
#include "tools/exit_codes.h"
#include "tools/fact_files.h"
#include "tools/files.h"
#include "tools/json/json.h"
#include "tools/nccl_options.h"
#include "tools/preflight_hosts.h"
#include "tools/scenario_file.h"

namespace busbw::tools {
namespace {

struct PreflightJob {
  std::string name;
  nccl::Decision decision;  // no hosts: the files say nothing of interfaces
  std::vector<diagnosis::Finding> findings;
};

PreflightJob decided(std::string name, const nccl::SelectionInput& input, facts::FactStore& store) {
  PreflightJob job;
  job.name = std::move(name);
  if (!input.hosts.empty()) {
    job.decision = nccl::select(input);
    add_decision(job.decision, input.version, store);
  }
  job.findings = diagnosis::find(store);
  return job;
}

using Changes = std::vector<diagnosis::Change>;

Changes read_changes(const PreflightOptions& options, Problems& problems) {
  Changes changes;
  for (const auto& [name, value] : read_environment(options.environment, problems)) {
    changes.push_back({name, value});
  }
  for (const std::string& name : options.unset) {
    const bool both = std::any_of(changes.begin(), changes.end(),
                                  [&](const auto& change) { return change.name == name; });
    if (name.empty() || name.find('=') != std::string::npos) {
      problems.add({}, fmt::format("--unset '{}' is not the name of a variable", name));
    } else if (both) {
      problems.add({}, fmt::format("--env and --unset both name {}", name));
    } else {
      changes.push_back({name, std::nullopt});
    }
  }
  return changes;
}

/// What an old log shows of its hosts, decided anew. Its list of interfaces is what NCCL took: that
/// another filter finds none in it says nothing.
PreflightJob of_old_log(const std::string& name, nccl::SelectionInput input,
                        const facts::FactStore& old, facts::FactStore& store) {
  input.hosts = hosts_of_log(old);
  const std::optional<nccl::Version> seen = diagnosis::lowest_release(old);
  input.version = std::max(std::min(seen.value_or(input.version), nccl::kNewest), nccl::kOldest);
  if (!input.hosts.empty() && nccl::select(input).outcome == nccl::Outcome::kError) {
    input.hosts.clear();
  }
  return decided(name, input, store);
}

std::vector<PreflightJob> of_folders(const PreflightOptions& options, const Changes& changes,
                                     nccl::Version version) {
  FactFiles files = read_fact_files(options.paths);
  const std::string name = join(options.paths, " ");
  if (changes.empty()) {
    const nccl::SelectionInput input = selection_input(files.store, version);
    return {decided(name, input, files.store)};
  }
  diagnosis::Changed changed = diagnosis::with_changes(files.store, changes);
  const nccl::SelectionInput input = selection_input(changed.store, version);
  if (input.hosts.empty() && changed.selects_anew) {
    return {of_old_log(name, input, files.store, changed.store)};
  }
  return {decided(name, input, changed.store)};
}

std::vector<PreflightJob> of_scenario(const std::string& path, const PreflightOptions& options,
                                      const Changes& changes, nccl::Version version) {
  const ScenarioFile read = read_scenario_file(path);
  std::vector<PreflightJob> jobs;
  for (const scenarios::Variant& variant : read.scenario.variants) {
    nccl::SelectionInput input;
    input.version = options.version.empty() ? variant.version : version;
    input.environment = variant.environment;
    input.hosts = variant.inventories;
    for (const diagnosis::Change& change : changes) {
      input.environment.erase(change.name);
      if (change.value) {
        input.environment[change.name] = *change.value;
      }
    }
    facts::FactStore store;
    Location where = variant.where;
    if (where.file.empty()) {
      where = {path, 1, 1};
    }
    add_hosts(input, where, store);
    jobs.push_back(decided(variant.name, input, store));
  }
  return jobs;
}

std::string choice_text(const nccl::Decision& decision) {
  if (decision.hosts.empty()) {
    return "  no choice: the files do not list the interfaces of the nodes (ip addr)\n";
  }
  std::string text;
  std::string before;
  for (const nccl::HostDecision& host : decision.hosts) {
    std::vector<std::string> devices;
    for (const nccl::NetDevice& device : host.data_devices) {
      devices.push_back(device.name);
    }
    const std::string line =
        fmt::format("bootstrap {}; network {}; devices {}", host.bootstrap_interface.value_or("-"),
                    host.network.value_or("-"), devices.empty() ? "-" : join(devices, " "));
    if (line != before) {
      text += fmt::format("  {}: {}\n", host.host.empty() ? "node" : host.host, line);
    }
    before = line;
  }
  if (decision.outcome != nccl::Outcome::kRuns) {
    text +=
        fmt::format("  {}: {}\n", nccl::to_string(decision.outcome), decision.error.value_or(""));
  }
  return text;
}

Value job_value(const PreflightJob& job) {
  Value hosts = Value::array();
  for (const nccl::HostDecision& host : job.decision.hosts) {
    Value devices = Value::array();
    for (const nccl::NetDevice& device : host.data_devices) {
      devices.push(device.name);
    }
    Value value = Value::object();
    value.set("host", host.host)
        .set("bootstrap_interface", host.bootstrap_interface.value_or(""))
        .set("network", host.network.value_or(""))
        .set("devices", std::move(devices));
    hosts.push(std::move(value));
  }
  Value value = Value::object();
  value.set("name", job.name)
      .set("outcome", job.decision.hosts.empty() ? "" : nccl::to_string(job.decision.outcome))
      .set("error", job.decision.error.value_or(""))
      .set("hosts", std::move(hosts))
      .set("findings", findings_value(job.findings));
  return value;
}

}  // namespace

int preflight(const PreflightOptions& options, Console& console) {
  if (options.paths.empty()) {
    throw InputError("no scenario or folder given; see 'busbw preflight --help'");
  }
  Problems problems;
  const nccl::Version version =
      options.version.empty() ? nccl::kNewest : read_version(options.version, problems);
  const Changes changes = read_changes(options, problems);
  problems.throw_if_any();
  std::error_code error;
  const bool folder = std::filesystem::is_directory(options.paths.front(), error);
  if (!folder && options.paths.size() > 1) {
    throw InputError("one scenario, or folders: '" + options.paths.front() + "' is no folder");
  }
  const std::vector<PreflightJob> jobs =
      folder ? of_folders(options, changes, version)
             : of_scenario(options.paths.front(), options, changes, version);
  Value list = Value::array();
  std::string text;
  bool found = false;
  for (const PreflightJob& job : jobs) {
    list.push(job_value(job));
    text += bold(job.name, console.colour_out) + '\n' + choice_text(job.decision) +
            findings_text(job.findings, console.colour_out) + '\n';
    found = found || std::any_of(job.findings.begin(), job.findings.end(), [](const auto& finding) {
              return finding.confidence != diagnosis::Confidence::kLow;
            });
  }
  Value report = Value::object();
  report.set("schema", "busbw.preflight/1").set("jobs", std::move(list));
  if (!options.json.empty() && options.json != "-") {
    write_file(options.json, json::print(report));
  }
  console.out << (options.json == "-" ? json::print(report) : text);
  return found ? kExitFinding : kExitDone;
}

}  // namespace busbw::tools
