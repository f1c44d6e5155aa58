// See perf_report.h.
#include "tools/perf_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "scenarios/result_value.h"
#include "scenarios/simulate.h"
#include "sim/core/quantity.h"
#include "sim/core/text.h"
#include "tools/fault_report.h"
#include "tools/svg_plot.h"
#include "tools/table.h"

namespace busbw::tools {
namespace {

using collectives::Collective;
using scenarios::PerfRequest;
using scenarios::PerfResult;
using scenarios::SizeResult;

bool reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduce ||
         collective == Collective::kReduceScatter;
}

bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce ||
         collective == Collective::kGather || collective == Collective::kScatter;
}

std::string devices_text(const nccl::HostDecision& host) {
  std::vector<std::string> names;
  for (const nccl::NetDevice& device : host.data_devices) {
    names.push_back(device.name);
  }
  return join(names, " ");
}

std::string head(const PerfRequest& request, const PerfResult& result) {
  const nccl::HostDecision& host = result.decision.hosts.front();
  std::string text =
      fmt::format("# {} on {} x {} ({} ranks), NCCL {}, predicted; {}\n",
                  to_string(request.collective), request.hosts.hosts,
                  request.machine.title.empty() ? request.machine.name : request.machine.title,
                  result.ranks, nccl::to_string(request.version),
                  request.hosts.fabric ? "fabric " + request.hosts.fabric->name
                                       : std::string("one switch a rail"));
  std::vector<std::string> settings;
  for (const auto& [name, value] : request.environment) {
    settings.push_back(fmt::format("{}={}", name, value));
  }
  if (!settings.empty()) {
    text += "# " + join(settings, " ") + "\n";
  }
  if (request.hosts.hosts > 1) {
    text += fmt::format("# network {}; devices {}\n", host.network.value_or("none"),
                        devices_text(host));
  }
  text += fmt::format("# engine {}\n", scenarios::engine_text(request.engine, result.sizes));
  for (const std::string& remark : scenarios::steady_remarks(result.sizes)) {
    text += "# " + remark + "\n";
  }
  for (const std::string& warning : result.decision.warnings) {
    text += "# warning: " + warning + "\n";
  }
  for (const std::string& remark : result.remarks) {
    text += "# remark: " + remark + "\n";
  }
  if (!result.empty.empty()) {
    text += fmt::format("# {} size{} below 16 bytes a rank left out\n", result.empty.size(),
                        result.empty.size() == 1 ? "" : "s");
  }
  return text;
}

std::string bottleneck_text(const SizeResult& size) {
  const scenarios::Bottleneck& bottleneck = size.chosen.bottleneck;
  return bottleneck.link.empty()
             ? "none"
             : fmt::format("{} {:.0f} %", bottleneck.link, bottleneck.utilization * 100);
}

}  // namespace

std::string perf_text(const PerfRequest& request, const PerfResult& result, bool colour) {
  std::string text = head(request, result);
  if (result.error) {
    return text + "# the job does not run: " + *result.error + "\n";
  }
  const std::vector<Column> columns = {{"size(B)", Align::kRight},
                                       {"count", Align::kRight},
                                       {"type"},
                                       {"redop"},
                                       {"root", Align::kRight},
                                       {"time(us)", Align::kRight},
                                       {"algbw(GB/s)", Align::kRight},
                                       {"busbw(GB/s)", Align::kRight},
                                       {"algorithm"},
                                       {"protocol"},
                                       {"channels", Align::kRight},
                                       {"bottleneck, payload rate used"}};
  std::vector<std::vector<std::string>> rows;
  for (const SizeResult& size : result.sizes) {
    rows.push_back(
        {fmt::format("{}", size.bytes.count()), fmt::format("{}", size.count), request.type,
         reduces(request.collective) ? "sum" : "none", has_root(request.collective) ? "0" : "-1",
         fmt::format("{:.2f}", size.chosen.time.as_us()), fmt::format("{:.2f}", size.algbw_GBps),
         fmt::format("{:.2f}", size.busbw_GBps), collectives::to_string(size.chosen.algorithm),
         params::to_string(size.chosen.protocol), fmt::format("{}", size.chosen.channels),
         bottleneck_text(size)});
  }
  text += format_table(columns, rows, colour);
  if (!result.sizes.empty()) {
    text += hottest_text(result.sizes.back(), "# ");
  }
  return text + fmt::format("# Avg bus bandwidth    : {:.4g}\n", result.average_busbw_GBps);
}

Value perf_value(const PerfRequest& request, const PerfResult& result) {
  const nccl::HostDecision& host = result.decision.hosts.front();
  Value environment = Value::object();
  for (const auto& [name, value] : request.environment) {
    environment.set(name, value);
  }
  Value devices = Value::array();
  for (const nccl::NetDevice& device : host.data_devices) {
    devices.push(device.name);
  }
  Value results = Value::array();
  for (const SizeResult& size : result.sizes) {
    results.push(scenarios::to_value(size));
  }
  Value empty = Value::array();
  for (const Bytes bytes : result.empty) {
    empty.push(bytes.count());
  }
  Value remarks = Value::array();
  for (const std::string& remark : result.remarks) {
    remarks.push(remark);
  }
  Value value = Value::object();
  value.set("schema", "busbw.perf/1")
      .set("machine", request.machine.name)
      .set("nodes", request.hosts.hosts)
      .set("ranks", result.ranks)
      .set("nccl_version", nccl::to_string(request.version))
      .set("environment", std::move(environment))
      .set("network", host.network ? Value(*host.network) : Value())
      .set("devices", std::move(devices))
      .set("collective", to_string(request.collective))
      .set("type", request.type)
      .set("error", result.error ? Value(*result.error) : Value())
      .set("results", std::move(results))
      .set("average_busbw_GBps", result.average_busbw_GBps)
      .set("empty_bytes", std::move(empty))
      .set("remarks", std::move(remarks));
  return value;
}

std::string perf_csv(const PerfResult& result) {
  std::string text =
      "collective,bytes,count,time_us,algbw_GBps,busbw_GBps,algorithm,protocol,channels,bottleneck,"
      "utilization\n";
  for (const SizeResult& size : result.sizes) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{:.6g}\n", to_string(size.collective),
                        size.bytes.count(), size.count, size.chosen.time.as_us(), size.algbw_GBps,
                        size.busbw_GBps, collectives::to_string(size.chosen.algorithm),
                        params::to_string(size.chosen.protocol), size.chosen.channels,
                        scenarios::csv_field(size.chosen.bottleneck.link),
                        size.chosen.bottleneck.utilization);
  }
  return text;
}

std::string perf_plot(const PerfRequest& request, const PerfResult& result) {
  Plot plot;
  plot.title =
      fmt::format("{}, {} x {}, NCCL {}, predicted", to_string(request.collective),
                  request.hosts.hosts, request.machine.name, nccl::to_string(request.version));
  plot.x_label = "size";
  plot.y_label = "bus bandwidth, GB/s";
  plot.x_is_bytes = true;
  PlotSeries whole{"busbw", {}, true};
  std::vector<PlotSeries> choices;
  for (const SizeResult& size : result.sizes) {
    const std::pair<double, double> point{static_cast<double>(size.bytes.count()), size.busbw_GBps};
    whole.points.push_back(point);
    const std::string name = fmt::format("{}/{}", collectives::to_string(size.chosen.algorithm),
                                         params::to_string(size.chosen.protocol));
    auto known = std::find_if(choices.begin(), choices.end(),
                              [&](const PlotSeries& each) { return each.name == name; });
    if (known == choices.end()) {
      choices.push_back({name, {}, false});
      known = choices.end() - 1;
    }
    known->points.push_back(point);
  }
  plot.series.push_back(std::move(whole));
  plot.series.insert(plot.series.end(), choices.begin(), choices.end());
  return svg_plot(plot);
}

}  // namespace busbw::tools
