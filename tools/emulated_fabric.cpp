// See emulated_fabric.h.
#include "tools/emulated_fabric.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "tools/files.h"
#include "topologies/networks/export.h"
#include "topologies/networks/lft_dump.h"

namespace busbw::tools {
namespace {

namespace fs = std::filesystem;

constexpr real::Milliseconds kStart{20'000};   // for ibsim to read the net
constexpr real::Milliseconds kSweep{120'000};  // for OpenSM; 648 hosts take 2 s
constexpr real::Milliseconds kLook{20};
constexpr real::Milliseconds kEnd{1000};
constexpr const char* kPackage = "ibsim-utils";
constexpr const char* kPriority = "14";  // of 0 to 15

real::Descriptor open_log(const std::string& path) {
  real::Descriptor log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.open()) {
    real::fail_call("open", errno, path);
  }
  return log;
}

/// The end of what a program said, for messages.
std::string last_line(const std::string& path) {
  const std::string text = read_file(path);
  std::string last;
  for (const std::string_view line : split_lines(text)) {
    if (!trim(line).empty()) {
      last = std::string(trim(line));
    }
  }
  return last;
}

}  // namespace

EmulatedFabric::EmulatedFabric(const networks::Subnet& subnet) {
  const std::string net = folder_.path() + "/net";
  write_file(net, networks::to_ibsim(subnet));
  const networks::PortMap map(subnet);
  for (std::size_t i = 0; i < subnet.endpoints.size(); i++) {
    const networks::Endpoint& endpoint = subnet.endpoints[i];
    std::string name = endpoint.hca.empty() ? endpoint.host : endpoint.host + "/" + endpoint.hca;
    if (map.of(networks::EndpointId(static_cast<std::int32_t>(i))) &&
        (hcas_.empty() || hcas_.back() != name)) {
      hcas_.push_back(std::move(name));
    }
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    real::fail_call("pipe2", errno);
  }
  const real::Descriptor input(ends[0]);
  console_ = real::Descriptor(ends[1]);
  const real::Descriptor log = open_log(log_path());
  const std::size_t nodes = subnet.switches.size() + subnet.endpoints.size();
  std::size_t ports = 0;
  for (const networks::Switch& node : subnet.switches) {
    ports += static_cast<std::size_t>(node.ports) + 1;
  }
  for (const networks::Endpoint& endpoint : subnet.endpoints) {
    ports += static_cast<std::size_t>(endpoint.hca_ports);
  }
  ChildCommand command;
  command.words = {find_program("ibsim", kPackage),
                   "-s",
                   "-N",
                   std::to_string(nodes + 1),
                   "-S",
                   std::to_string(subnet.switches.size() + 1),
                   "-P",
                   std::to_string(ports + 1),
                   net};
  command.environment["IBSIM_SOCKNAME"] = fs::path(folder_.path()).filename().string();
  command.input = input.get();
  command.output = log.get();
  command.error = log.get();
  simulator_ = std::make_unique<ChildProcess>(command);
  wait_until_up();
}

EmulatedFabric::~EmulatedFabric() {
  if (manager_) {
    manager_->send(SIGTERM);
    manager_->wait(kEnd);
  }
  console_.reset();
  if (simulator_) {
    simulator_->wait(kEnd);
  }
}

/// ibsim prints its prompt once the net is read and its socket is there.
void EmulatedFabric::wait_until_up() {
  const real::Deadline deadline = real::Deadline::in(kStart);
  while (read_file(log_path()).find("sim>") == std::string::npos) {
    if (const std::optional<int> status = simulator_->wait(kLook)) {
      throw SystemError({"ibsim",
                         fmt::format("ended with status {}: {}", *status, last_line(log_path())),
                         "the emulated fabric", ""});
    }
    if (deadline.passed()) {
      throw SystemError({"ibsim",
                         "not up after " + real::to_string(kStart) + ": " + last_line(log_path()),
                         "the emulated fabric", ""});
    }
  }
}

std::unique_ptr<ChildProcess> EmulatedFabric::start(const std::vector<std::string>& words,
                                                    const std::string& at, bool quiet) {
  ChildCommand command;
  command.words = {find_program("ibsim-run", kPackage)};
  command.words.insert(command.words.end(), words.begin(), words.end());
  command.environment["IBSIM_SOCKNAME"] = fs::path(folder_.path()).filename().string();
  command.environment["OSM_TMP_DIR"] = folder_.path();
  command.environment["OSM_CACHE_DIR"] = folder_.path();
  if (!at.empty()) {
    command.environment["SIM_HOST"] = at;
  }
  const real::Descriptor log = open_log(folder_.path() + "/run.log");
  const real::Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (quiet) {
    // libumad2sim makes a folder sys-PID where a program works and leaves it there when that is
    // killed.
    command.directory = folder_.path();
    command.input = nothing.get();
    command.output = log.get();
    command.error = log.get();
  }
  return std::make_unique<ChildProcess>(command);
}

void EmulatedFabric::manage(const std::string& engine) {
  const std::string log = folder() + "/osm.log";
  // -d 2: every line of the log is there at once. -p: "master is chosen by priority and GUID"
  // (opensm(8)); a host's GUID is lower than that of the switch where this one sits.
  manager_ = start({find_program("opensm", "opensm"), "-R", engine, "-p", kPriority, "-D", "0x43",
                    "-d", "2", "-f", log},
                   "", true);
  const real::Deadline deadline = real::Deadline::in(kSweep);
  while (!fs::exists(log) || read_file(log).find("SUBNET UP") == std::string::npos) {
    if (const std::optional<int> status = manager_->wait(kLook)) {
      throw SystemError(
          {"opensm",
           fmt::format("ended with status {}: {}", *status, last_line(folder() + "/run.log")),
           "the emulated fabric", ""});
    }
    if (deadline.passed()) {
      throw SystemError(
          {"opensm", "subnet not up after " + real::to_string(kSweep), "the emulated fabric", ""});
    }
  }
}

void EmulatedFabric::reboot_hosts() {
  if (hcas_.empty()) {
    return;
  }
  std::string script;
  for (const std::string& hca : hcas_) {
    script += fmt::format("Clear \"{0}\"\nReLink \"{0}\"\n", hca);
  }
  const std::string file = folder() + "/reboot";
  write_file(file, script);
  // ibsim does one command after the other: what Dump prints last tells that all are done.
  const std::string commands = fmt::format("!{}\nDump \"{}\"\n", file, hcas_.back());
  if (::write(console_.get(), commands.data(), commands.size()) !=
      static_cast<ssize_t>(commands.size())) {
    real::fail_call("write", errno, "the console of ibsim");
  }
  const real::Deadline deadline = real::Deadline::in(kStart);
  while (read_file(log_path()).find("#  dumped") == std::string::npos) {
    if (simulator_->wait(kLook) || deadline.passed()) {
      throw SystemError(
          {"ibsim",
           "hosts not restarted after " + real::to_string(kStart) + ": " + last_line(log_path()),
           "the emulated fabric", ""});
    }
  }
}

void sweep(EmulatedFabric& fabric, const std::string& engine) {
  const std::string log = fabric.folder() + "/osm.log";
  const std::unique_ptr<ChildProcess> manager = fabric.start(
      {find_program("opensm", "opensm"), "-o", "-R", engine, "-D", "0x43", "-f", log}, "", true);
  const std::optional<int> status = manager->wait(kSweep);
  if (!status || *status != 0) {
    throw SystemError({"opensm",
                       status ? fmt::format("ended with status {}: {}", *status,
                                            last_line(fabric.folder() + "/run.log"))
                              : "no end after " + real::to_string(kSweep),
                       "the emulated fabric", ""});
  }
}

OpenSmRoutes run_opensm(const networks::Subnet& subnet, const std::string& engine) {
  EmulatedFabric fabric(subnet);
  sweep(fabric, engine);
  OpenSmRoutes routes;
  // "osm_ucast_mgr_process: ftree tables configured on all switches" names the engine that won.
  const std::string log = read_file(fabric.folder() + "/osm.log");
  const std::string marker = " tables configured on all switches";
  const std::size_t end = log.rfind(marker);
  if (end != std::string::npos) {
    const std::size_t start = log.find_last_of(" \n", end - 1);
    routes.engine = log.substr(start + 1, end - start - 1);
  }
  const std::string dump = fabric.folder() + "/opensm-lfts.dump";
  Problems problems;
  routes.lfts = networks::read_lft_dump(read_file(dump), dump, subnet, problems);
  if (!problems.empty()) {
    throw SystemError({"opensm", to_string(problems.all().front()), dump, ""});
  }
  return routes;
}

}  // namespace busbw::tools
