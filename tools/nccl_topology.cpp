// See nccl_topology.h.
#include "tools/nccl_topology.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "models/nccl/machine/document.h"
#include "models/nccl/machine/inventory.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "sim/core/yaml.h"
#include "tools/data_path.h"

namespace busbw::tools {
namespace {

namespace fs = std::filesystem;
using nccl::graph::Element;

/// What stands behind the word on the command line.
struct Source {
  std::optional<std::string> xml;  // text of an XML file
  std::optional<topologies::Machine> machine;
  topologies::Catalog catalog;
};

bool begins_as_xml(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '<';
}

/// A word that can only be the name of a machine: no folder and no ending.
bool is_name(const std::string& word) {
  std::error_code error;
  return word.find_first_of("/.") == std::string::npos && !fs::is_regular_file(word, error);
}

Source find_source(const std::string& word) {
  Source source;
  Problems problems;
  if (is_name(word)) {
    const DataPath data = find_data(process_query());
    source.catalog = topologies::load_catalog(data.catalog(), problems);
    std::vector<std::string> names;
    for (topologies::Machine& machine :
         topologies::load_machines(data.catalog() + "/machines", source.catalog, problems)) {
      names.push_back(machine.name);
      if (machine.name == word)
        source.machine = std::move(machine);
    }
    problems.throw_if_any();
    if (!source.machine) {
      const std::string meant = did_you_mean(word, names);
      throw InputError(fmt::format("no file '{}', and no machine of that name in the catalogue{}",
                                   word, meant.empty() ? "; known: " + quoted_list(names) : meant));
    }
    return source;
  }
  std::string text = read_xml_text(word);
  const std::string ending = fs::path(word).extension().string();
  if (begins_as_xml(text) || (ending != ".yaml" && ending != ".yml")) {
    source.xml = std::move(text);
    return source;
  }
  source.catalog = topologies::load_catalog(find_data(process_query(word)).catalog(), problems);
  const YamlNode node = parse_yaml(text, word, problems);
  problems.throw_if_any();
  source.machine = topologies::read_machine(node, source.catalog, problems);
  problems.throw_if_any();
  return source;
}

nccl::Environment selection_environment(const TopologyQuery& query,
                                        const nccl::Inventory& inventory,
                                        const std::string& machine) {
  nccl::Environment environment = query.environment;
  if (query.net.empty())
    return environment;
  if (environment.count("NCCL_NET") != 0)
    throw InputError("--net and --env NCCL_NET both name the network");
  std::vector<std::string> allowed{"IB", "Socket"};
  allowed.insert(allowed.end(), inventory.external_plugins.begin(),
                 inventory.external_plugins.end());
  const bool known = std::any_of(allowed.begin(), allowed.end(), [&](const std::string& name) {
    return lower(name) == lower(query.net);
  });
  if (!known) {
    const std::string meant = did_you_mean(query.net, allowed);
    throw InputError(fmt::format("--net '{}' is no network of {}{}", query.net, machine,
                                 meant.empty() ? "; allowed: " + quoted_list(allowed) : meant));
  }
  environment["NCCL_NET"] = query.net;
  return environment;
}

TopologyAnswer answer_of(const topologies::Machine& machine, const topologies::Catalog& catalog,
                         const TopologyQuery& query) {
  const nccl::Inventory inventory = nccl::machine_inventory(machine, 0, catalog);
  const nccl::HostDecision host =
      nccl::machine_network(machine, inventory, catalog,
                            selection_environment(query, inventory, machine.name), query.version);
  if (!host.network) {
    throw InputError(fmt::format("NCCL finds no network on {}: {}", machine.name,
                                 host.error.value_or("no device is left")));
  }
  TopologyAnswer answer;
  answer.machine = machine.name;
  answer.document = nccl::machine_document(machine, catalog, inventory, host, query.version);
  if (!machine.peer_to_peer && query.environment.count("NCCL_P2P_LEVEL") == 0 &&
      query.environment.count("NCCL_P2P_DISABLE") == 0) {
    answer.environment["NCCL_P2P_LEVEL"] = "NVL";
    answer.remarks.push_back(
        fmt::format("GPUs of {} do not reach each other over PCIe, which the "
                    "XML cannot say; NCCL_P2P_LEVEL=NVL stands for it",
                    machine.name));
  }
  return answer;
}

std::size_t count_elements(const Element& element) {
  std::size_t count = 1;
  for (const Element& child : element.children)
    count += count_elements(child);
  return count;
}

}  // namespace

std::string read_xml_text(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    throw InputError(path + ": cannot be read: it is a folder");
  if (::access(path.c_str(), R_OK) != 0)
    throw InputError(path + ": cannot be read: " + std::strerror(errno));
  return read_file(path, nccl::graph::kMostBytes + 1);
}

TopologyAnswer read_topology(const TopologyQuery& query) {
  const Source source = find_source(query.source);
  if (source.machine)
    return answer_of(*source.machine, source.catalog, query);
  TopologyAnswer answer;
  Problems problems;
  answer.document = nccl::graph::parse_topology(*source.xml, query.source, problems);
  problems.throw_if_any();
  if (!query.net.empty())
    throw InputError("--net chooses a machine's network; an XML file has its network in it");
  return answer;
}

TopologyAnswer export_topology(const TopologyQuery& query) {
  const Source source = find_source(query.source);
  if (!source.machine)
    throw InputError(query.source + ": is XML already, or its name does not end in .yaml");
  TopologyAnswer answer = answer_of(*source.machine, source.catalog, query);
  const std::size_t elements = count_elements(answer.document);
  if (elements > nccl::graph::kMostElements) {
    throw InputError(fmt::format("the XML of {} has {} elements, NCCL reads at most {} of a file",
                                 answer.machine, elements, nccl::graph::kMostElements));
  }
  return answer;
}

}  // namespace busbw::tools
