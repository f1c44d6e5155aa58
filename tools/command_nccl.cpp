// Reads the topology, decides, prints.
#include "tools/command_nccl.h"

#include <fmt/format.h>

#include "models/nccl/graph/decide.h"
#include "models/nccl/graph/graph_xml.h"
#include "models/nccl/graph/to_value.h"
#include "models/nccl/variables.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "tools/exit_codes.h"
#include "tools/files.h"
#include "tools/json/json.h"
#include "tools/nccl_options.h"
#include "tools/nccl_report.h"
#include "tools/nccl_topology.h"
#include "tools/table.h"

namespace busbw::tools {
namespace {

nccl::graph::Element read_graphs(const std::string& path) {
  Problems problems;
  nccl::graph::Element graphs = nccl::graph::parse_graphs(read_xml_text(path), path, problems);
  problems.throw_if_any();
  return graphs;
}

const char* to_string(nccl::VariableGroup group) {
  switch (group) {
    case nccl::VariableGroup::kStartUp:
      return "start-up";
    case nccl::VariableGroup::kInfiniBand:
      return "InfiniBand";
    case nccl::VariableGroup::kPaths:
      return "paths";
    case nccl::VariableGroup::kAlgorithms:
      return "algorithms";
    default:
      return "logging";
  }
}

}  // namespace

int nccl_decide(const NcclDecideOptions& options, Console& console) {
  Problems problems;
  NcclJob job = read_job(options.job, problems);
  nccl::graph::DecideInput& input = job.input;
  input.collnet = options.collnet;
  const auto graphs = input.environment.find("NCCL_GRAPH_FILE");
  if (graphs != input.environment.end() && !graphs->second.empty())
    input.graphs = read_graphs(graphs->second);
  const nccl::graph::Decision decision = nccl::graph::decide(input);
  for (const std::string& warning : job.warnings)
    console.err << "warning: " << warning << '\n';
  if (options.collnet && nccl::numeric(input.environment, "NCCL_COLLNET_ENABLE", 0) != 1) {
    console.err << "warning: --collnet: NCCL reduces in the network only with "
                   "NCCL_COLLNET_ENABLE=1\n";
  }
  if (!options.dump_graphs.empty()) {
    const auto first = static_cast<std::size_t>(decision.nodes.front().group);
    write_file(options.dump_graphs,
               print_topology(nccl::graph::graphs_element(decision.groups[first])));
  }
  const std::string json = options.json.empty() ? "" : json::print(nccl::graph::to_value(decision));
  if (options.json == "-") {
    console.out << json;
    return kExitDone;
  }
  if (!options.json.empty())
    write_file(options.json, json);
  console.out << nccl_report(decision, console.colour_out);
  return kExitDone;
}

int nccl_export(const NcclExportOptions& options, Console& console) {
  Problems problems;
  const nccl::Version version = read_version(options.version, problems);
  problems.throw_if_any();
  const TopologyAnswer topology = export_topology({options.machine, options.net, {}, version});
  for (const std::string& remark : topology.remarks)
    console.err << "warning: " << remark << '\n';
  const std::string text = nccl::graph::print_topology(topology.document);
  if (options.output.empty() || options.output == "-") {
    console.out << text;
  } else {
    write_file(options.output, text);
  }
  return kExitDone;
}

int nccl_env(const NcclEnvOptions& options, Console& console) {
  Value items = Value::array();
  std::vector<std::vector<std::string>> rows;
  for (const nccl::Variable& variable : nccl::variables()) {
    const bool gone = variable.until < nccl::kNewest;
    const std::string since = nccl::to_string(variable.since);
    const std::string until = gone ? nccl::to_string(variable.until) : "";
    rows.push_back({variable.name, variable.initial,
                    gone ? fmt::format("{} to {}", since, until) : since,
                    to_string(variable.changes), variable.meaning});
    items.push(Value::object()
                   .set("name", variable.name)
                   .set("default", variable.initial)
                   .set("since", since)
                   .set("until", gone ? Value(until) : Value())
                   .set("group", to_string(variable.group))
                   .set("changes", to_string(variable.changes))
                   .set("meaning", variable.meaning));
  }
  if (options.json) {
    console.out << json::print(
        Value::object().set("schema", "busbw.nccl-env/1").set("variables", items));
  } else {
    console.out << format_table({{"variable"}, {"default"}, {"since"}, {"changes"}, {"meaning"}},
                                rows, console.colour_out);
  }
  return kExitDone;
}

}  // namespace busbw::tools
