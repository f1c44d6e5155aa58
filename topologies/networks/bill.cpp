// See bill.h.
#include "topologies/networks/bill.h"

#include <map>
#include <tuple>

#include "sim/core/text.h"

namespace busbw::networks {
namespace {

using Key = std::tuple<std::int32_t, std::string, std::int64_t, std::int64_t>;

std::optional<double> amount(const std::map<std::string, double>& inputs, const std::string& model,
                             std::int64_t count) {
  const auto found = inputs.find(lower(model));
  return found == inputs.end() ? std::nullopt
                               : std::optional(found->second * static_cast<double>(count));
}

/// A value of one that is not given is 0.
std::optional<double> of_each(double value, std::int64_t count) {
  return value > 0 ? std::optional(value * static_cast<double>(count)) : std::nullopt;
}

void add_total(std::optional<double>& total, const std::optional<double>& part) {
  if (part) {
    total = total.value_or(0) + *part;
  }
}

}  // namespace

Bill bill_of(const BuiltFabric& built, const std::string& currency, const Inputs& prices,
             const Inputs& power) {
  Bill bill;
  bill.currency = currency;
  std::map<Key, std::int64_t> switches;
  std::map<Key, std::int64_t> cables;
  std::map<std::int64_t, std::int64_t> ports;  // by rate
  for (const Subnet& subnet : built.subnets) {
    for (const Switch& node : subnet.switches) {
      switches[{node.tier, node.model, 0, 0}]++;
      bill.free_ports += node.ports;
    }
    for (const Cable& cable : subnet.cables) {
      if (!cable.up) {
        continue;
      }
      cables[{cable.tier, cable.model, cable.length_mm, cable.rate.bps()}]++;
      bill.cable_mm += cable.length_mm;
      bill.switch_ports += (cable.a.at_switch ? 1 : 0) + (cable.b.at_switch ? 1 : 0);
      if (!cable.a.at_switch) {
        ports[cable.rate.bps()]++;
      }
    }
  }
  bill.free_ports -= bill.switch_ports;
  const auto add = [&](const char* kind, const Key& key, std::int64_t count,
                       const std::optional<double>& price, const std::optional<double>& watts) {
    const auto& [tier, model, length, rate] = key;
    bill.lines.push_back(
        {kind, model, tier, length, Bandwidth::bits_per_second(rate), count, price, watts});
    add_total(bill.price, price);
    add_total(bill.power_W, watts);
  };
  for (const auto& [key, count] : switches) {
    const std::string& model = std::get<1>(key);
    bill.switches += count;
    add("switch", key, count, amount(prices.switches, model, count),
        amount(power.switches, model, count));
  }
  for (const auto& [key, count] : cables) {
    const std::string& model = std::get<1>(key);
    bill.cables += count;
    add("cable", key, count, amount(prices.cables, model, count),
        amount(power.cables, model, count));
  }
  for (const auto& [rate, count] : ports) {
    bill.nic_ports += count;
    add("NIC port", {0, "", 0, rate}, count, of_each(prices.nic, count), of_each(power.nic, count));
  }
  return bill;
}

}  // namespace busbw::networks
