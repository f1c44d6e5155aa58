// See fabric_report.h.
#include "tools/fabric_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/core/text.h"
#include "tools/console.h"
#include "tools/table.h"

namespace busbw::tools {
namespace {

using networks::Bill;
using networks::BillLine;
using networks::Subnet;
using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kMostFindings = 20;  // of a kind and subnet

std::string tier_name(std::int32_t tier) {
  switch (tier) {
    case 0:
      return "leaf";
    case 1:
      return "spine";
    case 2:
      return "core";
    default:
      return fmt::format("tier {}", tier);
  }
}

std::string cable_tier_name(std::int32_t tier) {
  return tier == 0 ? "host to leaf" : tier == 1 ? "leaf to spine" : "above";
}

std::string metres(std::int64_t millimetres) {
  return fmt::format("{:.6g} m", static_cast<double>(millimetres) / 1000);
}

std::string terabits(Bandwidth rate) {
  return fmt::format("{:.6g} Tb/s", rate.as_gigabits_per_second() / 1000);
}

struct Halves {
  Bandwidth rate;
  Bandwidth edge;
};

Halves halves_of(const std::vector<SubnetStudy>& studies) {
  Halves sum;
  for (const SubnetStudy& each : studies) {
    sum.rate = sum.rate + each.bisection.rate;
    sum.edge = sum.edge + each.bisection.edge;
  }
  return sum;
}

double share(const Halves& halves) {
  return halves.edge > Bandwidth()
             ? static_cast<double>(halves.rate.bps()) / static_cast<double>(halves.edge.bps())
             : 0;
}

/// Tiers of all subnets together.
std::vector<networks::TierRates> all_tiers(const std::vector<SubnetStudy>& studies) {
  std::map<std::int32_t, networks::TierRates> tiers;
  for (const SubnetStudy& each : studies) {
    for (const networks::TierRates& rates : each.tiers) {
      networks::TierRates& sum = tiers[rates.tier];
      sum.tier = rates.tier;
      sum.switches += rates.switches;
      sum.down = sum.down + rates.down;
      sum.up = sum.up + rates.up;
      sum.worst = std::max(sum.worst, rates.worst);
    }
  }
  std::vector<networks::TierRates> result;
  result.reserve(tiers.size());
  for (const auto& [tier, rates] : tiers) {
    result.push_back(rates);
  }
  return result;
}

std::string tier_table(const std::vector<SubnetStudy>& studies, bool colour) {
  Rows rows;
  for (const networks::TierRates& tier : all_tiers(studies)) {
    const bool top = tier.up <= Bandwidth();
    rows.push_back({tier_name(tier.tier), std::to_string(tier.switches), terabits(tier.down),
                    top ? "-" : terabits(tier.up),
                    top ? "-"
                        : fmt::format("{:.4g}", static_cast<double>(tier.down.bps()) /
                                                    static_cast<double>(tier.up.bps())),
                    top ? "-" : fmt::format("{:.4g}", tier.worst)});
  }
  const std::vector<std::string> header = {"tier", "switches",       "down",
                                           "up",   "oversubscribed", "worst switch"};
  return format_table(numbers_right(header, rows), rows, colour);
}

std::string hops_text(const networks::PairReport& pairs) {
  std::vector<std::string> parts;
  for (const auto& [hops, count] : pairs.hops) {
    parts.push_back(fmt::format("{}: {}", hops, count));
  }
  return join(parts, ", ");
}

std::string subnet_table(const FabricFile& file, const std::vector<SubnetStudy>& studies,
                         bool colour) {
  Rows rows;
  for (std::size_t i = 0; i < studies.size(); i++) {
    const Subnet& subnet = file.built.subnets[i];
    const SubnetStudy& each = studies[i];
    rows.push_back({subnet.name.empty() ? "all" : subnet.name,
                    std::to_string(subnet.endpoints.size()), std::to_string(subnet.switches.size()),
                    each.engine, std::to_string(each.shifts.worst_flows),
                    fmt::format("{:.3g}", each.shifts.mean_of_worst),
                    std::to_string(each.loops.size()), std::to_string(each.pairs.unreachable)});
  }
  const std::vector<std::string> header = {"subnet",       "ports",      "switches",
                                           "routes",       "worst link", "mean worst",
                                           "credit loops", "unreachable"};
  std::string text = format_table(numbers_right(header, rows), rows, colour);
  for (std::size_t i = 0; i < studies.size(); i++) {
    const SubnetStudy& each = studies[i];
    const Subnet& subnet = file.built.subnets[i];
    const std::string who = subnet.name.empty() ? "" : subnet.name + ": ";
    if (!each.routes.why.empty()) {
      text += fmt::format(
          "  {}{} fell back to {}: {}\n", who,
          each.routes.asked == networks::Engine::kTables ? "OpenSM" : to_string(each.routes.asked),
          each.engine, each.routes.why);
    }
    if (each.shifts.worst_flows > 1) {
      text += fmt::format("  {}worst link: {} flows over {} in shift {}{}\n", who,
                          each.shifts.worst_flows, channel_name(subnet, each.shifts.worst_channel),
                          each.shifts.worst_shift,
                          each.shifts.shifts < each.shifts.all_shifts
                              ? fmt::format(" ({} of {} shifts looked at)", each.shifts.shifts,
                                            each.shifts.all_shifts)
                              : "");
    }
    if (i == 0) {
      text += fmt::format("  {}cables between switches on a way: pairs {}\n", who,
                          hops_text(each.pairs));
    }
  }
  return text;
}

std::string amount(const std::optional<double>& value) {
  return value ? fmt::format("{:.10g}", *value) : "-";
}

std::string bill_table(const Bill& bill, bool colour) {
  Rows rows;
  for (const BillLine& line : bill.lines) {
    const bool cable = line.kind == "cable";
    const std::string place = cable                   ? cable_tier_name(line.tier)
                              : line.kind == "switch" ? tier_name(line.tier)
                                                      : "host";
    rows.push_back({line.kind, place, line.model.empty() ? "-" : line.model,
                    cable ? metres(line.length_mm) : "-",
                    line.rate > Bandwidth() ? to_string(line.rate) : "-",
                    std::to_string(line.count), amount(line.price), amount(line.power_W)});
  }
  const std::string price = bill.currency.empty() ? "price" : "price " + bill.currency;
  std::vector<std::string> header = {"what", "where", "model", "length",
                                     "rate", "count", price,   "power W"};
  if (!bill.price && !bill.power_W) {
    header.resize(6);
    for (std::vector<std::string>& row : rows) {
      row.resize(6);
    }
  }
  std::string text = format_table(numbers_right(header, rows), rows, colour);
  text += fmt::format(
      "  {} switches, {} cables of {} together, {} NIC ports; switch ports {} used, "
      "{} free\n",
      bill.switches, bill.cables, metres(bill.cable_mm), bill.nic_ports, bill.switch_ports,
      bill.free_ports);
  if (bill.price) {
    text += fmt::format("  price {} {}\n", amount(bill.price), bill.currency);
  }
  if (bill.power_W) {
    text += fmt::format("  power {} W\n", amount(bill.power_W));
  }
  return text;
}

Value pairs_value(const Subnet& subnet, const networks::PairReport& pairs) {
  Value hops = Value::object();
  for (const auto& [count, number] : pairs.hops) {
    hops.set(std::to_string(count), number);
  }
  std::map<std::int64_t, std::int64_t> links;  // pairs over a link -> links, between switches
  for (std::size_t i = 0; i < pairs.loads.size(); i++) {
    const networks::Cable& cable = subnet.cables[i / 2];
    if (cable.up && cable.a.at_switch && cable.b.at_switch) {
      links[pairs.loads[i]]++;
    }
  }
  Value loads = Value::object();
  for (const auto& [load, number] : links) {
    loads.set(std::to_string(load), number);
  }
  Value examples = Value::array();
  for (const auto& [from, to] : pairs.examples) {
    examples.push(Value::array().push(subnet.at(from).name()).push(subnet.at(to).name()));
  }
  return Value::object()
      .set("pairs", pairs.pairs)
      .set("unreachable", pairs.unreachable)
      .set("examples", examples)
      .set("hops", hops)
      .set("links_by_pairs", loads);
}

Value subnet_value(const Subnet& subnet, const SubnetStudy& each) {
  Value loops = Value::array();
  for (const std::vector<networks::Channel>& loop : each.loops) {
    Value channels = Value::array();
    for (const networks::Channel channel : loop) {
      channels.push(channel_name(subnet, channel));
    }
    loops.push(std::move(channels));
  }
  Value shifts = Value::object()
                     .set("looked_at", each.shifts.shifts)
                     .set("all", each.shifts.all_shifts)
                     .set("free_of_contention", each.shifts.free_of_contention)
                     .set("worst_flows", each.shifts.worst_flows)
                     .set("mean_worst_flows", each.shifts.mean_of_worst);
  if (each.shifts.worst_flows > 0) {
    shifts.set("worst_link", channel_name(subnet, each.shifts.worst_channel))
        .set("worst_shift", each.shifts.worst_shift);
  }
  return Value::object()
      .set("name", subnet.name)
      .set("ports", static_cast<std::int64_t>(subnet.endpoints.size()))
      .set("switches", static_cast<std::int64_t>(subnet.switches.size()))
      .set("cables", static_cast<std::int64_t>(subnet.cables.size()))
      .set("routes", each.engine)
      .set("fell_back", each.routes.why)
      .set("bisection_Gbps", each.bisection.rate.as_gigabits_per_second())
      .set("edge_Gbps", each.bisection.edge.as_gigabits_per_second())
      .set("reachability", pairs_value(subnet, each.pairs))
      .set("credit_loops", loops)
      .set("shifts", shifts);
}

Value bill_value(const Bill& bill) {
  Value lines = Value::array();
  for (const BillLine& line : bill.lines) {
    Value entry = Value::object()
                      .set("kind", line.kind)
                      .set("model", line.model)
                      .set("tier", static_cast<std::int64_t>(line.tier))
                      .set("length_m", static_cast<double>(line.length_mm) / 1000)
                      .set("rate_Gbps", line.rate.as_gigabits_per_second())
                      .set("count", line.count);
    if (line.price) {
      entry.set("price", *line.price);
    }
    if (line.power_W) {
      entry.set("power_W", *line.power_W);
    }
    lines.push(std::move(entry));
  }
  Value value = Value::object()
                    .set("switches", bill.switches)
                    .set("cables", bill.cables)
                    .set("cable_m", static_cast<double>(bill.cable_mm) / 1000)
                    .set("nic_ports", bill.nic_ports)
                    .set("switch_ports", bill.switch_ports)
                    .set("free_switch_ports", bill.free_ports)
                    .set("lines", lines);
  if (bill.price) {
    value.set("price", *bill.price).set("currency", bill.currency);
  }
  if (bill.power_W) {
    value.set("power_W", *bill.power_W);
  }
  return value;
}

}  // namespace

std::string fabric_text(const FabricFile& file, const std::vector<SubnetStudy>& studies,
                        bool colour) {
  const networks::BuiltFabric& built = file.built;
  const Halves halves = halves_of(studies);
  std::string text = bold(built.name, colour);
  text += built.title.empty() ? "\n" : ": " + built.title + "\n";
  text += fmt::format("  {}; {} hosts, {} subnet{}\n", built.topology, built.hosts,
                      built.subnets.size(), built.subnets.size() == 1 ? "" : "s");
  text += fmt::format("  half to half {} one way, {:.1f} % of what the hosts of a half send\n\n",
                      terabits(halves.rate), 100 * share(halves));
  text += tier_table(studies, colour) + "\n" + subnet_table(file, studies, colour) + "\n" +
          bill_table(file.bill, colour);
  for (const std::string& remark : file.remarks) {
    text += "  note: " + remark + "\n";
  }
  for (const std::string& finding : fabric_findings(file, studies)) {
    text += "  " + finding + "\n";
  }
  return text;
}

Value fabric_value(const FabricFile& file, const std::vector<SubnetStudy>& studies) {
  const Halves halves = halves_of(studies);
  Value tiers = Value::array();
  for (const networks::TierRates& tier : all_tiers(studies)) {
    Value entry = Value::object()
                      .set("tier", tier_name(tier.tier))
                      .set("switches", static_cast<std::int64_t>(tier.switches))
                      .set("down_Gbps", tier.down.as_gigabits_per_second())
                      .set("up_Gbps", tier.up.as_gigabits_per_second());
    if (tier.up > Bandwidth()) {
      entry.set("oversubscription",
                static_cast<double>(tier.down.bps()) / static_cast<double>(tier.up.bps()));
      entry.set("worst_oversubscription", tier.worst);
    }
    tiers.push(std::move(entry));
  }
  Value subnets = Value::array();
  bool good = true;
  for (std::size_t i = 0; i < studies.size(); i++) {
    subnets.push(subnet_value(file.built.subnets[i], studies[i]));
    good = good && studies[i].good();
  }
  Value remarks = Value::array();
  for (const std::string& remark : file.remarks) {
    remarks.push(remark);
  }
  return Value::object()
      .set("schema", "busbw.fabric-report/1")
      .set("name", file.built.name)
      .set("topology", file.built.topology)
      .set("hosts", static_cast<std::int64_t>(file.built.hosts))
      .set("good", good)
      .set("bisection_Gbps", halves.rate.as_gigabits_per_second())
      .set("edge_Gbps", halves.edge.as_gigabits_per_second())
      .set("tiers", tiers)
      .set("subnets", subnets)
      .set("bill", bill_value(file.bill))
      .set("remarks", remarks);
}

std::vector<std::string> fabric_findings(const FabricFile& file,
                                         const std::vector<SubnetStudy>& studies) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < studies.size(); i++) {
    const Subnet& subnet = file.built.subnets[i];
    const std::string who = subnet.name.empty() ? "" : subnet.name + ": ";
    for (const auto& [from, to] : studies[i].pairs.examples) {
      lines.push_back(
          fmt::format("{}{} does not reach {}", who, subnet.at(from).name(), subnet.at(to).name()));
    }
    const auto shown = static_cast<std::int64_t>(studies[i].pairs.examples.size());
    if (studies[i].pairs.unreachable > shown) {
      lines.push_back(fmt::format("{}{} more pairs are unreachable", who,
                                  studies[i].pairs.unreachable - shown));
    }
    for (const std::vector<networks::Channel>& loop : studies[i].loops) {
      std::vector<std::string> channels;
      for (const networks::Channel channel : loop) {
        if (channels.size() == kMostFindings) {
          channels.emplace_back("...");
          break;
        }
        channels.push_back(channel_name(subnet, channel));
      }
      lines.push_back(
          fmt::format("{}credit loop of {} links: {}", who, loop.size(), join(channels, ", ")));
    }
  }
  return lines;
}

}  // namespace busbw::tools
