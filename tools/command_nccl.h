// `busbw nccl decide`: what NCCL decides on a topology, as a report or as JSON.
// `busbw nccl export`: the NCCL topology XML of a machine of ours.
// `busbw nccl env`: the variables that NCCL reads.
#pragma once
#include <string>

#include "tools/console.h"
#include "tools/nccl_options.h"

namespace busbw::tools {

struct NcclDecideOptions {
  NcclJobOptions job;
  bool collnet = false;     // the network reduces (SHARP), whatever the topology says
  std::string dump_graphs;  // file for the graphs of the first node, as XML
  std::string json;         // file for JSON; "-" for standard output in place of the report
};

/// Prints the report or the JSON; warnings about the environment go to console.err. Throws
/// InputError for a bad file or option, and when NCCL refuses the environment.
int nccl_decide(const NcclDecideOptions& options, Console& console);

struct NcclExportOptions {
  std::string machine;  // file, or name of a catalogue machine
  std::string net;      // its network: IB, Socket, a plugin; empty: what NCCL takes there
  std::string version = "2.30.7";
  std::string output;  // file; empty or "-": standard output
};
/// Prints the XML. Throws InputError as nccl_decide does.
int nccl_export(const NcclExportOptions& options, Console& console);

struct NcclEnvOptions {
  bool json = false;
};
/// Lists every variable: default, first release, meaning.
int nccl_env(const NcclEnvOptions& options, Console& console);

}  // namespace busbw::tools
