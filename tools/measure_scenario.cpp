// Sections of `busbw measure` from a scenario: the plan that the simulator plays, size by size.
#include <fmt/format.h>

#include "models/collectives/reduction.h"
#include "scenarios/cut.h"
#include "scenarios/plan.h"
#include "sim/core/text.h"
#include "tools/command_measure.h"
#include "tools/command_micro.h"

namespace busbw::tools {
namespace {

/// What NCCL's choice for the variant is here. A plugin that does not exist here is refused.
real::NetworkKind kind_of(const scenarios::Variant& variant, const scenarios::Job& job) {
  const std::optional<std::string>& network = job.selection.hosts.front().network;
  if (network == "IB")
    return real::NetworkKind::kVerbs;
  if (network == "Socket")
    return real::NetworkKind::kSocket;
  if (!network)
    return real::NetworkKind::kAuto;
  throw InputError({{variant.where,
                     fmt::format("variant '{}' runs over the plugin '{}', which real mode does not "
                                 "have; --network verbs, tcp or shm takes another",
                                 variant.name, *network)}});
}

void add_points(const scenarios::Plan& plan, const scenarios::Variant& variant,
                const std::vector<Bytes>& sizes, real::Section& section) {
  for (const Bytes asked : sizes) {
    const Bytes bytes = rounded_bytes(variant.workload.collective, asked, variant.workload.element,
                                      plan.shape.ranks);
    const scenarios::Candidate candidate = candidates_of(plan, variant, bytes).list.front();
    const scenarios::Cut cut = cut_of(plan, variant, candidate, bytes);
    real::MeasurePoint& point = section.points.emplace_back();
    point.algorithm = candidate.algorithm;
    point.options = cut.options;
    point.channels = cut.channels;
    point.slots = cut.slots;
  }
}

class Reader {
 public:
  Reader(const MeasureOptions& options, const scenarios::Library& library)
      : options_(options), library_(library) {
    methods_ = read_methods(options, problems_);
    sizes_ = read_sizes(options.real, problems_);
    if (!options.redop.empty())
      read_reduction();
    problems_.throw_if_any();
  }

  void add(const scenarios::Variant& variant, std::vector<std::string>& remarks) {
    const scenarios::Job job = decide(variant, library_.catalog);
    if (job.selection.outcome != nccl::Outcome::kRuns) {
      remarks.push_back(fmt::format("{}: not measured, NCCL ends with {}: {}", variant.name,
                                    to_string(job.selection.outcome),
                                    job.selection.error.value_or("no reason given")));
      return;
    }
    real::Section section;
    section.title = variant.name;
    section.collective = variant.workload.collective;
    section.reduction = reduction_;
    const auto type = real::parse_element_type(variant.workload.type);
    if (!type) {
      throw InputError(
          {{variant.workload.where,
            fmt::format("real mode has no type '{}'; allowed: {}", variant.workload.type,
                        quoted_list(real::element_type_names()))}});
    }
    section.type = *type;
    const scenarios::Plan plan = make_plan(variant, job);
    section.shape = plan.shape;
    const real::NetworkKind kind =
        options_.real.network.empty() ? kind_of(variant, job) : real::NetworkKind::kAuto;
    RealOptions settings = options_.real;
    if (settings.completion.empty())
      settings.completion = variant.real.completion;
    section.network = read_network(settings, variant.environment, kind, problems_);
    std::vector<real::VerbsMethod> methods = methods_;
    if (methods.empty())
      methods.push_back(read_method(variant.real.method, problems_));
    problems_.throw_if_any();
    if (options_.real.iterations.empty())
      section.iterations = variant.real.iterations;
    if (options_.real.warmup.empty())
      section.warmup = variant.real.warmup;
    section.network.version = variant.version;
    if (section.network.kind != real::NetworkKind::kShared)
      section.network.host_of = plan.shape.host_of;
    // Devices are those of the network that NCCL chose; another one has other devices.
    for (const std::int32_t host : plan.shape.host_of) {
      if (!variant.real.devices.empty() && options_.real.network.empty()) {
        section.network.device_of.push_back(
            variant.real.devices.at(static_cast<std::size_t>(host)));
      }
    }
    add_points(plan, variant, sizes_.empty() ? variant.workload.sizes : sizes_, section);
    const bool verbs = section.network.kind == real::NetworkKind::kVerbs ||
                       section.network.kind == real::NetworkKind::kAuto;
    for (const real::VerbsMethod method : methods) {
      section.network.method = method;
      sections.push_back(section);
      if (!verbs)
        break;  // the method is one of verbs
    }
  }

  std::vector<real::Section> sections;

 private:
  void read_reduction() {
    if (const auto reduction = collectives::parse_reduction(options_.redop)) {
      reduction_ = *reduction;
      return;
    }
    problems_.add({}, fmt::format("unknown operator '{}'; allowed: {}{}", options_.redop,
                                  quoted_list(real::reduction_names()),
                                  did_you_mean(options_.redop, real::reduction_names())));
  }

  const MeasureOptions& options_;
  const scenarios::Library& library_;
  Problems problems_;
  std::vector<real::VerbsMethod> methods_;
  std::vector<Bytes> sizes_;
  real::Reduction reduction_ = real::Reduction::kSum;
};

}  // namespace

std::vector<real::Section> sections_of_scenario(const MeasureOptions& options,
                                                const ScenarioFile& file,
                                                std::vector<std::string>& remarks) {
  Reader reader(options, file.library);
  for (const scenarios::Variant& variant : file.scenario.variants)
    reader.add(variant, remarks);
  return std::move(reader.sections);
}

}  // namespace busbw::tools
