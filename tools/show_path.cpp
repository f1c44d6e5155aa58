// See show_path.h.
#include "tools/show_path.h"

#include <algorithm>

#include <fmt/format.h>

#include "scenarios/byte_path.h"
#include "sim/core/text.h"
#include "sim/core/value.h"
#include "tools/exit_codes.h"
#include "tools/files.h"
#include "tools/json/json.h"
#include "tools/table.h"
#include "topologies/catalog_tables.h"

namespace busbw::tools {
namespace {

using scenarios::BytePath;
using scenarios::PathHop;
using topologies::table_number;

constexpr std::int64_t kMostChannels = 64;  // NCCL 2.30, src/include/device.h, MAXCHANNELS

struct End {
  std::size_t host = 0;
  std::size_t gpu = 0;
};

std::size_t gpus(const scenarios::Variant& variant, std::size_t host) {
  return variant.cluster.hosts[host].gpus.size();
}

RankId rank_of(const scenarios::Variant& variant, const End& end) {
  std::size_t rank = end.gpu;
  for (std::size_t before = 0; before < end.host; ++before) {
    rank += gpus(variant, before);
  }
  return RankId(static_cast<std::int32_t>(rank));
}

/// "node0:3" or "0:3".
End read_end(const scenarios::Variant& variant, const std::string& text, const char* option,
             Problems& problems) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    problems.add({}, fmt::format("{} '{}' is not of the form HOST:GPU", option, text));
    return {};
  }
  End end;
  end.host = find_host(variant, text.substr(0, colon), option, problems);
  const std::optional<std::int64_t> gpu = parse_integer(text.substr(colon + 1));
  const std::size_t count = gpus(variant, end.host);
  if (!gpu || *gpu < 0 || *gpu >= static_cast<std::int64_t>(count)) {
    problems.add({}, fmt::format("{} '{}': no GPU '{}'; allowed: 0 to {}", option, text,
                                 text.substr(colon + 1), count - 1));
    return end;
  }
  end.gpu = static_cast<std::size_t>(*gpu);
  return end;
}

/// The same GPU of the next host; on one host the next GPU.
End next_end(const scenarios::Variant& variant, const End& from) {
  const std::size_t hosts = variant.cluster.hosts.size();
  End to{(from.host + 1) % hosts, from.gpu};
  if (hosts == 1) {
    to.gpu = (from.gpu + 1) % gpus(variant, from.host);
  }
  to.gpu = std::min(to.gpu, gpus(variant, to.host) - 1);
  return to;
}

std::int32_t read_channel(const std::string& text, Problems& problems) {
  const std::optional<std::int64_t> channel = parse_integer(text.empty() ? "0" : text);
  if (!channel || *channel < 0 || *channel >= kMostChannels) {
    problems.add({}, fmt::format("--channel '{}'; allowed: 0 to {}", text, kMostChannels - 1));
    return 0;
  }
  return static_cast<std::int32_t>(*channel);
}

std::string rate_text(const std::optional<Bandwidth>& rate) {
  return rate ? table_number(rate->as_gigabytes_per_second()) : "-";
}

std::string table_of(const BytePath& path, bool colour) {
  const std::vector<std::string> titles = {"hop",  "layer",   "from", "to", "over",    "by",
                                           "GB/s", "payload", "",     "us", "total us"};
  std::vector<std::vector<std::string>> rows;
  Duration total;
  for (const PathHop& hop : path.hops) {
    total += hop.latency;
    rows.push_back({std::to_string(rows.size() + 1), hop.layer, hop.from.empty() ? "-" : hop.from,
                    hop.to.empty() ? "-" : hop.to, hop.over, hop.carrier, rate_text(hop.rate),
                    rate_text(hop.payload), hop.payload == path.payload ? "*" : "",
                    table_number(hop.latency.as_us()), table_number(total.as_us())});
  }
  return format_table(numbers_right(titles, rows), rows, colour);
}

std::string end_text(const scenarios::Variant& variant, const End& end) {
  return fmt::format("{} GPU {} (rank {})", variant.inventories[end.host].host, end.gpu,
                     rank_of(variant, end).value());
}

Value end_value(const scenarios::Variant& variant, const End& end) {
  return Value::object()
      .set("host", variant.inventories[end.host].host)
      .set("gpu", static_cast<std::int64_t>(end.gpu))
      .set("rank", static_cast<std::int64_t>(rank_of(variant, end).value()));
}

Value rate_value(const std::optional<Bandwidth>& rate) {
  return rate ? Value(rate->as_gigabytes_per_second()) : Value();
}

Value hops_value(const BytePath& path) {
  Value hops = Value::array();
  for (const PathHop& hop : path.hops) {
    const auto name = [](const std::string& text) { return text.empty() ? Value() : Value(text); };
    hops.push(Value::object()
                  .set("layer", hop.layer)
                  .set("from", name(hop.from))
                  .set("to", name(hop.to))
                  .set("over", hop.over)
                  .set("by", hop.carrier)
                  .set("rate_GBps", rate_value(hop.rate))
                  .set("payload_GBps", rate_value(hop.payload))
                  .set("latency_us", hop.latency.as_us()));
  }
  return hops;
}

}  // namespace

std::size_t find_host(const scenarios::Variant& variant, const std::string& text,
                      const char* option, Problems& problems) {
  std::vector<std::string> names;
  for (const nccl::Inventory& inventory : variant.inventories) {
    if (inventory.host == text) {
      return names.size();
    }
    names.push_back(inventory.host);
  }
  const std::optional<std::int64_t> number = parse_integer(text);
  if (number && *number >= 0 && *number < static_cast<std::int64_t>(names.size())) {
    return static_cast<std::size_t>(*number);
  }
  constexpr std::size_t kListed = 8;
  const std::string last = names.back();
  const std::string allowed = names.size() > kListed
                                  ? fmt::format("'{}' to '{}'", names.front(), last)
                                  : quoted_list(names);
  problems.add({}, fmt::format("{}: no host '{}'; allowed: 0 to {}, or {}{}", option, text,
                               names.size() - 1, allowed, did_you_mean(text, names)));
  return 0;
}

int show_path(const PathRequest& request, Problems& problems, Console& console) {
  const scenarios::Variant& variant = request.variant;
  const ShowOptions& options = request.options;
  const End from = options.from.empty() ? End{request.host, 0}
                                        : read_end(variant, options.from, "--from", problems);
  const End to = options.to.empty() ? next_end(variant, from)
                                    : read_end(variant, options.to, "--to", problems);
  const std::int32_t channel = read_channel(options.channel, problems);
  if (problems.empty() && from.host == to.host && from.gpu == to.gpu) {
    problems.add({}, "the path begins and ends at " + end_text(variant, from) +
                         "; name two GPUs by --from and --to");
  }
  problems.throw_if_any();
  const BytePath path =
      scenarios::byte_path(variant, {request.file.library.catalog, request.file.transports},
                           {rank_of(variant, from), rank_of(variant, to), ChannelId(channel)});
  const std::string json =
      options.json.empty()
          ? ""
          : json::print(Value::object()
                            .set("schema", "busbw.show-path/1")
                            .set("variant", variant.name)
                            .set("from", end_value(variant, from))
                            .set("to", end_value(variant, to))
                            .set("channel", static_cast<std::int64_t>(channel))
                            .set("transport", path.transport)
                            .set("payload_GBps", path.payload.as_gigabytes_per_second())
                            .set("latency_us", path.latency.as_us())
                            .set("hops", hops_value(path)));
  if (options.json == "-") {
    console.out << json;
    return kExitDone;
  }
  if (!options.json.empty()) {
    write_file(options.json, json);
  }
  console.out << fmt::format("{} -> {}, channel {}, by {}: {} GB/s of payload, {} us\n\n",
                             end_text(variant, from), end_text(variant, to), channel,
                             path.transport, rate_text(path.payload),
                             table_number(path.latency.as_us()))
              << table_of(path, console.colour_out);
  return kExitDone;
}

}  // namespace busbw::tools
