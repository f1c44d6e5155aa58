// Command line of busbw, on CLI11. Parse errors become InputError with did-you-mean, so that a
// wrong option and a wrong file look the same to the user: one line each, exit code 2.
#include "tools/cli.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "tools/cli_text.h"
#include "tools/command_accuracy.h"
#include "tools/command_calibrate.h"
#include "tools/command_collect.h"
#include "tools/command_diagnose.h"
#include "tools/command_fabric.h"
#include "tools/command_list.h"
#include "tools/command_measure.h"
#include "tools/command_micro.h"
#include "tools/command_nccl.h"
#include "tools/command_nccl_log.h"
#include "tools/command_perf.h"
#include "tools/command_preflight.h"
#include "tools/command_run.h"
#include "tools/command_select.h"
#include "tools/command_show.h"
#include "tools/command_validate.h"
#include "tools/command_version.h"
#include "tools/exit_codes.h"

namespace busbw::tools {
namespace {

/// What the parsed command line asks for; empty when no command was named.
using Action = std::function<int(Console&)>;

/// Connects a subcommand to the function that performs it.
template <class Options>
void set_action(CLI::App& command, const std::shared_ptr<Options>& options, Action& action,
                int (*perform)(const Options&, Console&)) {
  command.callback([options, &action, perform] {
    action = [options, perform](Console& console) { return perform(*options, console); };
  });
}

void add_fabric(CLI::App& app, Action& action) {
  auto options = std::make_shared<FabricOptions>();
  CLI::App* command = app.add_subcommand(
      "fabric", "Switches, cables, routes and bisection of a fabric; checks, exports, real tools");
  command
      ->add_option("FILE", options->file,
                   "Fabric file, output of ibnetdiscover or iblinkinfo, list of cables, graph, or "
                   "a fabric of the catalogue")
      ->required();
  command->add_option("--routes", options->routes, "ftree, updn, minhop, d-mod-k, opensm");
  command->add_flag("--check", options->check,
                    "Exit code 1 when a pair is unreachable or credits can block for good");
  command->add_option("--export", options->export_kind, join(export_kinds(), ", "));
  command->add_option("-o,--output", options->output, "Write the export to this file");
  command->add_option("--subnet", options->subnet, "Which one, when the fabric has several");
  command->add_option("--json", options->json, "Write JSON to this file; - for standard output");
  CLI::Option* shell = command
                           ->add_option("--shell", options->shell_command,
                                        "Run this command, or a shell, in which ibstat, "
                                        "ibnetdiscover, opensm ... see the fabric")
                           ->expected(0, 1);
  command->add_option("--attach", options->attach, "Host or switch at which the tools are");
  command->add_option("--timeout", options->timeout, "Seconds for the command of --shell (600)");
  command->callback([options, shell, &action] {
    options->shell = shell->count() > 0;
    action = [options](Console& console) { return fabric(*options, console); };
  });
}

void add_list(CLI::App& app, Action& action) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* command = app.add_subcommand("list", "What the catalogue holds");
  command->add_option("LIST", options->what, join(list_kinds(), ", "));
  command->add_flag("--json", options->json, "Print JSON");
  set_action(*command, options, action, list);
}

/// The options of a job; they outlive the command.
void add_job(CLI::App& command, NcclJobOptions& job) {
  command
      .add_option("--topology", job.topology,
                  "One node: NCCL topology XML, machine file (.yaml), or machine of the catalogue")
      ->required();
  command.add_option("--net", job.net,
                     "Network of a machine: IB, Socket or its plugin (default: what NCCL takes)");
  command.add_option("--nodes", job.nodes, "Number of equal nodes (default 1)");
  command.add_option("--mnnvl", job.nvlink_domain, "Nodes of one NVLink domain");
  command.add_option("--env", job.environment, "NAME=VALUE, may be repeated");
  command.add_option("--nccl-version", job.version, "Release (default 2.30.7)");
}

void add_nccl_log(CLI::App& nccl, Action& action) {
  auto log = std::make_shared<NcclLogOptions>();
  CLI::App* command =
      nccl.add_subcommand("log", "The start-up log that NCCL would print, to hold against yours");
  add_job(*command, log->job);
  command->add_option("--rank", log->rank, "Whose log (default 0)");
  command->add_option("--debug-subsys", log->subsystems,
                      "Subsystems, as in NCCL_DEBUG_SUBSYS (default INIT,BOOTSTRAP,ENV)");
  command->add_option("--network", log->network, "Name of an external network plugin");
  command->add_flag("--connections", log->connections,
                    "Append what the first ring and tree collective print (2.22.3 and newer)");
  set_action(*command, log, action, nccl_log);
}

void add_nccl(CLI::App& app, Action& action) {
  CLI::App* nccl = app.add_subcommand("nccl", "What NCCL decides, and the variables it reads");
  nccl->require_subcommand(1);
  auto decide = std::make_shared<NcclDecideOptions>();
  CLI::App* command = nccl->add_subcommand(
      "decide", "Paths, rings, trees, channels, tuning and choice per size on a topology");
  add_job(*command, decide->job);
  command->add_flag("--collnet", decide->collnet,
                    "Every NIC reduces in the network (SHARP); used with NCCL_COLLNET_ENABLE=1");
  command->add_option("--dump-graphs", decide->dump_graphs,
                      "Write the graphs of the first node to this file, as NCCL_GRAPH_DUMP_FILE");
  command->add_option("--json", decide->json, "Write JSON to this file; - for standard output");
  set_action(*command, decide, action, nccl_decide);
  auto exported = std::make_shared<NcclExportOptions>();
  CLI::App* write = nccl->add_subcommand("export", "NCCL topology XML of a machine");
  write->add_option("MACHINE", exported->machine, "Machine file, or machine of the catalogue")
      ->required();
  write->add_option("-o,--output", exported->output, "Write to this file (default: print)");
  write->add_option("--net", exported->net, "IB, Socket or the machine's plugin");
  write->add_option("--nccl-version", exported->version,
                    "Release that would dump it (default 2.30.7)");
  set_action(*write, exported, action, nccl_export);
  auto env = std::make_shared<NcclEnvOptions>();
  CLI::App* list =
      nccl->add_subcommand("env", "Every variable: default, releases, what it changes, meaning");
  list->add_flag("--json", env->json, "Print JSON");
  set_action(*list, env, action, nccl_env);
  add_nccl_log(*nccl, action);
}

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand(
      "run", "Predict every variant of a scenario: NCCL's decision, time, busbw, bottleneck");
  command->add_option("FILE", options->file, "Scenario file, or the name of one of the catalogue")
      ->required();
  command->add_option("--json", options->json, "Write JSON to this file; - for standard output");
  command->add_option("--csv", options->csv, "Write CSV to this file; - for standard output");
  command->add_option("--parameters", options->parameters,
                      "Parameter file of busbw calibrate, in place of the catalogue's network");
  command->add_option("--engine", options->engine, kEngineHelp);
  command->add_option("--seed", options->seed, "Seed of the run (default 1)");
  command->add_option("--hottest", options->hottest, kHottestHelp);
  command->add_flag("--log", options->log, "Show the lines that NCCL would log");
  command->add_flag("--brief", options->brief, "Show the comparison alone");
  set_action(*command, options, action, run);
}

/// Options of everything that runs ranks; they outlive the command.
void add_running(CLI::App& command, RealOptions& real) {
  command.add_option(
      "--completion", real.completion,
      "poll (yields), event, or auto (default): event where ranks outnumber processors");
  command.add_option("--env", real.environment, "NAME=VALUE as NCCL reads it, may be repeated")
      ->allow_extra_args(false);
  command.add_option("--nccl-version", real.version, "Release whose rules choose (2.30.7)");
  command.add_option("-n,--iters", real.iterations, "Timed iterations");
  command.add_option("--timeout", real.timeout, "Seconds in which something must happen (30)");
  command.add_option("--json", real.json, "Write JSON to this file; - for standard output");
}

/// And of those that repeat something for several sizes.
void add_sizes(CLI::App& command, RealOptions& real) {
  command.add_option("--sizes", real.sizes, "Sizes, as 4,4K,1M");
  command.add_option("-b,--minbytes", real.from, "Smallest size");
  command.add_option("-e,--maxbytes", real.to, "Largest size");
  command.add_option("-f,--stepfactor", real.factor, "Factor between sizes (default 2)");
  command.add_option("-w,--warmup", real.warmup, "Iterations before them (default 5)");
  add_running(command, real);
}

/// And of those that are told the network.
void add_real(CLI::App& command, RealOptions& real) {
  command.add_option("--network", real.network, "auto, verbs, tcp or shm");
  add_sizes(command, real);
}

void add_measure(CLI::App& app, Action& action) {
  auto options = std::make_shared<MeasureOptions>();
  CLI::App* command = app.add_subcommand(
      "measure", "Run collectives for real: local ranks, or under mpirun, srun or torchrun");
  command->add_option("SCENARIO", options->scenario,
                      "Scenario file or name: its variants with their plans");
  command->add_option("--variant", options->variants, "Only this one, may be repeated")
      ->allow_extra_args(false);
  command->add_option("--collective", options->collectives, "all_reduce (default), ... or all")
      ->allow_extra_args(false)
      ->delimiter(',');
  command->add_option("--algorithm", options->algorithms, "Ring, Tree, Hierarchical, ... or all")
      ->allow_extra_args(false)
      ->delimiter(',');
  command->add_option("--method", options->methods, "Over verbs: write (default), read, send")
      ->allow_extra_args(false)
      ->delimiter(',');
  command->add_option("--ranks", options->ranks, "Ranks (default 2, or the launcher's)");
  command->add_option("--hosts", options->hosts, "Treat the ranks as this many hosts");
  command->add_option("--channels", options->channels, "Rings and trees (default 1)");
  command->add_option("--chunk", options->chunk, "Largest message (default 128K)");
  command->add_option("--slots", options->slots, "Messages of a link ahead of it (default 8)");
  command->add_option("--type", options->type, "Element type (default float)");
  command->add_option("--redop", options->redop, "sum (default), prod, min, max or avg");
  command->add_option("--root", options->root, "Of broadcast, reduce, gather, scatter");
  command->add_flag("--barrier", options->barrier, "A barrier before each iteration");
  command->add_flag("--in-place", options->in_place, "Input and output in one buffer");
  add_real(*command, options->real);
  set_action(*command, options, action, measure);
}

void add_calibrate(CLI::App& app, Action& action) {
  auto options = std::make_shared<CalibrateOptions>();
  options->real.iterations = "100";
  CLI::App* command = app.add_subcommand(
      "calibrate", "Latency, overhead, gap and bandwidth of the network, by micro-benchmarks");
  command->add_option("SCENARIO", options->scenario,
                      "Scenario file or name: the networks and devices of its variants");
  command->add_option("--variant", options->variants, "Only this one, may be repeated")
      ->allow_extra_args(false);
  command->add_option("-o,--output", options->output,
                      "Write the parameter file here; - for standard output");
  command->add_option("--network", options->networks, "verbs (default), tcp, shm; may be repeated")
      ->allow_extra_args(false)
      ->delimiter(',');
  command->add_option("--method", options->methods, "Over verbs: write (default), read, send")
      ->allow_extra_args(false)
      ->delimiter(',');
  command
      ->add_option("--devices", options->devices, "HCA or interface of each rank (NCCL's choice)")
      ->allow_extra_args(false)
      ->delimiter(',');
  command->add_option("--ranks", options->ranks, "Ranks (default: as many as devices, or 2)");
  command->add_flag("--all-pairs", options->all_pairs,
                    "All ordered pairs, also of more than 4 devices");
  add_running(*command, options->real);
  set_action(*command, options, action, calibrate);
}

void add_micro(CLI::App& app, real::MicroKind kind, const std::string& what, Action& action) {
  auto options = std::make_shared<MicroOptions>();
  options->kind = kind;
  options->real.iterations = "1000";
  options->real.warmup = "100";
  CLI::App* command = app.add_subcommand(to_string(kind), what);
  command->add_option("--server", options->server, "Port: wait here for the other host");
  command->add_option("--connect", options->connect, "HOST:PORT of the other host");
  if (kind == real::MicroKind::kPingPong)
    command->add_option("--method", options->method, "Over verbs: write (default), read, send");
  if (kind == real::MicroKind::kWriteBandwidth)
    command->add_option("--depth", options->depth, "Messages in flight (default 128)");
  add_real(*command, options->real);
  set_action(*command, options, action, micro);
}

void add_micros(CLI::App& app, Action& action) {
  add_micro(app, real::MicroKind::kPingPong, "Half a round trip between two ranks", action);
  add_micro(app, real::MicroKind::kSendLatency, "The same by SEND, as ib_send_lat", action);
  add_micro(app, real::MicroKind::kReadLatency, "RDMA READ, post to completion, as ib_read_lat",
            action);
  add_micro(app, real::MicroKind::kWriteBandwidth, "RDMA WRITE one way, as ib_write_bw", action);
}

void add_select(CLI::App& app, Action& action) {
  auto options = std::make_shared<SelectOptions>();
  CLI::App* command = app.add_subcommand(
      "select", "What NCCL selects on the hosts of records, and the predicted busbw beside theirs");
  command->add_option("--records", options->records, "JSON file of records")->required();
  command->add_option("--json", options->json, "Write JSON to this file; - for standard output");
  set_action(*command, options, action, select);
}

void add_collect(CLI::App& app, Action& action) {
  auto options = std::make_shared<CollectCommandOptions>();
  CLI::App* command = app.add_subcommand("collect", "Gather what a diagnosis reads, read-only");
  command->add_option("-o,--output", options->output, "Folder to write (default collected)");
  command->add_flag("--all-nodes", options->all_nodes, "Under srun or mpirun: into FOLDER/HOST");
  command->add_option("--root", options->root, "Read sysfs and procfs of this folder instead");
  command->add_option("--timeout", options->timeout, "Seconds for tools and files (default 10)");
  command->add_option("--json", options->json, "The manifest: a file; - for standard output");
  set_action(*command, options, action, collect);
}

void add_show(CLI::App& app, Action& action) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* command = app.add_subcommand("show", "What an emulated host of a scenario would print");
  command->add_option("KIND", options->kind, join(show_kinds(), ", "))->required();
  command->add_option("SCENARIO", options->scenario, "Scenario file or name")->required();
  command->add_option("--variant", options->variant, "Variant (default: the first)");
  command->add_option("--host", options->host, "Host by number from 0 or by name (default 0)");
  command->add_option("--from", options->from, "path: HOST:GPU where it begins");
  command->add_option("--to", options->to, "path: HOST:GPU where it ends");
  command->add_option("--channel", options->channel, "path: NCCL's channel (default 0)");
  command->add_option("--json", options->json, "path: write JSON; - for standard output");
  set_action(*command, options, action, show);
}

void add_accuracy(CLI::App& app, Action& action) {
  auto options = std::make_shared<AccuracyOptions>();
  CLI::App* command = app.add_subcommand(
      "accuracy",
      "Predicted against measured bus bandwidth of records: errors per class and in all");
  command->add_option("RECORDS", options->records, "JSON files of measurement records")->required();
  command->add_option("--groups", options->groups, "Default: comparison-groups.json beside them");
  command->add_option("--json", options->json, "Write JSON to this file; - for standard output");
  command->add_option("--csv", options->csv, "Write CSV to this file; - for standard output");
  command->add_option("--markdown", options->markdown, "Write the page of figures to this file");
  command->add_option("--plots", options->plots, "Write SVG plots into this folder");
  command->add_option("--fold-by", options->fold_by,
                      "site: split the records for cross validation, whole sites together");
  command->add_option("--folds", options->folds, "Number of folds (default 5)");
  command->add_flag("--refit", options->refit, "Fit parameters on the other folds, predict each");
  command->add_option("--engine", options->engine, kEngineHelp);
  command->add_flag("--brief", options->brief, "Show classes, groups and totals alone");
  set_action(*command, options, action, accuracy);
}

void add_perf(CLI::App& app, Action& action) {
  auto options = std::make_shared<PerfOptions>();
  CLI::App* command = app.add_subcommand(
      "perf", "What nccl-tests would print on equal hosts: time, bandwidth, choice, bottleneck");
  command->add_option("COLLECTIVE", options->collective, "all_reduce, ... as nccl-tests")
      ->required();
  command->add_option("--machine", options->machine, "Machine of the catalogue, or a machine file")
      ->required();
  command->add_option("--fabric", options->fabric,
                      "Fabric of the RDMA NICs: a file, or one of the catalogue");
  command->add_option("--ecmp", options->ecmp, "Of --fabric: 5-tuple, flowlet or packet[,SEED]");
  command->add_flag("--adaptive-routing", options->adaptive_routing,
                    "Of --fabric, InfiniBand: packets over all equal ways");
  command->add_option("--hottest", options->hottest, kHottestHelp);
  command->add_option("--nodes", options->nodes, "Number of equal nodes (default 1)");
  command->add_option("--mnnvl", options->nvlink_domain, "Nodes of one NVLink domain");
  command->add_option("-b,--minbytes", options->from, "Smallest size (default 32M)");
  command->add_option("-e,--maxbytes", options->to, "Largest size (default 32M)");
  command->add_option("-i,--stepbytes", options->step, "Added from size to size (default 1M)");
  command->add_option("-f,--stepfactor", options->factor, "Factor from size to size");
  command->add_option("-g,--ngpus", options->gpus, "GPUs of each node (default all)");
  command->add_option("-d,--datatype", options->type, "Element type (default float)");
  command->add_option("--mtu", options->mtu, "Of RDMA over Ethernet (default 9000)");
  command->add_option("--env", options->environment, "NAME=VALUE, may be repeated")
      ->allow_extra_args(false);
  command->add_option("--nccl-version", options->version, "Release (default 2.30.7)");
  command->add_option("--engine", options->engine, kEngineHelp);
  command->add_option("--json", options->json, "Write JSON to this file; - for standard output");
  command->add_option("--csv", options->csv, "Write CSV to this file; - for standard output");
  command->add_option("--plot", options->plot, "Write busbw over size to this SVG file");
  set_action(*command, options, action, perf);
}

void add_diagnose(CLI::App& app, Action& action) {
  auto options = std::make_shared<DiagnoseOptions>();
  CLI::App* command = app.add_subcommand(
      "diagnose", "From logs, tool output and environments to the cause and the fix");
  command->add_option("PATH", options->paths, "Files, or folders with them (one a host, or all)");
  command->add_option("--json", options->json, "Write JSON to this file; - for standard output");
  command->add_flag("--kinds", options->kinds, "List the kinds of causes");
  set_action(*command, options, action, diagnose);
}

void add_preflight(CLI::App& app, Action& action) {
  auto options = std::make_shared<PreflightOptions>();
  CLI::App* command = app.add_subcommand(
      "preflight", "Before a job starts: what NCCL will choose on these nodes, and what is wrong");
  command->add_option("PATH", options->paths, "A scenario, or folders with tool output and env");
  command->add_option("--env", options->environment, "NAME=VALUE as if set, may be repeated")
      ->allow_extra_args(false);
  command->add_option("--unset", options->unset, "NAME as if not set, may be repeated")
      ->allow_extra_args(false);
  command->add_option("--nccl-version", options->version, "Release (default 2.30.7)");
  command->add_option("--json", options->json, "Write JSON to this file; - for standard output");
  set_action(*command, options, action, preflight);
}

void add_validate(CLI::App& app, Action& action) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App* command = app.add_subcommand(
      "validate", "Calibrate, predict and measure a scenario, and judge the difference");
  command->add_option("SCENARIO", options->scenario, "Scenario file or name")->required();
  command->add_option("--variant", options->variants, "Only this one, may be repeated")
      ->allow_extra_args(false);
  command->add_option("--parameters", options->parameters,
                      "Parameter file of busbw calibrate; nothing is calibrated then");
  command->add_option("-o,--output", options->output, "Write the measured parameters to this file");
  command->add_option("--calibration-iters", options->calibration_iterations,
                      "Round trips of each calibrated pair (100)");
  command->add_option("--engine", options->engine, kEngineHelp);
  command->add_option("--csv", options->csv, "Write CSV to this file; - for standard output");
  command->add_flag("--setup", options->setup,
                    "Only print the options of tools/soft-roce that the scenario needs");
  add_sizes(*command, options->real);
  set_action(*command, options, action, validate);
}

void add_version(CLI::App& app, Action& action) {
  auto options = std::make_shared<VersionOptions>();
  CLI::App* command =
      app.add_subcommand("version", "Version, and which optional libraries are in this build");
  command->add_flag("--json", options->json, "Print JSON");
  set_action(*command, options, action, version);
}

/// The subcommand that the words on the command line reached, or the program itself.
const CLI::App& deepest(const CLI::App& app) {
  const std::vector<const CLI::App*> chosen = app.get_subcommands({});
  for (const CLI::App* command : chosen) {
    if (command->parsed()) {
      return deepest(*command);
    }
  }
  return app;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? "busbw"
                                     : full_name(*app.get_parent()) + " " + app.get_name();
}

std::string unexpected(const CLI::App& app, const std::string& word) {
  const CLI::App& command = deepest(app);
  std::vector<std::string> known;
  if (word.starts_with("-")) {
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        known.push_back("--" + name);
      }
    }
    return "unknown option '" + word + "' of '" + full_name(command) + "'" +
           did_you_mean(word.substr(0, word.find('=')), known);
  }
  for (const CLI::App* sub : command.get_subcommands({})) {
    known.push_back(sub->get_name());
  }
  return unknown_word(word, full_name(command), known);
}

[[noreturn]] void fail(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> extras = app.remaining(true);
  Problems problems;
  for (const std::string& word : extras) {
    problems.add({}, unexpected(app, word));
  }
  if (extras.empty()) {
    problems.add({}, house_style(error.what()) + " (see '" + full_name(deepest(app)) + " --help')");
  }
  problems.throw_if_any();
  throw InputError(error.what());
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments, Console& console) {
  CLI::App app("Predicts the bus bandwidth of a GPU cluster and explains it.", "busbw");
  app.set_help_all_flag("--help-all", "Print help of every command");
  app.footer(kFooter);
  bool show_version = false;
  app.add_flag("--version", show_version, "Print version and libraries");
  Action action;
  add_accuracy(app, action);
  add_calibrate(app, action);
  add_collect(app, action);
  add_diagnose(app, action);
  add_fabric(app, action);
  add_list(app, action);
  add_measure(app, action);
  add_micros(app, action);
  add_nccl(app, action);
  add_perf(app, action);
  add_preflight(app, action);
  add_run(app, action);
  add_select(app, action);
  add_show(app, action);
  add_validate(app, action);
  add_version(app, action);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants it
    app.parse(reversed);
  } catch (const CLI::Success& success) {  // --help
    app.exit(success, console.out, console.err);
    return kExitDone;
  } catch (const CLI::ParseError& error) {
    fail(app, error);
  }
  if (show_version) {
    return version({}, console);
  }
  if (!action) {
    throw InputError("no command given; see 'busbw --help'");
  }
  return action(console);
}

}  // namespace busbw::tools
