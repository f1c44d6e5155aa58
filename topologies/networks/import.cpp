// Which kind a file is, and what becomes of an imported subnet.
#include "topologies/networks/import.h"

#include <algorithm>

#include "sim/core/text.h"

namespace busbw::networks {

namespace {

/// The lists that only InfraGraph has, as keys of YAML or JSON.
bool is_infragraph(std::string_view text) {
  const auto has = [&](std::string_view key) {
    for (std::size_t at = text.find(key); at != std::string_view::npos;
         at = text.find(key, at + 1)) {
      const std::size_t after = at + key.size();
      const bool quoted =
          at > 0 && text[at - 1] == '"' && after < text.size() && text[after] == '"';
      const bool plain = (at == 0 || text[at - 1] == '\n' || text[at - 1] == ' ') &&
                         after < text.size() && text[after] == ':';
      if (quoted || plain) {
        return true;
      }
    }
    return false;
  };
  return has("devices") && has("instances") && has("edges");
}

}  // namespace

FileKind kind_of(std::string_view text) {
  for (const std::string_view raw : split_lines(text)) {
    const std::string_view line = trim(raw);
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const auto starts = [&](std::string_view word) { return line.rfind(word, 0) == 0; };
    if (line.front() == '{') {
      return is_infragraph(text) ? FileKind::kInfraGraph : FileKind::kGraph;
    }
    if (starts("CA:") || starts("Switch:")) {
      return FileKind::kIbLinkInfo;
    }
    if (starts("vendid=") || starts("devid=") || starts("sysimgguid=") || starts("switchguid=") ||
        starts("caguid=") || starts("Switch") || starts("Ca") || starts("Hca") || starts("[")) {
      return FileKind::kIbNetDiscover;
    }
    if (starts("schema:") || text.find("\nschema:") != std::string_view::npos) {
      return FileKind::kFabric;
    }
    if (is_infragraph(text)) {
      return FileKind::kInfraGraph;
    }
    return split_blanks(line).size() >= 2 ? FileKind::kEdges : FileKind::kUnknown;
  }
  return FileKind::kUnknown;
}

BuiltFabric fabric_of(const std::string& name, Imported imported) {
  BuiltFabric built;
  built.name = name;
  built.topology = "imported";
  for (const Endpoint& endpoint : imported.subnet.endpoints) {
    built.hosts = std::max(built.hosts, endpoint.host_index + 1);
  }
  const bool one = imported.subnet.switches.size() < 2;
  built.engine = one ? Engine::kMinHop : Engine::kFtree;
  built.subnets.push_back(std::move(imported.subnet));
  return built;
}

}  // namespace busbw::networks
