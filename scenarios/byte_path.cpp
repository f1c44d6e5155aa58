// See byte_path.h: the connection that the simulator would use, taken apart.
#include "scenarios/byte_path.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "models/transport/layers.h"
#include "models/transport/wiring.h"
#include "scenarios/job.h"
#include "scenarios/plan.h"
#include "scenarios/play_candidate.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"

namespace busbw::scenarios {
namespace {

/// The variant with its job as a plain exchange of two ranks over the catalogue's network.
Variant as_exchange(Variant variant) {
  variant.workload.collective = collectives::Collective::kSendRecv;
  variant.workload.algorithm.reset();
  variant.parameters.reset();
  return variant;
}

transport::WiringOptions wiring_of(const Stage& stage) {
  const params::ThreadBlocks& blocks = stage.context.transports.blocks;
  const params::BlockSpeed& block = params::block_speed(blocks, stage.sm);
  transport::WiringOptions options = stage.plan.wiring;
  options.protocol = params::Protocol::kSimple;
  options.pair_ports = stage.plan.pair_ports;
  options.nvlink_share = block.nvlink_share;
  options.slower = block.slower[static_cast<std::size_t>(options.protocol)];
  return options;
}

/// Who moves the bytes of a leg that is neither of a GPU's kernel.
std::string carrier_of(const transport::Connection& connection) {
  return connection.transport == "socket" ? "TCP, by proxy thread and kernel" : "RDMA by the NIC";
}

class Collector {
 public:
  Collector(const engine::Engine& engine, const topologies::Fabric& fabric, Ratio share)
      : engine_(engine), fabric_(fabric), share_(share) {
    for (std::size_t index = 0; index < fabric.link_count(); ++index) {
      const topologies::LinkId id(static_cast<std::int32_t>(index));
      links_.emplace(fabric.link(id).name, id);
    }
  }

  void add(const std::vector<engine::LinkId>& leg, const std::string& carrier) {
    for (const engine::LinkId id : leg) {
      PathHop hop;
      const std::string& name = engine_.name(id);
      hop.layer = to_string(transport::layer_of(name));
      hop.carrier = carrier;
      hop.payload = engine_.capacity(id) * share_;
      const auto known = links_.find(name);
      if (known != links_.end()) {
        const topologies::Link& link = fabric_.link(known->second);
        hop.from = fabric_.node(link.from).name;
        hop.to = fabric_.node(link.to).name;
        hop.over = to_string(link.kind);
        hop.rate = link.capacity;
        hop.latency = link.latency;
      } else {
        hop.over = name;
      }
      path_.hops.push_back(std::move(hop));
    }
  }

  /// What is no link: the limit of a connection's sockets, and the time of posting and noticing.
  BytePath finish(const transport::Connection& connection, const std::string& carrier) {
    const bool network = connection.carried;
    if (connection.rate_cap) {
      PathHop cap;
      cap.layer = to_string(transport::Layer::kProtocol);
      cap.over = "sockets of one connection";
      cap.carrier = carrier;
      cap.payload = connection.rate_cap;
      path_.hops.push_back(std::move(cap));
    }
    Duration of_links;
    for (const PathHop& hop : path_.hops) {
      of_links += hop.latency;
    }
    PathHop end;
    end.layer = to_string(network ? transport::Layer::kProtocol : transport::Layer::kCollective);
    end.over = "posting and noticing";
    end.carrier = network ? carrier : "GPU kernels of both ranks";
    end.latency = connection.latency - of_links;
    path_.hops.push_back(std::move(end));
    path_.transport = connection.transport;
    path_.latency = connection.latency;
    path_.payload = Bandwidth::bits_per_second(std::numeric_limits<std::int64_t>::max());
    for (const PathHop& hop : path_.hops) {
      path_.payload = std::min(path_.payload, hop.payload.value_or(path_.payload));
    }
    return std::move(path_);
  }

 private:
  const engine::Engine& engine_;
  const topologies::Fabric& fabric_;
  Ratio share_;
  std::map<std::string, topologies::LinkId> links_;  // the engine's have the same names
  BytePath path_;
};

}  // namespace

BytePath byte_path(const Variant& variant, const Context& context, const BytePathEnds& ends) {
  CHECK(ends.from != ends.to, "rank {}", ends.from.value());
  const Variant exchange = as_exchange(variant);
  const Job job = decide(exchange, context.catalog);
  if (!job.graph) {
    throw InputError(fmt::format("variant '{}' does not run: {}", variant.name,
                                 job.selection.error.value_or("no reason given")));
  }
  const Plan plan = make_plan(exchange, job);
  const Stage stage(exchange, plan, context, engine::Kind::kFluid);
  const std::unique_ptr<engine::Engine> engine = engine::make_engine(stage.engine);
  transport::Wiring wiring(*engine, exchange.cluster, stage.built, context.transports,
                           wiring_of(stage));
  const transport::Connection connection = wiring.connect(ends.from, ends.to, ends.channel);
  Collector collector(*engine, stage.built.fabric, connection.share);
  const std::string carrier = carrier_of(connection);
  collector.add(connection.fill, fmt::format("GPU kernel of rank {}", ends.from.value()));
  collector.add(connection.path, carrier);
  collector.add(connection.drain, fmt::format("GPU kernel of rank {}", ends.to.value()));
  return collector.finish(connection, carrier);
}

}  // namespace busbw::scenarios
