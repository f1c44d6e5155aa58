// See interfaces.h.
#include "models/nccl/interfaces.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/nccl/name_filter.h"
#include "sim/core/text.h"

namespace busbw::nccl {
namespace {

constexpr std::size_t kMaxInterfaceItems = 16;
constexpr Version kRunningTest{2, 28, 0};
constexpr Version kSubnetMissSilent{2, 24, 0};

const char* source_of(Version version) {
  return version < Version{2, 30, 0} ? "NCCL 2.18 to 2.29, src/misc/socket.cc"
                                     : "NCCL 2.30, src/misc/socket.cc and src/os/linux.cc";
}

struct Listed {
  std::size_t position = 0;
  const Address* address = nullptr;
};

/// All addresses as getifaddrs() lists them.
std::vector<Listed> kernel_listing(const Inventory& host) {
  std::vector<Listed> listing;
  for (const bool ipv6 : {false, true}) {
    for (std::size_t i = 0; i < host.interfaces.size(); ++i) {
      for (const Address& address : host.interfaces[i].addresses) {
        if (address.ipv6 == ipv6)
          listing.push_back({i, &address});
      }
    }
  }
  return listing;
}

ChosenInterface choose(const Inventory& host, const Listed& entry) {
  ChosenInterface chosen{entry.position, host.interfaces[entry.position].name, *entry.address};
  chosen.address.scope.reset();
  if (chosen.address.ipv6 && chosen.address.link_local)
    chosen.address.scope = chosen.name;
  return chosen;
}

std::string names_of(const std::vector<ChosenInterface>& found) {
  std::vector<std::string> names;
  names.reserve(found.size());
  for (const ChosenInterface& chosen : found)
    names.push_back(chosen.name);
  return join(names, ", ");
}

enum class Family { kAny, kIpv4, kIpv6 };

/// One search with one filter. `skipped` collects why an admitted name was passed over.
class Scan {
 public:
  Scan(const Inventory& host, Version version, Family family)
      : host_(host), version_(version), family_(family) {}

  std::vector<ChosenInterface> run(const NameFilter& filter, std::size_t most) {
    std::vector<ChosenInterface> found;
    for (const Listed& entry : kernel_listing(host_)) {
      if (found.size() == most)
        break;
      const Interface& interface = host_.interfaces[entry.position];
      if (!filter.admits(interface.name))
        continue;
      if (version_ >= kRunningTest && !(interface.up && interface.running)) {
        note(interface.name, interface.up ? "has no carrier (IFF_RUNNING not set)"
                                          : "is down (IFF_RUNNING not set)");
        continue;
      }
      if (family_ == Family::kIpv4 && entry.address->ipv6)
        continue;
      if (family_ == Family::kIpv6 && !entry.address->ipv6)
        continue;
      if (entry.address->ipv6 && entry.address->loopback)
        continue;
      const bool taken = std::any_of(found.begin(), found.end(), [&](const ChosenInterface& c) {
        return c.name == interface.name;
      });
      if (!taken)
        found.push_back(choose(host_, entry));
    }
    return found;
  }

  [[nodiscard]] const std::vector<std::string>& skipped() const { return skipped_; }

 private:
  void note(const std::string& name, const std::string& why) {
    const std::string text = name + " " + why;
    if (std::find(skipped_.begin(), skipped_.end(), text) == skipped_.end())
      skipped_.push_back(text);
  }

  const Inventory& host_;
  Version version_;
  Family family_;
  std::vector<std::string> skipped_;
};

struct Stage {
  const char* rule;
  const char* filter;
  const char* meaning;
  bool since_2_28;  // only from 2.28 on
  bool until_2_27;  // only up to 2.27
};

constexpr Stage kStages[] = {
    {"stage1_ib", "ib", "names that start with 'ib' come first", false, false},
    {"stage2_comm_id", "", "", false, false},
    {"stage3_other", "^docker,lo", "everything except docker* and lo*", false, true},
    {"stage3_other", "^docker,lo,virbr", "everything except docker*, lo* and virbr*", true, false},
    {"stage4_docker", "docker", "only docker* is left", false, false},
    {"stage5_lo", "lo", "only loopback is left", false, false},
    {"stage6_virbr", "virbr", "only virbr* is left, after loopback", true, false},
};

class Search {
 public:
  Search(const SelectionInput& input, const Inventory& host, const SearchUser& user)
      : input_(input), host_(host), user_(user), scan_(host, input.version, read_family()) {}

  InterfaceSearch run() {
    const std::optional<std::string> filter = text(input_.environment, "NCCL_SOCKET_IFNAME");
    if (filter && filter->size() > 1) {
      by_filter(*filter);
    } else {
      if (filter) {
        reason(
            "ifname_ignored",
            fmt::format("NCCL_SOCKET_IFNAME='{}' has fewer than two characters and counts as unset",
                        *filter));
      }
      by_stages();
    }
    for (const std::string& text : scan_.skipped()) {
      reason("not_running", text + "; skipped from 2.28 on");
    }
    warn_about_state();
    return std::move(result_);
  }

 private:
  Family read_family() {
    const std::optional<std::string> value = text(input_.environment, "NCCL_SOCKET_FAMILY");
    if (!value)
      return Family::kAny;
    result_.log.push_back({"ENV", false, "NCCL_SOCKET_FAMILY set by environment to " + *value});
    if (*value == "AF_INET" || *value == "AF_INET6") {
      const bool ipv6 = *value == "AF_INET6";
      reason("family", fmt::format("NCCL_SOCKET_FAMILY={}: only IPv{} addresses count", *value,
                                   ipv6 ? 6 : 4));
      return ipv6 ? Family::kIpv6 : Family::kIpv4;
    }
    reason(
        "family_ignored",
        fmt::format("NCCL_SOCKET_FAMILY='{}' is neither AF_INET nor AF_INET6 and restricts nothing",
                    *value));
    return Family::kAny;
  }

  void by_filter(const std::string& value) {
    result_.log.push_back({"ENV", false, "NCCL_SOCKET_IFNAME set by environment to " + value});
    const NameFilter filter(value, kMaxInterfaceItems);
    result_.found = scan_.run(filter, user_.most);
    reason(
        "ifname",
        fmt::format("NCCL_SOCKET_IFNAME={} admits {}; in kernel order {}", value, filter.describe(),
                    result_.found.empty() ? "no interface matches, and there is no fallback"
                                          : "it gives " + names_of(result_.found)));
    if (filter.truncated()) {
      reason("ifname_truncated",
             fmt::format("NCCL_SOCKET_IFNAME holds more than {} items; the rest is not read",
                         kMaxInterfaceItems));
    }
  }

  void by_stages() {
    for (const Stage& stage : kStages) {
      const bool new_rules = input_.version >= kRunningTest;
      if (stage.since_2_28 != new_rules && (stage.since_2_28 || stage.until_2_27))
        continue;
      if (std::string_view(stage.rule) == "stage2_comm_id") {
        by_comm_id();
        if (!result_.found.empty())
          return;
        continue;
      }
      result_.found = scan_.run(NameFilter(stage.filter, kMaxInterfaceItems), user_.most);
      if (result_.found.empty())
        continue;
      reason(stage.rule, fmt::format("NCCL_SOCKET_IFNAME is unset: {}; in kernel order it gives {}",
                                     stage.meaning, names_of(result_.found)));
      return;
    }
    reason("none",
           "NCCL_SOCKET_IFNAME is unset and no stage finds an interface with a usable address");
  }

  void by_comm_id() {
    const std::optional<std::string> value = text(input_.environment, "NCCL_COMM_ID");
    if (!value || value->size() < 2)
      return;
    result_.log.push_back({"ENV", false, "NCCL_COMM_ID set by environment to " + *value});
    const CommId id = parse_comm_id(*value);
    if (!id.address)
      return;
    if (const auto match = match_subnet(host_, *id.address)) {
      result_.found.push_back(*match);
      reason("stage2_comm_id",
             fmt::format(
                 "NCCL_COMM_ID={}: {} is the first interface in its subnet, and the only one taken",
                 *value, match->name));
    } else if (input_.version < kSubnetMissSilent) {
      result_.log.push_back({"NET", true, subnet_miss(*id.address)});
    }
  }

  static std::string subnet_miss(const Address& address) {
    return fmt::format("Net : No interface found in the same subnet as remote address {}",
                       to_string(address));
  }

  void warn_about_state() {
    if (input_.version >= kRunningTest)
      return;
    for (const ChosenInterface& chosen : result_.found) {
      const Interface& interface = host_.interfaces[chosen.position];
      if (interface.up && interface.running)
        continue;
      reason("no_link_test",
             fmt::format("{} {} but is taken all the same: releases before 2.28 test no link state",
                         chosen.name, interface.up ? "has no carrier" : "is down"));
    }
  }

  void reason(const std::string& rule, std::string text) {
    result_.reasons.push_back(
        {user_.name + "." + rule, std::move(text), source_of(input_.version)});
  }

  const SelectionInput& input_;
  const Inventory& host_;
  const SearchUser& user_;
  InterfaceSearch result_;
  Scan scan_;
};

std::optional<Address> parse_bracketed(const std::string& text, std::size_t end) {
  std::optional<Address> address = parse_address(text.substr(1, end - 1));
  if (address && !address->ipv6)
    address.reset();
  return address;
}

}  // namespace

std::string to_string(const ChosenInterface& chosen) {
  return fmt::format("{}:{}<0>", chosen.name, to_string(chosen.address));
}

InterfaceSearch find_interfaces(const SelectionInput& input, const Inventory& host,
                                const SearchUser& user) {
  return Search(input, host, user).run();
}

std::optional<ChosenInterface> match_subnet(const Inventory& host, const Address& remote) {
  for (const Listed& entry : kernel_listing(host)) {
    if (!same_subnet(*entry.address, remote))
      continue;
    ChosenInterface chosen = choose(host, entry);
    if (remote.ipv6 && chosen.address.scope != remote.scope)
      continue;
    return chosen;
  }
  return std::nullopt;
}

CommId parse_comm_id(const std::string& text) {
  static const std::string kInvalid =
      "Invalid NCCL_COMM_ID, please use format: <ipv4>:<port> or [<ipv6>]:<port> or "
      "<hostname>:<port>";
  CommId id;
  if (text.size() < 2) {
    id.warnings = {"Net : string is null", kInvalid};
    return id;
  }
  if (text.front() == '[') {
    const std::size_t end = text.find(']');
    if (end == std::string::npos) {
      id.warnings = {"Net : No valid [IPv6]:port pair found", kInvalid};
      return id;
    }
    id.address = parse_bracketed(text, end);
    if (!id.address)
      id.note = "the text in brackets is no IPv6 address, which NCCL does not notice";
    return id;
  }
  // The list parser skips one leading mark and stops at the first colon or comma that follows a
  // name.
  const std::size_t start = text.front() == '^' || text.front() == '=' ? 1 : 0;
  const std::size_t end = std::min(text.find_first_of(":,", start), text.size());
  const std::string name = text.substr(start, end - start);
  if (name.empty()) {
    id.warnings = {"Net : No valid <IPv4_or_hostname>:<port> pair found", kInvalid};
    return id;
  }
  id.address = parse_address(name == "localhost" ? "127.0.0.1" : name);
  if (id.address)
    return id;
  id.warnings = {"Net : error encountered when getting address info : Name or service not known",
                 kInvalid};
  id.note = fmt::format("'{}' is a host name; busbw asks no name server, give the address", name);
  return id;
}

bool owns_address(const Inventory& host, const Address& address) {
  for (const Interface& interface : host.interfaces) {
    for (const Address& own : interface.addresses) {
      if (own.bytes == address.bytes)
        return true;
    }
  }
  return false;
}

}  // namespace busbw::nccl
