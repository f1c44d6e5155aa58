// See command_perf.h.
#include "tools/command_perf.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>

#include "scenarios/perf.h"
#include "scenarios/spec/element_types.h"
#include "scenarios/spec/load.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "sim/core/yaml.h"
#include "tools/data_path.h"
#include "tools/engine_kind.h"
#include "tools/exit_codes.h"
#include "tools/fabric_study.h"
#include "tools/fault_report.h"
#include "tools/files.h"
#include "tools/json/json.h"
#include "tools/nccl_options.h"
#include "tools/perf_report.h"
#include "tools/real_options.h"

namespace busbw::tools {
namespace {

using scenarios::PerfRequest;
using scenarios::PerfResult;

constexpr std::int64_t kMostSizes = 10'000;
constexpr std::int64_t kMostNodes = 4096;

collectives::Collective read_collective(const std::string& text, Problems& problems) {
  using collectives::Collective;
  if (const auto collective = collectives::parse_collective(text)) {
    return *collective;
  }
  std::vector<std::string> known;
  for (const Collective each :
       {Collective::kAllReduce, Collective::kReduce, Collective::kBroadcast, Collective::kAllGather,
        Collective::kReduceScatter, Collective::kAllToAll, Collective::kSendRecv,
        Collective::kGather, Collective::kScatter}) {
    known.push_back(to_string(each));
  }
  const std::string meant = did_you_mean(text, known);
  problems.add({}, fmt::format("unknown collective '{}'{}", text,
                               meant.empty() ? "; allowed: " + quoted_list(known) : meant));
  return Collective::kAllReduce;
}

void read_type(const std::string& text, PerfRequest& request, Problems& problems) {
  std::vector<std::string> names;
  for (const scenarios::ElementType& type : scenarios::kElementTypes) {
    names.emplace_back(type.name);
    if (text == type.name) {
      request.type = type.name;
      request.element = Bytes(type.bytes);
      return;
    }
  }
  problems.add({}, fmt::format("unknown datatype '{}'; allowed: {}{}", text, quoted_list(names),
                               did_you_mean(text, names)));
}

/// From -b to -e, by -f or by -i.
std::vector<Bytes> read_sweep(const PerfOptions& options, Problems& problems) {
  const Bytes from = read_size("-b", options.from, problems);
  const Bytes to = read_size("-e", options.to, problems);
  if (!options.factor.empty() && !options.step.empty()) {
    problems.add({}, "-i and -f: give one of them");
  }
  const std::int64_t factor =
      options.factor.empty() ? 1 : read_number("-f", options.factor, 2, 1'000'000, problems);
  const Bytes step =
      read_size("-i", options.step.empty() ? std::string("1M") : options.step, problems);
  std::vector<Bytes> sizes;
  if (to < from) {
    problems.add({}, fmt::format("-b {} is above -e {}", options.from, options.to));
  }
  if (!problems.empty()) {
    return sizes;
  }
  for (Bytes size = from; size <= to; size = factor > 1 ? size * factor : size + step) {
    if (static_cast<std::int64_t>(sizes.size()) == kMostSizes) {
      problems.add({}, fmt::format("more than {} sizes from -b {} to -e {}", kMostSizes,
                                   options.from, options.to));
      break;
    }
    sizes.push_back(size);
  }
  return sizes;
}

topologies::Machine read_machine_of(const std::string& word, const scenarios::Library& library,
                                    Problems& problems) {
  std::vector<std::string> names;
  for (const topologies::Machine& machine : library.machines) {
    if (machine.name == word) {
      return machine;
    }
    names.push_back(machine.name);
  }
  if (word.find_first_of("/.") == std::string::npos) {
    const std::string meant = did_you_mean(word, names);
    problems.add({}, fmt::format("unknown machine '{}'{}", word,
                                 meant.empty() ? "; allowed: " + quoted_list(names) : meant));
    return {};
  }
  const YamlNode node = parse_yaml(read_user_file(word), word, problems);
  problems.throw_if_any();
  return topologies::read_machine(node, library.catalog, problems);
}

/// How the switches of the fabric spread what they carry.
std::optional<params::Traffic> read_traffic(const PerfOptions& options, Problems& problems) {
  if (options.ecmp.empty() && !options.adaptive_routing) {
    return std::nullopt;
  }
  if (options.fabric.empty()) {
    problems.add({}, "--ecmp and --adaptive-routing need a --fabric: without one there is one way");
  }
  if (!options.ecmp.empty() && options.adaptive_routing) {
    problems.add({}, "--ecmp and --adaptive-routing: give one of them");
  }
  params::Traffic traffic;
  traffic.balance = params::Balance::kPacket;
  traffic.adaptive_routing = options.adaptive_routing;
  if (!options.ecmp.empty()) {
    const std::size_t comma = options.ecmp.find(',');
    const std::string word = options.ecmp.substr(0, comma);
    const std::optional<params::Balance> hash = params::parse_hash(word);
    if (!hash) {
      const std::string meant = did_you_mean(word, params::hash_words());
      problems.add({}, fmt::format("unknown --ecmp '{}'{}", word,
                                   meant.empty() ? "; allowed: " + quoted_list(params::hash_words())
                                                 : meant));
    }
    traffic.balance = hash;
    if (comma != std::string::npos) {
      traffic.seed = static_cast<std::uint64_t>(read_number(
          "the seed of --ecmp", options.ecmp.substr(comma + 1), 0, 1'000'000'000, problems));
    }
  }
  return traffic;
}

PerfRequest read_request(const PerfOptions& options, const scenarios::Library& library,
                         Problems& problems) {
  PerfRequest request;
  request.collective = read_collective(options.collective, problems);
  request.machine = read_machine_of(options.machine, library, problems);
  request.hosts.hosts =
      static_cast<std::int32_t>(read_number("--nodes", options.nodes, 1, kMostNodes, problems));
  if (!options.fabric.empty()) {
    const FabricDescription fabric = read_fabric_description(options.fabric, library.catalog);
    request.hosts.fabric = fabric.spec;
  }
  request.hosts.traffic = read_traffic(options, problems);
  if (!options.nvlink_domain.empty()) {
    request.hosts.hosts_per_nvlink_domain = static_cast<std::int32_t>(
        read_number("--mnnvl", options.nvlink_domain, 1, kMostNodes, problems));
  }
  request.hosts.rdma_mtu = read_number("--mtu", options.mtu, 68, 65536, problems);
  if (!options.gpus.empty() && !request.machine.gpus.empty()) {
    const auto all = static_cast<std::int64_t>(request.machine.gpus.size());
    const std::int64_t gpus = read_number("-g", options.gpus, 1, all, problems);
    std::vector<std::size_t> chosen(static_cast<std::size_t>(gpus));
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    request.machine = scenarios::with_gpus(request.machine, chosen);
  }
  request.environment = read_environment(options.environment, problems);
  if (!options.version.empty()) {
    request.version = read_version(options.version, problems);
  }
  read_type(options.type, request, problems);
  request.sizes = read_sweep(options, problems);
  request.engine = engine_choice(options.engine);
  return request;
}

}  // namespace

int perf(const PerfOptions& options, Console& console) {
  const DataPath data = find_data(process_query());
  Problems problems;
  const scenarios::Library library = scenarios::load_library(data.catalog(), problems);
  const params::Transports transports = params::load_transports(data.catalog(), problems);
  problems.throw_if_any();
  const PerfRequest request = read_request(options, library, problems);
  problems.throw_if_any();
  const PerfResult result =
      scenarios::perf(request, {library.catalog, transports, checked_hottest(options.hottest)});
  if (!options.plot.empty()) {
    write_file(options.plot, perf_plot(request, result));
  }
  if (!options.json.empty() && options.json != "-") {
    write_file(options.json, json::print(perf_value(request, result)));
  }
  if (!options.csv.empty() && options.csv != "-") {
    write_file(options.csv, perf_csv(result));
  }
  if (options.json == "-") {
    console.out << json::print(perf_value(request, result));
  } else if (options.csv == "-") {
    console.out << perf_csv(result);
  } else {
    console.out << perf_text(request, result, console.colour_out);
  }
  return result.error ? kExitFinding : kExitDone;
}

}  // namespace busbw::tools
