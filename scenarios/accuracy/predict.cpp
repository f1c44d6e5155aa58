// See predict.h.
#include "scenarios/accuracy/predict.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "scenarios/accuracy/describe_nic.h"
#include "scenarios/candidate_runs.h"
#include "scenarios/job.h"
#include "scenarios/plan.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::scenarios::accuracy {
namespace {

/// Larger jobs take minutes a size.
constexpr std::int32_t kMostPlayed = 128;

std::string number(const std::optional<std::int32_t>& value) {
  return value ? std::to_string(*value) : "-";
}
std::string rate(const std::optional<Bandwidth>& value) {
  return value ? std::to_string(value->bps()) : "-";
}
std::string flag(const std::optional<bool>& value) {
  return value ? (*value ? "1" : "0") : "-";
}

/// All that a prediction depends on, as one text: equal systems share their answers.
std::string key_of(const Record& record) {
  const RecordSystem& system = record.system;
  const RecordNic& nic = system.nic;
  std::vector<std::string> parts = {record.kind,
                                    record.collective,
                                    record.nccl_version,
                                    record.algorithm,
                                    system.gpu,
                                    number(system.gpus_per_node),
                                    number(system.nodes),
                                    number(system.ranks),
                                    system.intra.nvlink,
                                    system.intra.nv_switch,
                                    system.intra.kind,
                                    system.intra.other,
                                    rate(system.intra.per_pair),
                                    flag(system.intra.p2p),
                                    nic.type,
                                    nic.link,
                                    number(nic.count),
                                    rate(nic.rate),
                                    flag(nic.gdr),
                                    flag(nic.sharp),
                                    std::to_string(nic.mtu.value_or(0)),
                                    std::to_string(nic.reported_speed_mbit.value_or(0)),
                                    system.pcie,
                                    system.cpu};
  for (const RecordInterface& interface : nic.interfaces) {
    parts.push_back(interface.name + "=" + rate(interface.shaped));
  }
  for (const auto& [name, value] : system.conditions) {
    parts.push_back(fmt::format("{}={}", name, value));
  }
  for (const auto& [name, value] : record.environment) {
    parts.push_back(fmt::format("{}={}", name, value));
  }
  if (record.slow_link) {
    parts.push_back(fmt::format("slow {} {} {}", record.slow_link->host, record.slow_link->nic,
                                record.slow_link->rate.bps()));
  }
  return join(parts, "\n");
}

std::string one_line(const InputError& error) {
  std::vector<std::string> messages;
  for (const InputProblem& problem : error.problems()) {
    messages.push_back(problem.message);
  }
  return join(messages, "; ");
}

}  // namespace

Predictor::Known& Predictor::known(const Record& record) {
  const auto [entry, fresh] = systems_.try_emplace(key_of(record));
  if (fresh) {
    entry->second.built = build_system(record, library_);
    if (entry->second.built.modelled) {
      make_ready(entry->second);
    }
  }
  return entry->second;
}

/// A job that NCCL refuses is an answer about one record, not about the file.
void Predictor::make_ready(Known& known) const {
  BuiltSystem& built = known.built;
  const Variant& variant = built.variant;
  try {
    const Job job = decide(variant, context_.catalog);
    if (job.selection.outcome != nccl::Outcome::kRuns) {
      built.reason = "NCCL does not run there: " + job.selection.error.value_or("");
    } else {
      known.plan = make_plan(variant, job);
      known.runs.emplace(variant, *known.plan, context_, engine_);
      if (played_ranks(*known.plan) > kMostPlayed) {
        built.reason = fmt::format("{} ranks, of which {} would have to be played, more than {}",
                                   job.graph->comm.ranks, played_ranks(*known.plan), kMostPlayed);
      }
    }
  } catch (const InputError& error) {
    built.reason = one_line(error);
  }
  built.modelled = built.reason.empty();
}

const BuiltSystem& Predictor::system(const Record& record) {
  return known(record).built;
}

Prediction Predictor::simulate_one(Known& known, Bytes bytes) {
  Prediction prediction;
  try {
    SizeResult result = known.runs->run(bytes);
    if (result.chosen.failure) {
      prediction.reason = failure_text(result);
    } else {
      prediction.result = std::move(result);
    }
  } catch (const InputError& error) {
    prediction.reason = one_line(error);
  }
  return prediction;
}

const Prediction& Predictor::predict(const Record& record, Bytes bytes) {
  Known& found = known(record);
  CHECK(found.plan.has_value(), "record '{}' is not modelled", record.id);
  const auto [entry, fresh] = found.sizes.try_emplace(bytes);
  if (fresh) {
    entry->second = simulate_one(found, bytes);
  }
  return entry->second;
}

std::optional<double> card_rate(const Record& record, const Context& context, std::string& reason) {
  const NicDescription described = describe_nic(record.system, 2, context.catalog);
  const NicFacts& nic = described.facts;
  const bool rdma = nic.carrier == Carrier::kInfiniBand || nic.carrier == Carrier::kRoce;
  if (!described.reason.empty() || nic.model == nullptr || !rdma) {
    reason = described.reason.empty() ? "no RDMA card is named" : described.reason;
    return std::nullopt;
  }
  constexpr std::int64_t kPathMtu = 4096;
  constexpr std::int64_t kJumbo = 9000;
  const params::Transports& transports = context.transports;
  const Ratio wire =
      nic.carrier == Carrier::kRoce
          ? params::roce_share(transports.roce, record.system.nic.mtu.value_or(kJumbo), false)
          : params::infiniband_share(transports.infiniband, kPathMtu);
  const topologies::PcieGeneration* slot =
      context.catalog.pcie_generation(nic.model->pcie_generation);
  CHECK(slot != nullptr, "PCIe generation {}", nic.model->pcie_generation);
  const Bandwidth bus =
      topologies::pcie_bandwidth(*slot, nic.model->pcie_lanes) * transports.pcie_share.share;
  return std::min(nic.rate * wire, bus).as_gigabytes_per_second();
}

}  // namespace busbw::scenarios::accuracy
