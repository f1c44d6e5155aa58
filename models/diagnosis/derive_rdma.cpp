// HCAs, ports and the fabric.
//
// is.port_down {hca, physical}, is.port_waits_for_sm {hca}, is.port_state_changes {hca}
// is.mtu_differs {hca, mtu, on}, is.active_mtu_small {hca}
// is.rates_differ {hca, rate}, is.link_below {could}
// is.cable_misplaced {at, hca, switch, meant}   it hangs elsewhere than that HCA of like hosts
// is.gids_in_subnets {local, remote}     the two ends of a queue pair lie in different subnets
// is.gid_index_unfit {index, better}     the chosen GID is v1, link-local or absent
// is.gid_missing {hca}                   used by NCCL, without a GID in this namespace
// is.pkey_limited {hca, index}           index 0 is no full member, another entry is
// is.traffic_class_differs {value}       the driver forces another class than NCCL asks for
// is.pfc_mismatch {priority, why}        the class that is used has no flow control
// is.many_queue_pairs {count}, is.bond_hca {hca}, is.partial_hcas {files, hcas}
// is.one_device_file {}, is.hca_filter_matches_none {value}, is.one_hca_of_filter {value}
// is.hca_prefix_trap {item, also}
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "models/diagnosis/derive.h"
#include "models/nccl/inventory.h"
#include "models/nccl/name_filter.h"
#include "sim/core/text.h"

namespace busbw::diagnosis {
namespace {

using facts::Fact;
using facts::FactStore;

constexpr std::size_t kMostHcas = 32;  // items of NCCL_IB_HCA

/// Whether the job means to use that HCA: NCCL_IB_HCA leaves the others out. A filter that admits
/// none of them is an error of its own and leaves out nothing here.
class MeantHcas {
 public:
  explicit MeantHcas(const FactStore& store)
      : value_(variable(store, "NCCL_IB_HCA")), filter_(value_, kMostHcas) {
    for (const char* name : {"rdma.port", "hca.row", "rdma.netdev"}) {
      for (const Fact* fact : store.named(name)) {
        some_ = some_ || filter_.admits(fact->get("hca"));
      }
    }
  }
  [[nodiscard]] bool has(std::string_view hca) const {
    return value_.empty() || !some_ || filter_.admits(hca);
  }

 private:
  std::string value_;
  nccl::NameFilter filter_;
  bool some_ = false;
};

void states(FactStore& store) {
  const MeantHcas meant(store);
  std::map<std::string, Fact> active;
  std::vector<Fact> down;
  for (const char* name : {"rdma.port", "hca.row"}) {
    for (const Fact& fact : all_of(store, name)) {
      const std::string hca(fact.get("hca"));
      const std::string_view state = fact.get("state");
      if (!meant.has(hca)) {
        continue;
      }
      if (state == "active") {
        active.emplace(hca + '/' + std::string(fact.get("port")), fact);
      } else if (state == "down") {
        down.push_back(fact);
        conclude(store, fact, "is.port_down",
                 {{"hca", hca}, {"physical", std::string(fact.get("physical"))}});
      } else if (state == "init" || state == "armed") {
        const std::string_view link = fact.get("link");
        if (link != "ethernet") {
          conclude(store, fact, "is.port_waits_for_sm", {{"hca", hca}});
        }
      }
    }
  }
  for (const Fact& fact : all_of(store, "rdma.netdev")) {
    if (fact.get("state") == "down" && !store.has("rdma.port") && meant.has(fact.get("hca"))) {
      conclude(store, fact, "is.port_down",
               {{"hca", std::string(fact.get("hca"))}, {"physical", ""}});
    }
  }
  for (const Fact& fact : down) {
    const auto before =
        active.find(std::string(fact.get("hca")) + '/' + std::string(fact.get("port")));
    const bool same_host_or_snapshot =
        before != active.end() &&
        (before->second.host == fact.host || parse_integer(fact.host).has_value());
    if (same_host_or_snapshot) {
      conclude(store, fact, "is.port_state_changes", {{"hca", std::string(fact.get("hca"))}});
      conclude(store, before->second, "is.port_state_changes",
               {{"hca", std::string(fact.get("hca"))}});
    }
  }
}

void mtus(FactStore& store) {
  std::map<std::string, Fact> first;
  for (const Fact& fact : all_of(store, "rdma.port")) {
    const std::string mtu(fact.get("active_mtu"));
    if (mtu.empty() || fact.get("state") == "down") {
      continue;
    }
    const auto [known, added] = first.emplace(std::string(fact.get("hca")), fact);
    const bool other_place =
        !added && (known->second.host != fact.host || known->second.where.file != fact.where.file);
    if (other_place && known->second.get("active_mtu") != mtu) {
      for (const Fact* seen : {static_cast<const Fact*>(&known->second), &fact}) {
        conclude(store, *seen, "is.mtu_differs",
                 {{"hca", std::string(fact.get("hca"))},
                  {"mtu", std::string(seen->get("active_mtu"))},
                  {"on", seen->host}});
      }
    }
    if (fact.get("link") == "ethernet" && fact.get("state") == "active" && mtu == "1024") {
      conclude(store, fact, "is.active_mtu_small", {{"hca", std::string(fact.get("hca"))}});
    }
  }
}

void rates(FactStore& store) {
  const MeantHcas meant(store);
  std::map<std::string, std::map<std::string, Fact>> by_link;  // link -> rate -> a port
  for (const Fact& fact : all_of(store, "rdma.port")) {
    const std::string rate(fact.get("rate"));
    if (!rate.empty() && fact.get("state") == "active" && meant.has(fact.get("hca"))) {
      by_link[std::string(fact.get("link"))].emplace(rate, fact);
    }
  }
  for (const auto& [link, ports] : by_link) {
    for (const auto& [rate, fact] : ports) {
      if (ports.size() > 1) {
        conclude(store, fact, "is.rates_differ",
                 {{"hca", std::string(fact.get("hca"))}, {"rate", rate}, {"link", link}});
      }
    }
  }
  for (const Fact& fact : all_of(store, "fabric.link")) {
    if (fact.get("remark").find("Could be") != std::string_view::npos) {
      conclude(store, fact, "is.link_below", {{"could", std::string(fact.get("remark"))}});
    }
  }
}

/// Which switch each HCA of a host hangs on; the fact of each.
using Cables = std::map<std::string, Fact>;

/// How many HCAs of two hosts with HCAs of the same names hang on the same switch; nothing when the
/// names differ.
std::optional<std::size_t> agreement(const Cables& a, const Cables& b) {
  std::size_t equal = 0;
  for (const auto& [hca, fact] : a) {
    const auto other = b.find(hca);
    if (other == b.end()) {
      return std::nullopt;
    }
    equal += other->second.get("switch") == fact.get("switch") ? 1 : 0;
  }
  return a.size() == b.size() ? std::optional(equal) : std::nullopt;
}

std::set<std::string> switches_of(const Cables& cables) {
  std::set<std::string> result;
  for (const auto& [hca, fact] : cables) {
    result.insert(std::string(fact.get("switch")));
  }
  return result;
}

/// With rails, HCA k of every host of a group hangs on the group's switch k. A host that shares
/// switches with most others but has two of them exchanged, or one HCA elsewhere, is miscabled.
void cabling(FactStore& store) {
  std::map<std::string, Cables> hosts;
  for (const Fact& fact : all_of(store, "fabric.cable")) {
    hosts[std::string(fact.get("at"))].emplace(std::string(fact.get("hca")), fact);
  }
  constexpr std::size_t kMostHosts = 512;  // ours: every pair is compared
  if (hosts.size() > kMostHosts) {
    return;
  }
  std::map<std::string, std::set<std::string>> switches;
  std::map<std::string, std::ptrdiff_t> like;  // hosts cabled in the same way, itself included
  for (const auto& entry : hosts) {
    const Cables& cables = entry.second;
    switches[entry.first] = switches_of(cables);
    like[entry.first] = std::count_if(hosts.begin(), hosts.end(), [&](const auto& other) {
      return agreement(cables, other.second) == cables.size();
    });
  }
  for (const auto& [host, cables] : hosts) {
    const Cables* reference = nullptr;
    std::ptrdiff_t most = like[host];  // it must not be the rarer way itself
    for (const auto& [other, theirs] : hosts) {
      const std::optional<std::size_t> equal = agreement(cables, theirs);
      const bool rails = theirs.size() > 1 && switches[other].size() == theirs.size();
      const bool same_switches = switches[other] == switches[host];
      // Where each way is as frequent, only an exchange says that one of them is wrong.
      const bool likelier =
          like[other] > most || (reference == nullptr && same_switches && like[other] == most);
      if (equal && rails && (*equal > 0 || same_switches) && *equal < cables.size() && likelier) {
        reference = &theirs;
        most = like[other];
      }
    }
    if (reference == nullptr) {
      continue;
    }
    for (const auto& [hca, fact] : cables) {
      const std::string meant(reference->at(hca).get("switch"));
      if (meant != fact.get("switch")) {
        conclude(store, fact, "is.cable_misplaced",
                 {{"at", host},
                  {"hca", hca},
                  {"switch", std::string(fact.get("switch"))},
                  {"meant", meant}});
      }
    }
  }
}

/// "::ffff:10.0.1.1" as IPv4; /24 and /64 stand for what the GID does not say.
std::optional<nccl::Address> gid_address(std::string_view gid) {
  constexpr std::string_view kMapped = "::ffff:";
  const bool mapped = lower(gid).rfind(kMapped, 0) == 0 && gid.find('.') != std::string_view::npos;
  return nccl::parse_address(mapped ? std::string(gid.substr(kMapped.size())) + "/24"
                                    : std::string(gid) + "/64");
}

void gids(FactStore& store) {
  for (const char* name : {"nccl.modify_qp", "nccl.completion"}) {
    for (const Fact& fact : all_of(store, name)) {
      const std::string local(fact.get("local_gid"));
      const std::string remote(fact.get("remote_gid"));
      const std::optional<nccl::Address> a = gid_address(local);
      const std::optional<nccl::Address> b = gid_address(remote);
      if (a && b && !nccl::same_subnet(*a, *b)) {
        conclude(store, fact, "is.gids_in_subnets", {{"local", local}, {"remote", remote}});
      }
    }
  }
  std::set<std::string> with;
  for (const Fact& fact : all_of(store, "rdma.gid")) {
    with.insert(std::string(fact.get("hca")));
  }
  if (with.empty() && !store.has("rdma.gid_table")) {
    return;
  }
  for (const Fact& fact : all_of(store, "nccl.hca")) {
    if (with.find(std::string(fact.get("hca"))) == with.end()) {
      conclude(store, fact, "is.gid_missing", {{"hca", std::string(fact.get("hca"))}});
    }
  }
}

/// The GID that is chosen by hand, against the table of GIDs.
void chosen_gid(FactStore& store) {
  const std::string chosen = variable(store, "NCCL_IB_GID_INDEX");
  std::string better;
  std::optional<Fact> row;
  for (const Fact& fact : all_of(store, "rdma.gid")) {
    const bool routed = fact.get("version") == "v2" && !fact.get("ip").empty();
    better = routed && better.empty() ? std::string(fact.get("index")) : better;
    if (fact.get("index") == chosen && !row) {
      row = fact;
    }
  }
  if (chosen.empty() || better.empty()) {
    return;
  }
  const bool link_local = row && lower(row->get("gid")).rfind("fe80", 0) == 0;
  if (!row || row->get("version") == "v1" || link_local) {
    const Fact seen = row ? *row : *store.named("rdma.gid").front();
    conclude(store, seen, "is.gid_index_unfit", {{"index", chosen}, {"better", better}});
  }
}

/// The top bit of a P_Key says full member; two limited members may not talk to each other
/// (InfiniBand Architecture Specification 1.4, 10.9.3).
bool full_member(std::string_view key) {
  return key.size() == 6 && (key[2] >= '8');
}

void pkeys(FactStore& store) {
  const std::string chosen = variable(store, "NCCL_IB_PKEY");
  const std::vector<Fact> keys = all_of(store, "rdma.pkey");
  const std::string index = chosen.empty() ? "0" : chosen;
  for (const Fact& fact : keys) {
    if (fact.get("index") != index || full_member(fact.get("value"))) {
      continue;
    }
    for (const Fact& other : keys) {
      if (other.get("hca") == fact.get("hca") && other.get("index") != index &&
          full_member(other.get("value"))) {
        conclude(
            store, fact, "is.pkey_limited",
            {{"hca", std::string(fact.get("hca"))}, {"index", std::string(other.get("index"))}});
        conclude(
            store, other, "is.pkey_limited",
            {{"hca", std::string(fact.get("hca"))}, {"index", std::string(other.get("index"))}});
      }
    }
  }
}

/// Priority of a DSCP by the switch of the NIC; without one, its upper three bits.
std::string priority_of(const FactStore& store, std::int64_t dscp) {
  for (const Fact* row : store.named("qos.dscp")) {
    for (const std::string_view one : split(row->get("dscp"), ',')) {
      if (parse_integer(one) == dscp) {
        return std::string(row->get("priority"));
      }
    }
  }
  return std::to_string(dscp / 8);
}

void flow_control(FactStore& store) {
  for (const Fact& fact : all_of(store, "qos.pfc")) {
    const std::vector<std::string_view> enabled = split(fact.get("enabled"), ',');
    const bool any = std::find(enabled.begin(), enabled.end(), "1") != enabled.end();
    const std::string tc = variable(store, "NCCL_IB_TC");
    const std::int64_t dscp = std::clamp<std::int64_t>(parse_integer(tc).value_or(0), 0, 255) / 4;
    const std::string priority = priority_of(store, dscp);
    const auto number = static_cast<std::size_t>(parse_integer(priority).value_or(0));
    const bool lossless = number < enabled.size() && enabled[number] == "1";
    const std::string forced =
        store.has("qos.traffic_class")
            ? std::string(store.named("qos.traffic_class").front()->get("value"))
            : tc;
    if (forced != tc) {
      conclude(store, *store.named("qos.traffic_class").front(), "is.traffic_class_differs",
               {{"value", forced}});
    }
    if (!lossless) {
      conclude(store, fact, "is.pfc_mismatch",
               {{"priority", priority}, {"why", any ? "lossy" : "off"}});
    }
  }
}

/// Ours: four and more are not "few".
void queue_pairs(FactStore& store) {
  for (const Fact& fact : all_of(store, "var")) {
    if (fact.get("name") == "NCCL_IB_QPS_PER_CONNECTION" &&
        parse_integer(fact.get("value")).value_or(1) >= 4) {
      conclude(store, fact, "is.many_queue_pairs", {{"count", std::string(fact.get("value"))}});
    }
  }
}

void devices(FactStore& store) {
  for (const Fact& fact : all_of(store, "nccl.hca")) {
    if (lower(fact.get("hca")).find("bond") != std::string::npos) {
      conclude(store, fact, "is.bond_hca", {{"hca", std::string(fact.get("hca"))}});
    }
  }
  const std::vector<Fact> files = all_of(store, "dev.uverbs");
  std::set<std::string> hcas;
  for (const char* name : {"rdma.port", "rdma.netdev", "rdma.gid"}) {
    for (const Fact* fact : store.named(name)) {
      hcas.insert(std::string(fact->get("hca")));
    }
  }
  if (!files.empty() && files.size() < hcas.size()) {
    conclude(store, files.front(), "is.partial_hcas",
             {{"files", std::to_string(files.size())}, {"hcas", std::to_string(hcas.size())}});
  }
  if (files.size() == 1 && store.named("nccl.hca").size() <= 1) {
    conclude(store, files.front(), "is.one_device_file",
             {{"name", std::string(files.front().get("name"))}});
  }
}

std::set<std::string> known_hcas(const FactStore& store) {
  std::set<std::string> result;
  for (const char* name : {"rdma.port", "rdma.netdev", "nccl.hca"}) {
    for (const Fact* fact : store.named(name)) {
      if (!fact->get("hca").empty()) {
        result.insert(std::string(fact->get("hca")));
      }
    }
  }
  return result;
}

void filter(FactStore& store) {
  const std::string value = variable(store, "NCCL_IB_HCA");
  if (value.empty()) {
    return;
  }
  Fact set;
  for (const Fact& fact : all_of(store, "var")) {
    if (fact.get("name") == "NCCL_IB_HCA") {
      set = fact;
    }
  }
  const nccl::NameFilter admitted(value, kMostHcas);
  const std::set<std::string> hcas = known_hcas(store);
  const auto count = std::count_if(hcas.begin(), hcas.end(),
                                   [&](const std::string& hca) { return admitted.admits(hca); });
  if (!hcas.empty() && count == 0) {
    conclude(store, set, "is.hca_filter_matches_none", {{"value", value}});
  }
  const bool exact = value.find('=') < 2;
  const std::string_view listed = std::string_view(value).substr(value.front() == '^' ? 1 : 0);
  for (const std::string_view part : split(listed, ',')) {
    const std::string item(part.substr(0, part.find(':')));
    for (const std::string& hca : hcas) {
      const bool longer = !exact && !item.empty() && hca.size() > item.size() &&
                          hca.rfind(item, 0) == 0 && hca[item.size()] >= '0' &&
                          hca[item.size()] <= '9' && item.back() >= '0' && item.back() <= '9';
      if (longer) {
        conclude(store, set, "is.hca_prefix_trap", {{"item", item}, {"also", hca}});
      }
    }
  }
  const bool one = value.front() != '^' && split(value, ',').size() == 1;
  if (one && store.named("nccl.hca").size() == 1) {
    conclude(store, set, "is.one_hca_of_filter", {{"value", value}});
  }
}

}  // namespace

void derive_rdma(FactStore& store) {
  states(store);
  mtus(store);
  rates(store);
  cabling(store);
  gids(store);
  chosen_gid(store);
  pkeys(store);
  flow_control(store);
  queue_pairs(store);
  devices(store);
  filter(store);
}

}  // namespace busbw::diagnosis
