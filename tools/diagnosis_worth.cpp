// See diagnosis_worth.h.
#include "tools/diagnosis_worth.h"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "models/diagnosis/fix.h"
#include "models/params/params.h"
#include "scenarios/accuracy/predict.h"
#include "scenarios/worth.h"
#include "sim/core/text.h"
#include "tools/data_path.h"
#include "tools/found_system.h"

namespace busbw::tools {
namespace {

using facts::Fact;
using facts::FactStore;
using scenarios::accuracy::Record;

constexpr double kMostRate = 10'000'000;  // Mb/s; more is no port's
constexpr double kLeastGain = 1.02;       // less is within what a run repeats
constexpr int kMostAsked = 4;             // findings, the likeliest first: each is played twice

bool is_of_sockets(const diagnosis::Finding& finding) {
  static constexpr std::string_view kKinds[] = {"wrong_interface",  "ib_disabled",
                                                "socket_fallback",  "no_ib_in_container",
                                                "ib_hca_selection", "plugin_missing"};
  return std::find(std::begin(kKinds), std::end(kKinds), finding.kind) != std::end(kKinds);
}

/// "8x" -> "8".
std::string digits_of(std::string_view text) {
  const std::size_t first = text.find_first_of("0123456789");
  const std::size_t end = text.find_first_not_of("0123456789", first);
  return first == std::string_view::npos ? "" : std::string(text.substr(first, end - first));
}

std::optional<Fact> first_of(const FactStore& store, std::string_view name) {
  const std::vector<const Fact*> facts = store.named(name);
  return facts.empty() ? std::nullopt : std::optional<Fact>(*facts.front());
}

/// Rate in Mb/s that the files give for an interface.
std::optional<double> speed_of(const FactStore& store, std::string_view interface) {
  for (const Fact* fact : store.named("eth.speed")) {
    if (fact->get("name") == interface) {
      return parse_number(fact->get("mbps"));
    }
  }
  return std::nullopt;
}

std::optional<Bandwidth> bandwidth(std::optional<double> mbps) {
  if (!mbps || *mbps < 1 || *mbps > kMostRate) {
    return std::nullopt;
  }
  return Bandwidth::megabits_per_second(static_cast<std::int64_t>(*mbps));
}

/// The rate of the port, or of its interface where a list gives a lower one.
std::optional<Bandwidth> hca_rate(const FactStore& store, const Fact& seen) {
  const std::optional<double> gbps = parse_number(seen.get("rate"));
  const std::optional<double> port = gbps ? std::optional<double>(*gbps * 1000) : std::nullopt;
  const std::optional<double> listed = speed_of(store, seen.get("rdma_interface"));
  if (port && listed) {
    return bandwidth(std::min(*port, *listed));
  }
  return bandwidth(port ? port : listed);
}

struct Question {
  scenarios::SocketJob job;
  double measured = 0;  // algorithm bandwidth, GB/s
};

std::optional<Question> question_of(const FactStore& store) {
  const std::optional<Fact> seen = first_of(store, "is.socket_beside_rdma");
  std::optional<Fact> row;
  for (const Fact* fact : store.named("test.row")) {
    const bool larger = !row || parse_number(fact->get("bytes")).value_or(0) >
                                    parse_number(row->get("bytes")).value_or(0);
    row = larger ? *fact : row;
  }
  const std::optional<FoundRanks> ranks = found_ranks(store);
  if (!seen || !row || !ranks || ranks->hosts < 2) {
    return std::nullopt;
  }
  const std::optional<Bandwidth> socket = bandwidth(speed_of(store, seen->get("interface")));
  const std::optional<Bandwidth> hca = hca_rate(store, *seen);
  const std::int64_t bytes = parse_integer(row->get("bytes")).value_or(0);
  const double measured = parse_number(row->get("algbw")).value_or(0);
  if (!socket || !hca || bytes < 1 || bytes > (std::int64_t{1} << 40) || measured <= 0) {
    return std::nullopt;
  }
  Question question;
  question.job.hosts = ranks->hosts;
  question.job.gpus = ranks->gpus;
  question.job.interface = std::string(seen->get("interface"));
  question.job.socket_rate = *socket;
  question.job.hca_rate = *hca;
  question.job.bytes = Bytes(bytes);
  if (const std::optional<Fact> version = first_of(store, "nccl.version")) {
    const auto known = nccl::parse_version(std::string(version->get("version")));
    const bool examined = known && *known >= nccl::kOldest && *known <= nccl::kNewest;
    question.job.version = examined ? *known : nccl::kNewest;
  }
  question.measured = measured;
  return question;
}

/// Data that goes over sockets although an HCA is there.
std::optional<diagnosis::Worth> worth_of_sockets(const FactStore& store,
                                                 const scenarios::Library& library,
                                                 const scenarios::Context& context) {
  const std::optional<Question> question = question_of(store);
  if (!question) {
    return std::nullopt;
  }
  const std::optional<scenarios::SocketWorth> worth =
      scenarios::worth_of_rdma(question->job, library, context);
  if (!worth) {
    return std::nullopt;
  }
  diagnosis::Worth expected;
  expected.before = question->measured;
  expected.after = question->measured * worth->rdma_algbw_GBps / worth->sockets_algbw_GBps;
  expected.from_before =
      fmt::format("algbw as measured; predicted {:.2f}", worth->sockets_algbw_GBps);
  expected.from_after = fmt::format("measured x predicted ratio; predicted {:.2f}, GPUs as in {}",
                                    worth->rdma_algbw_GBps, worth->machine);
  return expected;
}

/// What the finding's kind says of the system: `found` as it must have been, the answer as it is
/// after the fix. Nothing where the model has no difference.
std::optional<Record> fixed_system(const diagnosis::Finding& finding, const FactStore& store,
                                   Record& found) {
  Record fixed = found;
  scenarios::accuracy::RecordSystem& now = found.system;
  scenarios::accuracy::RecordSystem& then = fixed.system;
  if (finding.kind == "gdr_off") {
    if (now.nic.gdr.value_or(false)) {
      return std::nullopt;  // some connections have it: nothing says that it is off everywhere
    }
    now.nic.gdr = false;
    then.nic.gdr = true;
    for (const char* switched_off : {"NCCL_NET_GDR_LEVEL", "NCCL_IB_CUDA_SUPPORT"}) {
      fixed.environment.erase(switched_off);
    }
  } else if (finding.kind == "acs_iommu") {
    then.conditions.erase("acs");
    then.conditions.erase("iommu");
  } else if (finding.kind == "pcie_downgraded") {
    const std::optional<Fact> narrow = first_of(store, "is.pcie_narrow");
    if (!narrow) {
      return std::nullopt;
    }
    now.pcie = "PCIe x" + digits_of(narrow->get("width"));
    then.pcie = "PCIe x" + digits_of(narrow->get("max"));
  } else if (finding.kind == "container_partial_hca" || finding.kind == "ib_hca_selection" ||
             finding.kind == "link_down") {
    then.nic.count = found_ports(store).there;
  }
  diagnosis::apply_fix(finding.fix, fixed.environment);
  return fixed;
}

std::string figures(const scenarios::SizeResult& size) {
  return fmt::format("{:.2f}, {} {}", size.busbw_GBps, to_string(size.chosen.algorithm),
                     to_string(size.chosen.protocol));
}

/// The found system and the fixed one, played.
std::optional<diagnosis::Worth> worth_on_model(const diagnosis::Finding& finding,
                                               const FactStore& store,
                                               const scenarios::Library& library,
                                               const scenarios::Context& context) {
  std::optional<Record> found = found_system(store, library);
  const std::optional<Record> fixed =
      found ? fixed_system(finding, store, *found) : std::optional<Record>();
  if (!fixed) {
    return std::nullopt;
  }
  scenarios::accuracy::Predictor predictor(library, context, {});
  if (!predictor.system(*found).modelled || !predictor.system(*fixed).modelled) {
    return std::nullopt;
  }
  const scenarios::accuracy::RecordPoint& point = found->points.front();
  const auto& before = predictor.predict(*found, *point.bytes).result;
  const auto& after = predictor.predict(*fixed, *point.bytes).result;
  if (!before || !after || after->busbw_GBps < before->busbw_GBps * kLeastGain) {
    return std::nullopt;
  }
  const std::string size = to_string(*point.bytes);
  const std::string note = found->notes.empty() ? "" : "; " + found->notes;
  const double ratio = after->busbw_GBps / before->busbw_GBps;
  diagnosis::Worth expected;
  if (point.busbw_GBps.value_or(0) > 0) {
    expected.before = *point.busbw_GBps;
    expected.after = expected.before * ratio;
    expected.from_before =
        fmt::format("busbw at {} as measured; predicted {}", size, figures(*before));
    expected.from_after =
        fmt::format("measured x predicted ratio; predicted {}{}", figures(*after), note);
  } else {
    expected.before = before->busbw_GBps;
    expected.after = after->busbw_GBps;
    expected.from_before =
        fmt::format("busbw of {} at {} as predicted, {} {}", found->collective, size,
                    to_string(before->chosen.algorithm), to_string(before->chosen.protocol));
    expected.from_after = fmt::format("predicted, {} {}{}", to_string(after->chosen.algorithm),
                                      to_string(after->chosen.protocol), note);
  }
  return expected;
}

}  // namespace

void add_worth(std::vector<diagnosis::Finding>& findings, const FactStore& store) {
  if (findings.empty() || !found_ranks(store)) {
    return;
  }
  const DataPath data = find_data(process_query());
  Problems problems;
  const scenarios::Library library = scenarios::load_library(data.catalog(), problems);
  const params::Transports transports = params::load_transports(data.catalog(), problems);
  problems.throw_if_any();
  const scenarios::Context context{library.catalog, transports};
  int asked = 0;
  for (diagnosis::Finding& finding : findings) {
    if (!finding.expected.empty() || asked == kMostAsked) {
      continue;
    }
    asked++;
    const bool sockets = is_of_sockets(finding) && store.has("is.socket_beside_rdma");
    const std::optional<diagnosis::Worth> worth =
        sockets ? worth_of_sockets(store, library, context)
                : worth_on_model(finding, store, library, context);
    if (worth) {
      finding.expected = {*worth};
    }
  }
}

}  // namespace busbw::tools
