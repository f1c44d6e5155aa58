// A subnet that the real InfiniBand tools see: ibsim plays it, and programs with libumad2sim
// preloaded (ibsim-run) take it for hardware. Debian packages ibsim-utils, opensm and
// infiniband-diags; no kernel support and no rights are needed.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tools/child_process.h"
#include "topologies/networks/lfts.h"
#include "topologies/networks/subnet.h"

namespace busbw::tools {

class EmulatedFabric {
 public:
  /// Starts ibsim on the subnet, with a socket of its own. Throws SystemError when it is not
  /// installed or not up in time. Ends it when destroyed.
  explicit EmulatedFabric(const networks::Subnet& subnet);
  ~EmulatedFabric();
  EmulatedFabric(const EmulatedFabric&) = delete;
  EmulatedFabric& operator=(const EmulatedFabric&) = delete;

  [[nodiscard]] const std::string& folder() const { return folder_.path(); }
  /// `words` under ibsim-run, attached at `at` (name of an HCA or switch; empty: the first port of
  /// the net). `quiet`: its output goes to the log in the folder. Streams are inherited otherwise.
  [[nodiscard]] std::unique_ptr<ChildProcess> start(const std::vector<std::string>& words,
                                                    const std::string& at, bool quiet);
  /// OpenSM as the subnet manager of the net from now on, with that routing engine: returns once
  /// it has set up the subnet. It ends with this object.
  void manage(const std::string& engine);
  /// Takes every cable of a host out and puts it back: its ports are in INIT then, without a LID,
  /// until a subnet manager comes; what switches have in their tables stays.
  void reboot_hosts();

 private:
  void wait_until_up();
  [[nodiscard]] std::string log_path() const { return folder_.path() + "/ibsim.log"; }

  PrivateFolder folder_;
  std::vector<std::string> hcas_;  // names in the net, of those with a cable
  real::Descriptor console_;       // ibsim ends when it closes
  std::unique_ptr<ChildProcess> simulator_;
  std::unique_ptr<ChildProcess> manager_;
};

/// What the real subnet manager made of the subnet.
struct OpenSmRoutes {
  networks::Lfts lfts;  // to the LIDs of `subnet`, not OpenSM's own
  std::string engine;   // that won: "ftree", "minhop" ...
};

/// Runs OpenSM once on the subnet, with that routing engine, and takes its tables.
OpenSmRoutes run_opensm(const networks::Subnet& subnet, const std::string& engine);

/// One sweep of OpenSM in a fabric that runs: sets LIDs, states and tables for what follows.
void sweep(EmulatedFabric& fabric, const std::string& engine);

}  // namespace busbw::tools
