// See command_fabric.h.
#include "tools/command_fabric.h"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>

#include "real/base/signals.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "tools/emulated_fabric.h"
#include "tools/exit_codes.h"
#include "tools/fabric_report.h"
#include "tools/fabric_study.h"
#include "tools/files.h"
#include "tools/json/json.h"
#include "topologies/networks/export.h"
#include "topologies/networks/lft_dump.h"

namespace busbw::tools {
namespace {

constexpr std::int64_t kCommandTimeout = 600;  // s
constexpr std::int64_t kLongestTimeout = 86'400;
constexpr real::Milliseconds kGrace{2000};

const networks::Subnet& chosen_subnet(const networks::BuiltFabric& built, const std::string& word) {
  std::vector<std::string> names;
  for (const networks::Subnet& subnet : built.subnets) {
    if (subnet.name == word || (word.empty() && built.subnets.size() == 1)) {
      return subnet;
    }
    names.push_back(subnet.name);
  }
  if (word.empty()) {
    throw InputError("the fabric has several subnets; name one with --subnet: " +
                     quoted_list(names));
  }
  throw InputError("unknown subnet '" + word + "'" + did_you_mean(word, names));
}

std::string export_text(const FabricOptions& options, const networks::BuiltFabric& built) {
  const std::string& kind = options.export_kind;
  if (kind == "edges") {
    return to_edges(built);
  }
  if (kind == "dot") {
    return to_dot(built);
  }
  if (kind == "svg") {
    return to_svg(built);
  }
  if (kind == "lfts") {
    const networks::Subnet& subnet = chosen_subnet(built, options.subnet);
    const SubnetStudy made = study(built, subnet, options.routes, StudyDepth::kCheck);
    return write_lft_dump(subnet, made.routes.lfts);
  }
  if (kind != "ibsim" && kind != "ibnetdiscover") {
    const std::string meant = did_you_mean(kind, export_kinds());
    throw InputError("unknown export '" + kind + "'" +
                     (meant.empty() ? "; allowed: " + quoted_list(export_kinds()) : meant));
  }
  const networks::Subnet& subnet = chosen_subnet(built, options.subnet);
  return kind == "ibsim" ? to_ibsim(subnet) : to_ibnetdiscover(subnet);
}

std::int64_t read_timeout(const std::string& text) {
  if (text.empty()) {
    return kCommandTimeout;
  }
  const std::optional<std::int64_t> seconds = parse_integer(text);
  if (!seconds || *seconds < 1 || *seconds > kLongestTimeout) {
    throw InputError(
        fmt::format("--timeout must be a whole number of seconds from 1 to {}, found "
                    "'{}'",
                    kLongestTimeout, text));
  }
  return *seconds;
}

/// An HCA to which the tools are attached: the named one or the first that has a cable.
std::string attach_to(const networks::Subnet& subnet, const std::string& word) {
  const networks::PortMap map(subnet);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < subnet.endpoints.size(); i++) {
    const networks::Endpoint& endpoint = subnet.endpoints[i];
    std::string name = endpoint.hca.empty() ? endpoint.host : endpoint.host + "/" + endpoint.hca;
    const bool cabled = map.of(networks::EndpointId(static_cast<std::int32_t>(i))).has_value();
    if ((word.empty() && cabled) || (!word.empty() && (name == word || endpoint.host == word))) {
      return name;
    }
    names.push_back(std::move(name));
  }
  for (const networks::Switch& node : subnet.switches) {
    if (node.name == word) {
      return word;
    }
    names.push_back(node.name);
  }
  throw InputError(word.empty()
                       ? "the subnet has no host with a cable"
                       : "nothing named '" + word + "' in the subnet" + did_you_mean(word, names));
}

/// The real tools on the emulated subnet, with OpenSM as its subnet manager; where the file says
/// that it is down, it has swept once and is gone, and the hosts have come up since unless the
/// file says that their ports are active.
int run_shell(const FabricOptions& options, const networks::BuiltFabric& built, Console& console) {
  const networks::Subnet& subnet = chosen_subnet(built, options.subnet);
  const std::int64_t timeout = read_timeout(options.timeout);
  const std::string at = attach_to(subnet, options.attach);
  const real::SignalWatch signals;
  EmulatedFabric emulated(subnet);
  if (subnet.managed) {
    const bool known =
        built.engine != networks::Engine::kDModK && built.engine != networks::Engine::kTables;
    const std::string engine = known ? to_string(built.engine) : "ftree";
    if (built.manager == networks::Manager::kRunning) {
      emulated.manage(engine);
    } else {
      sweep(emulated, engine);
      if (subnet.hosts_init) {
        emulated.reboot_hosts();
      }
    }
  }
  console.out.flush();
  std::vector<std::string> words = {"/bin/sh"};
  if (!options.shell_command.empty()) {
    words.emplace_back("-c");
    words.push_back(options.shell_command);
  }
  const std::unique_ptr<ChildProcess> shell = emulated.start(words, at, false);
  const bool limited = !options.shell_command.empty() || !options.timeout.empty();
  std::optional<int> status;
  do {
    status = shell->wait(real::Milliseconds(timeout * 1000), &signals);
  } while (!status && !limited && real::SignalWatch::pending() != SIGTERM);
  if (status) {
    return *status;
  }
  shell->send(SIGTERM);
  shell->wait(kGrace);
  if (real::SignalWatch::pending() == SIGTERM) {
    return 128 + SIGTERM;
  }
  throw SystemError({"sh", fmt::format("no end after {} s", timeout), options.shell_command, ""});
}

void check_options(const FabricOptions& options) {
  Problems problems;
  if (options.shell && (options.check || !options.export_kind.empty() || !options.json.empty() ||
                        !options.routes.empty())) {
    problems.add({}, "--shell stands alone: no --check, --export, --json, --routes");
  }
  if (!options.export_kind.empty() && (options.check || !options.json.empty())) {
    problems.add({}, "--export stands alone: no --check, --json");
  }
  if (!options.output.empty() && options.export_kind.empty()) {
    problems.add({}, "-o needs --export");
  }
  problems.throw_if_any();
}

}  // namespace

const std::vector<std::string>& export_kinds() {
  static const std::vector<std::string> kKinds = {"ibsim", "ibnetdiscover", "edges",
                                                  "dot",   "svg",           "lfts"};
  return kKinds;
}

int fabric(const FabricOptions& options, Console& console) {
  check_options(options);
  const FabricFile file = read_fabric_file(options.file);
  if (options.shell) {
    return run_shell(options, file.built, console);
  }
  if (!options.export_kind.empty()) {
    const std::string text = export_text(options, file.built);
    if (options.output.empty() || options.output == "-") {
      console.out << text;
    } else {
      write_file(options.output, text);
    }
    return kExitDone;
  }
  std::vector<SubnetStudy> studies;
  bool good = true;
  const bool brief = options.check && options.json.empty();
  for (const networks::Subnet& subnet : file.built.subnets) {
    studies.push_back(
        study(file.built, subnet, options.routes, brief ? StudyDepth::kCheck : StudyDepth::kAll));
    good = good && studies.back().good();
  }
  if (!options.json.empty() && options.json != "-") {
    write_file(options.json, json::print(fabric_value(file, studies)));
  }
  if (options.json == "-") {
    console.out << json::print(fabric_value(file, studies));
  } else if (brief) {
    for (const std::string& line : fabric_findings(file, studies)) {
      console.out << line << '\n';
    }
    if (good) {
      console.out << fmt::format(
          "{}: every pair that it means to connect is reachable, no credit "
          "loops\n",
          file.built.name);
    }
  } else {
    console.out << fabric_text(file, studies, console.colour_out);
  }
  return options.check && !good ? kExitFinding : kExitDone;
}

}  // namespace busbw::tools
