// See command_show.h. A kind is a row of kKinds: its name and the function that makes its text.
#include "tools/command_show.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "models/facts/print/topo_print.h"
#include "models/nccl/graph/xml.h"
#include "scenarios/emulated.h"
#include "scenarios/emulated_subnets.h"
#include "scenarios/log.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "tools/exit_codes.h"
#include "tools/scenario_file.h"
#include "tools/show_path.h"
#include "topologies/networks/export.h"

namespace busbw::tools {
namespace {

/// A host of a variant.
struct Place {
  const ScenarioFile& file;
  const scenarios::Variant& variant;
  std::size_t host;

  [[nodiscard]] const topologies::Catalog& catalog() const { return file.library.catalog; }
  [[nodiscard]] facts::EmulatedHost emulated() const {
    return scenarios::emulated_host(variant, catalog(), host);
  }
};

std::string nccl_topology(const Place& place) {
  const scenarios::Job job = scenarios::decide(place.variant, place.catalog());
  return nccl::graph::print_topology(
      scenarios::emulated_topology(place.variant, place.catalog(), job, place.host));
}

/// The tool shows one subnet, that of its HCA's port; here all of the host's follow each other.
std::string subnets(const Place& place) {
  std::string text;
  for (const networks::Subnet& subnet :
       scenarios::emulated_subnets(place.variant, place.catalog())) {
    text += networks::to_ibnetdiscover(subnet);
  }
  return text;
}

struct Kind {
  const char* name;
  std::string (*text)(const Place&);
};

const std::array<Kind, 11> kKinds = {{
    {"ip-addr", [](const Place& p) { return print_ip_addr(emulated_interfaces(p.emulated())); }},
    {"ip-link", [](const Place& p) { return print_ip_link(emulated_interfaces(p.emulated())); }},
    {"ibstat", [](const Place& p) { return print_ibstat(emulated_hcas(p.emulated())); }},
    {"ibstatus", [](const Place& p) { return print_ibstatus(emulated_hcas(p.emulated())); }},
    {"ibv_devinfo", [](const Place& p) { return print_ibv_devinfo(emulated_hcas(p.emulated())); }},
    {"rdma-link", [](const Place& p) { return print_rdma_link(emulated_hcas(p.emulated())); }},
    {"ibdev2netdev",
     [](const Place& p) { return print_ibdev2netdev(emulated_hcas(p.emulated())); }},
    {"ibnetdiscover", subnets},
    {"topo", [](const Place& p) { return print_topo(emulated_topo(p.emulated()), {}); }},
    {"nccl-log",
     [](const Place& p) {
       return host_log(p.variant, scenarios::decide(p.variant, p.catalog()), p.host);
     }},
    {"nccl-topo", nccl_topology},
}};

constexpr const char* kPath = "path";

void check_options(const ShowOptions& options, Problems& problems) {
  const std::vector<std::string> kinds = show_kinds();
  if (std::find(kinds.begin(), kinds.end(), options.kind) == kinds.end()) {
    const std::string meant = did_you_mean(options.kind, kinds);
    problems.add({}, fmt::format("unknown kind '{}'{}", options.kind,
                                 meant.empty() ? "; allowed: " + quoted_list(kinds) : meant));
  }
  const auto only_path = [&](const char* name, const std::string& value) {
    if (!value.empty() && options.kind != kPath) {
      problems.add({}, fmt::format("{} goes with 'busbw show path' alone", name));
    }
  };
  only_path("--from", options.from);
  only_path("--to", options.to);
  only_path("--channel", options.channel);
  only_path("--json", options.json);
}

const scenarios::Variant& find_variant(const scenarios::Scenario& scenario,
                                       const std::string& name) {
  std::vector<std::string> known;
  for (const scenarios::Variant& variant : scenario.variants) {
    if (name.empty() || variant.name == name) {
      return variant;
    }
    known.push_back(variant.name);
  }
  throw InputError("no variant '" + name + "' in " + scenario.file +
                   "; allowed: " + quoted_list(known) + did_you_mean(name, known));
}

}  // namespace

std::vector<std::string> show_kinds() {
  std::vector<std::string> names;
  names.reserve(kKinds.size() + 1);
  for (const Kind& kind : kKinds) {
    names.emplace_back(kind.name);
  }
  names.emplace_back(kPath);
  return names;
}

int show(const ShowOptions& options, Console& console) {
  Problems problems;
  check_options(options, problems);
  problems.throw_if_any();
  const ScenarioFile file = read_scenario_file(options.scenario);
  const scenarios::Variant& variant = find_variant(file.scenario, options.variant);
  const std::size_t host =
      options.host.empty() ? 0 : find_host(variant, options.host, "--host", problems);
  if (options.kind == kPath) {
    return show_path({options, file, variant, host}, problems, console);
  }
  problems.throw_if_any();
  const Place place{file, variant, host};
  for (const Kind& kind : kKinds) {
    if (options.kind == kind.name) {
      console.out << kind.text(place);
    }
  }
  return kExitDone;
}

}  // namespace busbw::tools
