// See report.h.
#include "tools/rank/report.h"

#include <fmt/format.h>

#include "models/collectives/reduction.h"
#include "tools/console.h"
#include "tools/table.h"

namespace busbw::tools {
namespace {

using real::MicroPoint;
using real::PointResult;
using real::SectionResult;

std::string redop_of(const SectionResult& section) {
  return collectives::reduces(section.collective) ? collectives::to_string(section.reduction)
                                                  : "none";
}

std::string section_text(const real::Task& task, const SectionResult& section) {
  const std::vector<Column> columns = {
      {"size", Align::kRight},
      {"count", Align::kRight},
      {"type"},
      {"redop"},
      {"root", Align::kRight},
      {"time(us)", Align::kRight},
      {"algbw", Align::kRight},
      {"busbw", Align::kRight},
      {"#wrong", Align::kRight},
      {"min", Align::kRight},
      {"max", Align::kRight},
      {"algorithm"},
      {"ch", Align::kRight},
  };
  std::vector<std::vector<std::string>> rows;
  for (const PointResult& point : section.points) {
    rows.push_back({fmt::format("{}", point.bytes.count()), fmt::format("{}", point.count),
                    to_string(section.type), redop_of(section), fmt::format("{}", point.root),
                    fmt::format("{:.2f}", point.median_us), fmt::format("{:.3f}", point.algbw_GBps),
                    fmt::format("{:.3f}", point.busbw_GBps), fmt::format("{}", point.wrong),
                    fmt::format("{:.2f}", point.min_us), fmt::format("{:.2f}", point.max_us),
                    collectives::to_string(point.algorithm), fmt::format("{}", point.channels)});
  }
  std::string text =
      fmt::format("\n{}: {} on {} ranks, {}\n", bold(section.title, task.colour),
                  collectives::to_string(section.collective), section.ranks, section.network);
  const real::verbs::Registration& memory = section.registration;
  if (memory.regions > 0) {
    text += fmt::format("memory registered once: {} region{}, {} B, {:.2f} us\n", memory.regions,
                        memory.regions == 1 ? "" : "s", memory.bytes, memory.us);
  }
  text += format_table(columns, rows, task.colour);
  for (const PointResult& point : section.points) {
    if (point.wrong > 0) {
      text += fmt::format("{} {} B: {}\n", red("WRONG", task.colour), point.bytes.count(),
                          point.first_wrong);
    }
  }
  return text;
}

double messages_per_second(const MicroPoint& point) {
  return point.bytes.count() > 0 ? point.GBps * 1e9 / static_cast<double>(point.bytes.count()) : 0;
}

}  // namespace

std::string format_measured(const real::Task& task, const std::vector<SectionResult>& results) {
  std::string text = fmt::format(
      "{} warm-up and {} timed iterations {}, {}; time is their median, of each the slowest rank; "
      "GB/s\n",
      task.warmup, task.iterations, task.barrier ? "after a barrier each" : "back to back",
      task.in_place ? "in place" : "out of place");
  for (const std::string& remark : task.remarks)
    text += remark + "\n";
  for (const SectionResult& section : results)
    text += section_text(task, section);
  return text;
}

std::string format_micro(const real::Task& task, const real::MicroResult& result) {
  const bool stream = result.kind == real::MicroKind::kWriteBandwidth;
  std::vector<Column> columns = {{"bytes", Align::kRight},
                                 {"iterations", Align::kRight},
                                 {"min(us)", Align::kRight},
                                 {"median(us)", Align::kRight},
                                 {"p99(us)", Align::kRight}};
  if (stream) {
    columns.push_back({"GB/s", Align::kRight});
    columns.push_back({"messages/s", Align::kRight});
  }
  std::vector<std::vector<std::string>> rows;
  for (const MicroPoint& point : result.points) {
    std::vector<std::string>& row = rows.emplace_back(std::vector<std::string>{
        fmt::format("{}", point.bytes.count()), fmt::format("{}", point.iterations),
        fmt::format("{:.2f}", point.min_us), fmt::format("{:.2f}", point.median_us),
        fmt::format("{:.2f}", point.p99_us)});
    if (stream) {
      row.push_back(fmt::format("{:.4f}", point.GBps));
      row.push_back(fmt::format("{:.0f}", messages_per_second(point)));
    }
  }
  return fmt::format("{}: {}\n", bold(to_string(result.kind), task.colour), result.network) +
         format_table(columns, rows, task.colour);
}

Value measured_value(const real::Task& task, const std::vector<SectionResult>& results) {
  Value value = Value::object();
  value.set("schema", "busbw.measure/1")
      .set("warmup", task.warmup)
      .set("iterations", task.iterations)
      .set("barrier", task.barrier)
      .set("in_place", task.in_place);
  Value remarks = Value::array();
  for (const std::string& remark : task.remarks)
    remarks.push(remark);
  value.set("remarks", std::move(remarks));
  Value sections = Value::array();
  for (const SectionResult& section : results) {
    Value out = Value::object();
    out.set("title", section.title)
        .set("network", section.network)
        .set("collective", collectives::to_string(section.collective))
        .set("ranks", section.ranks)
        .set("type", to_string(section.type))
        .set("redop", redop_of(section));
    if (section.registration.regions > 0) {
      Value memory = Value::object();
      memory.set("regions", section.registration.regions)
          .set("bytes", section.registration.bytes)
          .set("us", section.registration.us);
      out.set("registration", std::move(memory));
    }
    Value points = Value::array();
    for (const PointResult& point : section.points) {
      Value times = Value::object();
      times.set("min", point.min_us).set("median", point.median_us).set("max", point.max_us);
      Value one = Value::object();
      one.set("bytes", point.bytes.count())
          .set("count", point.count)
          .set("root", point.root)
          .set("algorithm", collectives::to_string(point.algorithm))
          .set("channels", point.channels)
          .set("time_us", std::move(times))
          .set("algbw_GBps", point.algbw_GBps)
          .set("busbw_GBps", point.busbw_GBps)
          .set("wrong", point.wrong);
      points.push(std::move(one));
    }
    out.set("results", std::move(points));
    sections.push(std::move(out));
  }
  value.set("sections", std::move(sections));
  return value;
}

Value micro_value(const real::Task& task, const real::MicroResult& result) {
  Value value = Value::object();
  value.set("schema", "busbw.micro/1")
      .set("benchmark", to_string(result.kind))
      .set("network", result.network)
      .set("warmup", task.warmup);
  const bool stream = result.kind == real::MicroKind::kWriteBandwidth;
  Value points = Value::array();
  for (const MicroPoint& point : result.points) {
    Value one = Value::object();
    one.set("bytes", point.bytes.count())
        .set("iterations", point.iterations)
        .set("min_us", point.min_us)
        .set("median_us", point.median_us)
        .set("p99_us", point.p99_us)
        .set("GBps", stream ? Value(point.GBps) : Value())
        .set("messages_per_s", stream ? Value(messages_per_second(point)) : Value());
    points.push(std::move(one));
  }
  value.set("results", std::move(points));
  return value;
}

}  // namespace busbw::tools
