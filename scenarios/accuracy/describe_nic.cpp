// See describe_nic.h. "EFA", "gIB", "TCPXO" and the like are plugins of NCCL; "socket" and "TCP"
// are its own sockets, over whatever card; the rest is its IB network.
#include "scenarios/accuracy/describe_nic.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/core/text.h"

namespace busbw::scenarios::accuracy {
namespace {

using topologies::Catalog;
using topologies::NicLinkLayer;
using topologies::NicModel;

bool has(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

/// Words of the record that name a plugin's card, and its model in the catalogue.
struct PluginWord {
  const char* word;
  const char* model;
};
constexpr PluginWord kPluginWords[] = {{"tcpxo", "gVNIC TCPXO"},       {"fastrak", "gVNIC TCPXO"},
                                       {"tcpx", "gVNIC TCPX"},         {"gib", "ConnectX-7 gIB"},
                                       {"efa v1", "EFA v1"},           {"efa v2", "EFA v2"},
                                       {"efa v3", "EFA v3"},           {"efa v4", "EFA v4"},
                                       {"slingshot", "Slingshot 200"}, {"cxi", "Slingshot 200"}};

/// A ConnectX of that rate when the record does not say which.
const NicModel* usual_nic(Bandwidth rate, const Catalog& catalog) {
  const double gbps = rate.as_gigabits_per_second();
  const char* name = gbps <= 56    ? "ConnectX-3 FDR"
                     : gbps <= 100 ? "ConnectX-5"
                     : gbps <= 200 ? "ConnectX-6"
                     : gbps <= 400 ? "ConnectX-7"
                                   : "ConnectX-8";
  return catalog.nic(name);
}

class Describer {
 public:
  Describer(const RecordSystem& system, std::int32_t hosts, const Catalog& catalog)
      : nic_(system.nic),
        hosts_(hosts),
        catalog_(catalog),
        text_(lower(system.nic.type + " " + system.nic.link)) {}

  NicDescription run() {
    NicFacts& facts = result_.facts;
    if (!has_nic()) {
      if (hosts_ > 1) {
        result_.reason = fmt::format("{} hosts without a NIC", hosts_);
      }
      return std::move(result_);
    }
    facts.count = nic_.count.value_or(1);
    if (has(text_, "veth") || has(text_, "virtio") || has(text_, "namespace")) {
      set_virtual();
      return std::move(result_);
    }
    set_carrier();
    set_model();
    if (facts.model == nullptr) {
      result_.reason = fmt::format("NIC '{}' is not in the catalogue and has no rate", nic_.type);
      return std::move(result_);
    }
    facts.rate = nic_.rate.value_or(facts.model->port_rate);
    if (!nic_.rate) {
      assume(fmt::format("the rate of the NIC is not given: {}", to_string(facts.rate)));
    }
    if (!nic_.count) {
      assume("the number of NICs is not given: one");
    }
    set_layer();
    return std::move(result_);
  }

 private:
  void assume(std::string text) { result_.assumptions.push_back(std::move(text)); }

  [[nodiscard]] bool has_nic() const {
    const bool none = (nic_.count && *nic_.count == 0) || text_.rfind("none", 0) == 0;
    return !none && (text_.size() > 1 || nic_.count || nic_.rate);
  }

  void set_virtual() {
    NicFacts& facts = result_.facts;
    facts.carrier = Carrier::kSocket;
    facts.shaped = has(text_, "shaped by");
    facts.rate = nic_.rate.value_or(Bandwidth());
    facts.interfaces = nic_.interfaces;
    if (facts.interfaces.empty()) {
      for (std::int32_t i = 0; i < facts.count; ++i) {
        RecordInterface interface;
        interface.name = fmt::format("eth{}", i);
        if (facts.shaped && nic_.rate) {
          interface.shaped = nic_.rate;
        }
        facts.interfaces.push_back(std::move(interface));
      }
    }
    facts.count = static_cast<std::int32_t>(facts.interfaces.size());
  }

  void set_carrier() {
    const bool plugin = std::any_of(std::begin(kPluginWords), std::end(kPluginWords),
                                    [&](const PluginWord& word) { return has(text_, word.word); });
    const std::string link = lower(nic_.link);
    const bool tcp = link.rfind("tcp", 0) == 0 || has(link, "socket") || has(link, "/tcp ") ||
                     link == "ethernet/tcp" || link == "ethernet";
    result_.facts.carrier = tcp && !has(link, "tcpx") ? Carrier::kSocket
                            : plugin                  ? Carrier::kPlugin
                            : has(text_, "roce")      ? Carrier::kRoce
                            : has(text_, "infiniband") || has(text_, "omni-path")
                                ? Carrier::kInfiniBand
                                : usual_carrier();
  }

  Carrier usual_carrier() {
    assume(fmt::format("'{}' is taken for InfiniBand", nic_.link));
    return Carrier::kInfiniBand;
  }

  void set_model() {
    NicFacts& facts = result_.facts;
    for (const PluginWord& word : kPluginWords) {
      if (facts.model == nullptr && has(text_, word.word)) {
        facts.model = catalog_.nic(word.model);
      }
    }
    if (facts.model == nullptr && has(text_, "efa")) {
      facts.model = catalog_.nic("EFA v1");
      assume("the version of EFA is not said: 1");
    }
    if (facts.model == nullptr) {
      facts.model = nic_in(nic_.type, catalog_);
    }
    const bool slow = facts.model != nullptr && nic_.rate && *nic_.rate > facts.model->port_rate;
    if (facts.model == nullptr || slow) {
      const NicModel* usual = nic_.rate ? usual_nic(*nic_.rate, catalog_) : nullptr;
      if (usual != nullptr) {
        assume(fmt::format("NIC '{}' is taken for {}", nic_.type, usual->name));
      }
      facts.model = usual;
    }
  }

  void set_layer() {
    NicFacts& facts = result_.facts;
    const std::vector<NicLinkLayer>& possible = facts.model->link_layers;
    facts.layer =
        facts.carrier == Carrier::kInfiniBand ? NicLinkLayer::kInfiniBand : NicLinkLayer::kEthernet;
    if (std::find(possible.begin(), possible.end(), facts.layer) == possible.end()) {
      facts.layer = possible.front();
    }
  }

  const RecordNic& nic_;
  std::int32_t hosts_;
  const Catalog& catalog_;
  std::string text_;
  NicDescription result_;
};

}  // namespace

NicDescription describe_nic(const RecordSystem& system, std::int32_t hosts,
                            const Catalog& catalog) {
  return Describer(system, hosts, catalog).run();
}

}  // namespace busbw::scenarios::accuracy
