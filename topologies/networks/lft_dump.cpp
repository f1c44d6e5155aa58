// See lft_dump.h.
//
//   Unicast lids [0x0-0x9] of switch Lid 3 guid 0x0000000000200000 (leaf0):
//   0x0001 013 : (Channel Adapter portguid 0x0000000000100001: 'node0 mlx5_0')
#include "topologies/networks/lft_dump.h"

#include <charconv>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw::networks {
namespace {

std::optional<std::uint64_t> hex_after(std::string_view line, std::string_view word) {
  const std::size_t at = line.find(word);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view text = line.substr(at + word.size());
  if (text.rfind("0x", 0) == 0) {
    text.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end != text.data() ? std::optional(value) : std::nullopt;
}

class DumpReader {
 public:
  DumpReader(const std::string& file, const Subnet& subnet, Problems& problems)
      : file_(file), subnet_(subnet), problems_(problems) {
    for (std::size_t i = 0; i < subnet.switches.size(); i++) {
      switches_[subnet.switches[i].guid] = SwitchId(static_cast<std::int32_t>(i));
      lids_[subnet.switches[i].guid] = subnet.switches[i].lid;
    }
    for (const Endpoint& endpoint : subnet.endpoints) {
      lids_[endpoint.port_guid] = endpoint.lid;
    }
  }

  Lfts read(std::string_view text) {
    Lfts lfts(subnet_.switches.size(), subnet_.top_lid());
    int number = 0;
    for (const std::string_view line : split_lines(text)) {
      number++;
      const Location where{file_, number, 1};
      if (line.rfind("Unicast lids", 0) == 0) {
        start_switch(line, where);
      } else if (line.rfind("0x", 0) == 0) {
        read_entry(line, where, lfts);
      }
    }
    if (!any_) {
      problems_.add({file_, 1, 1}, "no table of a switch");
    }
    return lfts;
  }

 private:
  void start_switch(std::string_view line, const Location& where) {
    any_ = true;
    at_.reset();
    const std::optional<std::uint64_t> guid = hex_after(line, " guid ");
    const auto found = guid ? switches_.find(*guid) : switches_.end();
    if (found == switches_.end()) {
      problems_.add(where, "a table of a switch that the subnet does not have");
      return;
    }
    at_ = found->second;
  }

  void read_entry(std::string_view line, const Location& where, Lfts& lfts) {
    const std::vector<std::string_view> words = split_blanks(line);
    if (words.size() > 1 && words[1] == "UNREACHABLE") {
      return;
    }
    const std::int64_t port = words.size() > 1 ? parse_integer(words[1]).value_or(-1) : -1;
    const std::optional<std::uint64_t> lid = hex_after(line, "0x");
    const std::optional<std::uint64_t> guid = hex_after(line, "portguid ");
    if (port < 0 || port > 254 || !lid) {
      problems_.add(where, "an entry must be '0xLID PORT ...'");
      return;
    }
    if (!at_ || !guid) {
      return;  // of an unknown switch, reported; or a further LID of a port
    }
    const auto found = lids_.find(*guid);
    if (found == lids_.end()) {
      problems_.add(where, fmt::format("no port with GUID 0x{:x} in the subnet", *guid));
      return;
    }
    // With LMC a port has several LIDs in a row; they keep their order.
    const auto [first, fresh] = first_.try_emplace(*guid, *lid);
    const auto offset = static_cast<std::int32_t>(*lid - first->second);
    if (offset >= 0 && offset < 1 << subnet_.lmc) {
      lfts.set(*at_, Lid(found->second.value() + offset), static_cast<std::uint8_t>(port));
    }
  }

  std::string file_;
  const Subnet& subnet_;
  Problems& problems_;
  std::map<std::uint64_t, SwitchId> switches_;
  std::map<std::uint64_t, Lid> lids_;             // by port GUID
  std::map<std::uint64_t, std::uint64_t> first_;  // port GUID -> its first LID in the dump
  std::optional<SwitchId> at_;
  bool any_ = false;
};

}  // namespace

Lfts read_lft_dump(std::string_view text, const std::string& file, const Subnet& subnet,
                   Problems& problems) {
  return DumpReader(file, subnet, problems).read(text);
}

std::string write_lft_dump(const Subnet& subnet, const Lfts& lfts) {
  std::string text;
  for (std::size_t i = 0; i < subnet.switches.size(); i++) {
    const SwitchId at(static_cast<std::int32_t>(i));
    text += fmt::format("Unicast lids [0x0-0x{:x}] of switch Lid {} guid 0x{:016x} ({}):\n",
                        lfts.top().value(), subnet.at(at).lid.value(), subnet.at(at).guid,
                        subnet.at(at).name);
    const auto entry = [&](Lid lid, const std::string& what) {
      const std::uint8_t port = lfts.port(at, lid);
      if (port != Lfts::kNone) {
        text += fmt::format("0x{:04x} {:03} : ({})\n", lid.value(), port, what);
      }
    };
    for (const Endpoint& endpoint : subnet.endpoints) {
      for (std::int32_t k = 0; k < 1 << subnet.lmc; k++) {
        entry(Lid(endpoint.lid.value() + k), fmt::format("Channel Adapter portguid 0x{:016x}: '{}'",
                                                         endpoint.port_guid, endpoint.name()));
      }
    }
    for (const Switch& node : subnet.switches) {
      entry(node.lid, fmt::format("Switch portguid 0x{:016x}: '{}'", node.guid, node.name));
    }
  }
  return text;
}

}  // namespace busbw::networks
