// See command_micro.h.
#include "tools/command_micro.h"

#include <fmt/format.h>

#include "sim/core/text.h"
#include "tools/start_ranks.h"

namespace busbw::tools {
namespace {

/// From one byte to 64 KiB, and to 8 MiB for bandwidth.
std::vector<Bytes> default_sizes(real::MicroKind kind) {
  std::vector<Bytes> sizes;
  const std::int64_t last = kind == real::MicroKind::kWriteBandwidth ? 8 << 20 : 64 << 10;
  for (std::int64_t size = 1; size <= last; size *= 4)
    sizes.emplace_back(size);
  return sizes;
}

/// HOST:PORT or [V6]:PORT.
struct Endpoint {
  std::string host;
  std::int64_t port = 1;
};
Endpoint read_endpoint(const std::string& text, Problems& problems) {
  Endpoint endpoint;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    problems.add({}, fmt::format("--connect '{}' is not of the form HOST:PORT", text));
    return endpoint;
  }
  endpoint.host = text.substr(0, colon);
  if (endpoint.host.front() == '[' && endpoint.host.back() == ']')
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  endpoint.port = read_number("--connect, port", text.substr(colon + 1), 1, 65535, problems);
  return endpoint;
}

}  // namespace

real::VerbsMethod read_method(const std::string& text, Problems& problems) {
  for (const real::VerbsMethod method :
       {real::VerbsMethod::kWrite, real::VerbsMethod::kRead, real::VerbsMethod::kSend}) {
    if (lower(to_string(method)) == lower(text))
      return method;
  }
  problems.add({}, fmt::format("unknown method '{}'; allowed: 'write', 'read' or 'send'{}", text,
                               did_you_mean(lower(text), {"write", "read", "send"})));
  return real::VerbsMethod::kWrite;
}

int micro(const MicroOptions& options, Console& console) {
  Problems problems;
  real::Task task = read_task(options.real, console.colour_out, problems);
  real::MicroOrder& order = task.micro.emplace();
  order.kind = options.kind;
  order.network = read_network(options.real, {}, real::NetworkKind::kVerbs, problems);
  order.network.method = read_method(options.method, problems);
  if (order.network.kind == real::NetworkKind::kVerbs ||
      order.network.kind == real::NetworkKind::kSocket)
    order.network.shared_inside = false;
  const bool rdma_alone = options.kind == real::MicroKind::kReadLatency;
  if (rdma_alone && order.network.kind != real::NetworkKind::kVerbs) {
    problems.add(
        {}, "read-lat reads by RDMA: its network is 'verbs', found '" + options.real.network + "'");
  }
  order.sizes = read_sizes(options.real, problems);
  if (order.sizes.empty())
    order.sizes = default_sizes(options.kind);
  order.depth = static_cast<std::int32_t>(read_number("--depth", options.depth, 1, 4096, problems));
  if (!options.server.empty() && !options.connect.empty())
    problems.add({}, "--server and --connect are the two sides: give one of them");
  std::map<std::string, std::string> place;
  if (!options.server.empty()) {
    const std::int64_t port = read_number("--server", options.server, 1, 65535, problems);
    place = {{"RANK", "0"}, {"MASTER_ADDR", "0.0.0.0"}, {"MASTER_PORT", std::to_string(port)}};
  } else if (!options.connect.empty()) {
    const Endpoint server = read_endpoint(options.connect, problems);
    place = {
        {"RANK", "1"}, {"MASTER_ADDR", server.host}, {"MASTER_PORT", std::to_string(server.port)}};
  }
  problems.throw_if_any();
  if (!place.empty()) {
    place["WORLD_SIZE"] = "2";
    become_rank(task, place);
  }
  if (launched_place())
    become_rank(task, {});
  return run_here(task, 2, console);
}

}  // namespace busbw::tools
