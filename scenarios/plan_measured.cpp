// Where the ranks of a plan are found in measured parameters.
#include "scenarios/plan_network.h"
#include "sim/core/check.h"

namespace busbw::scenarios {
namespace {

params::MoverKind mover_of(const Variant& variant, transport::Network network) {
  if (network == transport::Network::kSocket) {
    return params::MoverKind::kTcp;
  }
  const auto mover = params::parse_mover_kind(variant.real.method);
  CHECK(mover.has_value(), "method '{}'", variant.real.method);
  return *mover;
}

}  // namespace

void set_measured(const Variant& variant, Plan& plan) {
  if (!variant.parameters) {
    return;
  }
  MeasuredNetwork measured;
  measured.parameters = &*variant.parameters;
  measured.mover = mover_of(variant, plan.wiring.network);
  for (std::size_t rank = 0; rank < plan.shape.host_of.size(); ++rank) {
    const auto host = static_cast<std::size_t>(plan.shape.host_of[rank]);
    // Without devices of its own the variant uses those that NCCL takes.
    measured.end_of_rank.push_back(variant.real.devices.empty()
                                       ? plan.ring_ports.at(rank).at(0).device
                                       : variant.real.devices.at(host));
  }
  // Every end once against the first rank of another host: all problems before anything is played.
  for (std::size_t rank = 0; rank < measured.end_of_rank.size(); ++rank) {
    if (plan.shape.host_of[rank] != plan.shape.host_of[0]) {
      static_cast<void>(params::link_between(*measured.parameters, measured.end_of_rank[0],
                                             measured.end_of_rank[rank], measured.mover));
    }
  }
  plan.measured = std::move(measured);
}

}  // namespace busbw::scenarios
