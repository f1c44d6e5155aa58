// Texts for other programs: ibsim, ibnetdiscover, lists of cables. See export.h.
#include "topologies/networks/export.h"

#include <fmt/format.h>

#include "sim/core/quantity.h"

namespace busbw::networks {
namespace {

/// ibsim's bit of a width: 1x, 4x, 8x, 12x; it has none for 2x.
int width_bit(std::int32_t lanes) {
  switch (lanes) {
    case 1:
      return 1;
    case 8:
      return 4;
    case 12:
      return 8;
    default:
      return 2;
  }
}

/// Endpoints of one HCA: those that follow each other with the same GUID.
std::vector<std::vector<EndpointId>> hcas_of(const Subnet& subnet) {
  std::vector<std::vector<EndpointId>> hcas;
  for (std::size_t i = 0; i < subnet.endpoints.size(); i++) {
    const EndpointId id(static_cast<std::int32_t>(i));
    const bool same = i > 0 && subnet.endpoints[i].node_guid != 0 &&
                      subnet.endpoints[i].node_guid == subnet.endpoints[i - 1].node_guid;
    if (!same) {
      hcas.emplace_back();
    }
    hcas.back().push_back(id);
  }
  return hcas;
}

std::string hca_name(const Endpoint& endpoint) {
  return endpoint.hca.empty() ? endpoint.host : endpoint.host + "/" + endpoint.hca;
}

std::string description(const Subnet& subnet, const End& end) {
  if (end.at_switch) {
    return subnet.at(SwitchId(end.node)).name;
  }
  const Endpoint& endpoint = subnet.at(EndpointId(end.node));
  return endpoint.hca.empty() ? endpoint.host : endpoint.host + " " + endpoint.hca;
}

class SimWriter {
 public:
  explicit SimWriter(const Subnet& subnet) : subnet_(subnet), map_(subnet) {}

  std::string write() {
    for (std::size_t i = 0; i < subnet_.switches.size(); i++) {
      const Switch& node = subnet_.switches[i];
      text_ +=
          fmt::format("switchguid=0x{:x}\nSwitch {} \"{}\"\n", node.guid, node.ports, node.name);
      for (const Neighbour& next : map_.of(SwitchId(static_cast<std::int32_t>(i)))) {
        port(next);
      }
      text_ += "\n";
    }
    for (const std::vector<EndpointId>& hca : hcas_of(subnet_)) {
      const Endpoint& first = subnet_.at(hca.front());
      text_ += fmt::format("caguid=0x{:x}\nHca {} \"{}\"\n", first.node_guid, first.hca_ports,
                           hca_name(first));
      for (const EndpointId id : hca) {
        if (const std::optional<Neighbour>& next = map_.of(id)) {
          port(*next);
        }
      }
      text_ += "\n";
    }
    return std::move(text_);
  }

 private:
  void port(const Neighbour& next) {
    const End& there = next.there;
    const std::string name = there.at_switch ? subnet_.at(SwitchId(there.node)).name
                                             : hca_name(subnet_.at(EndpointId(there.node)));
    text_ += fmt::format("[{}] \"{}\"[{}] w={} s=7\n", next.port, name, there.port,
                         width_bit(subnet_.at(next.cable).lanes));
  }

  const Subnet& subnet_;
  PortMap map_;
  std::string text_;
};

class DiscoverWriter {
 public:
  explicit DiscoverWriter(const Subnet& subnet) : subnet_(subnet), map_(subnet) {}

  std::string write() {
    text_ = "#\n# Topology file: written by busbw\n#\n";
    for (std::size_t i = 0; i < subnet_.switches.size(); i++) {
      const Switch& node = subnet_.switches[i];
      text_ += fmt::format(
          "\nswitchguid=0x{0:x}({0:x})\nSwitch\t{1} \"S-{0:016x}\"\t\t# \"{2}\" "
          "enhanced port 0 lid {3} lmc 0\n",
          node.guid, node.ports, node.name, node.lid.value());
      for (const Neighbour& next : map_.of(SwitchId(static_cast<std::int32_t>(i)))) {
        text_ += fmt::format("[{}]", next.port);
        peer(next);
        text_ += fmt::format("\t\t# \"{}\" lid {} {}\n", description(subnet_, next.there),
                             lid(next.there), speed(next));
      }
    }
    for (const std::vector<EndpointId>& hca : hcas_of(subnet_)) {
      write_hca(hca);
    }
    return std::move(text_);
  }

 private:
  void write_hca(const std::vector<EndpointId>& hca) {
    const Endpoint& first = subnet_.at(hca.front());
    text_ += fmt::format("\ncaguid=0x{0:x}\nCa\t{1} \"H-{0:016x}\"\t\t# \"{2}\"\n", first.node_guid,
                         first.hca_ports, description(subnet_, {false, hca.front().value(), 1}));
    for (const EndpointId id : hca) {
      const std::optional<Neighbour>& next = map_.of(id);
      if (!next) {
        continue;
      }
      const Endpoint& endpoint = subnet_.at(id);
      text_ += fmt::format("[{}]({:x}) ", endpoint.port, endpoint.port_guid);
      peer(*next);
      text_ +=
          fmt::format("\t\t# lid {} lmc {} \"{}\" lid {} {}\n", endpoint.lid.value(), subnet_.lmc,
                      description(subnet_, next->there), lid(next->there), speed(*next));
    }
  }
  void peer(const Neighbour& next) {
    const End& there = next.there;
    if (there.at_switch) {
      text_ +=
          fmt::format("\t\"S-{:016x}\"[{}]", subnet_.at(SwitchId(there.node)).guid, there.port);
    } else {
      const Endpoint& endpoint = subnet_.at(EndpointId(there.node));
      text_ += fmt::format("\t\"H-{:016x}\"[{}]({:x}) ", endpoint.node_guid, there.port,
                           endpoint.port_guid);
    }
  }
  [[nodiscard]] std::int32_t lid(const End& end) const {
    return end.at_switch ? subnet_.at(SwitchId(end.node)).lid.value()
                         : subnet_.at(EndpointId(end.node)).lid.value();
  }
  [[nodiscard]] std::string speed(const Neighbour& next) const {
    const Cable& cable = subnet_.at(next.cable);
    return fmt::format("{}x{}", cable.lanes, cable.speed);
  }

  const Subnet& subnet_;
  PortMap map_;
  std::string text_;
};

}  // namespace

std::string to_ibsim(const Subnet& subnet) {
  return SimWriter(subnet).write();
}

std::string to_ibnetdiscover(const Subnet& subnet) {
  return DiscoverWriter(subnet).write();
}

std::string to_edges(const BuiltFabric& built) {
  std::string text;
  for (const Subnet& subnet : built.subnets) {
    for (const Switch& node : subnet.switches) {
      text += fmt::format("switch {} {}\n", node.name, node.ports);
    }
    for (const Cable& cable : subnet.cables) {
      if (!cable.up) {
        continue;
      }
      const auto end = [&](const End& at) {
        return at.at_switch ? fmt::format("{}:{}", subnet.name_of(at), at.port)
                            : subnet.name_of(at);
      };
      text += fmt::format("{} {} {}\n", end(cable.a), end(cable.b), to_string(cable.rate));
    }
  }
  return text;
}

}  // namespace busbw::networks
