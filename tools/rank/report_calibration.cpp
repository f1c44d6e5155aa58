// The parameters of a calibration as a table and as JSON.
#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/core/text.h"
#include "tools/console.h"
#include "tools/rank/report.h"
#include "tools/table.h"

namespace busbw::tools {
namespace {

using params::MeasuredLink;

std::string us(Duration time) {
  return fmt::format("{:.2f}", time.as_us());
}

/// MB/s, or "-" for a rate that was not found.
std::string mbps(const std::optional<Bandwidth>& rate) {
  return rate ? fmt::format("{:.3f}", rate->as_gigabytes_per_second() * 1e3) : "-";
}

Value gbps(const std::optional<Bandwidth>& rate) {
  return rate ? Value(rate->as_gigabytes_per_second()) : Value();
}

Value link_value(const MeasuredLink& link) {
  Value value = Value::object();
  value.set("from", link.from)
      .set("to", link.to)
      .set("mover", to_string(link.mover))
      .set("latency_us", link.latency.as_us())
      .set("send_overhead_us", link.send_overhead.as_us())
      .set("receive_overhead_us", link.receive_overhead.as_us())
      .set("send_GBps", gbps(link.send_rate))
      .set("receive_GBps", gbps(link.receive_rate))
      .set("gap_us", link.gap.as_us())
      .set("bandwidth_GBps", link.bandwidth.as_gigabytes_per_second())
      .set("burst_bytes", link.burst.count())
      .set("staging_GBps", gbps(link.staging));
  Value samples = Value::array();
  for (const params::Samples& row : link.samples) {
    Value one = Value::object();
    one.set("benchmark", row.benchmark)
        .set("bytes", row.bytes.count())
        .set("count", row.count)
        .set("min_us", row.min.as_us())
        .set("median_us", row.median.as_us())
        .set("p99_us", row.p99.as_us());
    samples.push(std::move(one));
  }
  value.set("samples", std::move(samples));
  return value;
}

}  // namespace

std::string format_calibration(const real::Task& task, const params::Measured& measured) {
  std::string text = measured.source + "\n";
  for (const params::MeasuredMachine& machine : measured.machines) {
    text += fmt::format("{}: {} at {}\n", machine.name, join(machine.ends, ", "),
                        machine.processors == 1 ? std::string("one processor, which they share")
                                                : fmt::format("{} processors", machine.processors));
  }
  const std::vector<Column> columns = {{"from"},
                                       {"to"},
                                       {"mover"},
                                       {"L(us)", Align::kRight},
                                       {"o send(us)", Align::kRight},
                                       {"o recv(us)", Align::kRight},
                                       {"g(us)", Align::kRight},
                                       {"1/G(MB/s)", Align::kRight},
                                       {"burst(B)", Align::kRight},
                                       {"send(MB/s)", Align::kRight},
                                       {"recv(MB/s)", Align::kRight},
                                       {"staging(MB/s)", Align::kRight}};
  std::vector<std::vector<std::string>> rows;
  for (const MeasuredLink& link : measured.links) {
    rows.push_back({link.from, link.to, to_string(link.mover), us(link.latency),
                    us(link.send_overhead), us(link.receive_overhead), us(link.gap),
                    mbps(link.bandwidth), fmt::format("{}", link.burst.count()),
                    mbps(link.send_rate), mbps(link.receive_rate), mbps(link.staging)});
  }
  return text + format_table(columns, rows, task.colour);
}

Value calibration_value(const params::Measured& measured) {
  Value value = Value::object();
  value.set("schema", "busbw.calibrate/1").set("source", measured.source);
  Value machines = Value::array();
  for (const params::MeasuredMachine& machine : measured.machines) {
    Value ends = Value::array();
    for (const std::string& end : machine.ends)
      ends.push(end);
    Value one = Value::object();
    one.set("name", machine.name).set("processors", machine.processors);
    one.set("ends", std::move(ends));
    machines.push(std::move(one));
  }
  Value links = Value::array();
  for (const MeasuredLink& link : measured.links)
    links.push(link_value(link));
  value.set("machines", std::move(machines)).set("links", std::move(links));
  return value;
}

}  // namespace busbw::tools
