// See finding.h.
#include "models/diagnosis/finding.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "models/diagnosis/condition.h"
#include "models/diagnosis/derive.h"
#include "sim/core/text.h"

namespace busbw::diagnosis {
namespace {

using facts::Fact;
using facts::FactStore;

/// A cause with what speaks for it, before causes are held against each other.
struct Candidate {
  const Rule* rule = nullptr;
  int points = 0;
  std::vector<Evidence> evidence;
  std::vector<const Fact*> facts;                // of the signals for it, strongest first
  std::set<std::pair<std::string, int>> places;  // of these: file, line
};

Confidence confidence_of(int points) {
  return points >= kHigh     ? Confidence::kHigh
         : points >= kMedium ? Confidence::kMedium
                             : Confidence::kLow;
}

/// Different values of that field in the facts of that name, in their order.
std::vector<std::string> values_in(const FactStore& store, std::string_view name,
                                   std::string_view field) {
  std::vector<std::string> result;
  for (const Fact* fact : store.named(name)) {
    const std::string value(fact->get(field));
    if (!value.empty() && std::find(result.begin(), result.end(), value) == result.end()) {
      result.push_back(value);
    }
  }
  return result;
}

/// "{interface}" -> the value of that field in the evidence; "<interface>" when none has it.
/// "{is.virtual interface}" -> its values in all facts of that name, as a list with commas.
std::string filled(const std::string& text, const std::vector<const Fact*>& facts,
                   const FactStore& store) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t open = text.find('{', at);
    const std::size_t close = open == std::string::npos ? open : text.find('}', open);
    if (close == std::string::npos) {
      return result + text.substr(at);
    }
    result += text.substr(at, open - at);
    const std::string field = text.substr(open + 1, close - open - 1);
    const std::size_t blank = field.find(' ');
    std::string value = "<" + field + ">";
    if (blank != std::string::npos) {
      value = join(values_in(store, field.substr(0, blank), field.substr(blank + 1)), ",");
    }
    for (const Fact* fact : facts) {
      if (!fact->get(field).empty()) {
        value = std::string(fact->get(field));
        break;
      }
    }
    result += value;
    at = close + 1;
  }
  return result;
}

Candidate weigh(const Rule& rule, const FactStore& store) {
  Candidate candidate;
  candidate.rule = &rule;
  std::vector<std::pair<int, std::vector<const Fact*>>> for_it;
  for (const Signal& signal : rule.signals) {
    std::vector<const Fact*> seen;
    if (!Condition(signal.when).holds(store, seen)) {
      continue;
    }
    candidate.points += signal.points;
    for (const Fact* fact : seen) {
      candidate.evidence.push_back({fact->where, fact->line, signal.says, signal.points});
    }
    if (signal.points > 0) {
      for_it.emplace_back(signal.points, std::move(seen));
    }
  }
  std::stable_sort(for_it.begin(), for_it.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [points, seen] : for_it) {
    for (const Fact* fact : seen) {
      candidate.facts.push_back(fact);
      candidate.places.insert({fact->where.file, fact->where.line});
    }
  }
  std::stable_sort(candidate.evidence.begin(), candidate.evidence.end(),
                   [](const Evidence& a, const Evidence& b) { return a.points > b.points; });
  return candidate;
}

bool share_a_line(const Candidate& a, const Candidate& b) {
  return std::any_of(a.places.begin(), a.places.end(),
                     [&](const auto& place) { return b.places.find(place) != b.places.end(); });
}

/// Every line that speaks for `part` also speaks for `whole`.
bool says_nothing_more(const Candidate& part, const Candidate& whole) {
  return std::all_of(part.places.begin(), part.places.end(), [&](const auto& place) {
    return whole.places.find(place) != whole.places.end();
  });
}

/// One line is quoted once, with what its strongest signal says.
std::vector<Evidence> without_repetition(const std::vector<Evidence>& evidence) {
  std::vector<Evidence> result;
  for (const Evidence& one : evidence) {
    const bool known = std::any_of(result.begin(), result.end(), [&](const Evidence& other) {
      return other.where == one.where && other.says == one.says;
    });
    if (!known) {
      result.push_back(one);
    }
  }
  return result;
}

/// Values of that field in all conclusions of the names of the evidence, in their order.
std::vector<std::string> values_of(std::string_view field, const Candidate& candidate,
                                   const FactStore& store) {
  std::vector<std::string> result;
  for (const Fact* fact : candidate.facts) {
    if (fact->name.rfind("is.", 0) != 0) {
      continue;
    }
    for (std::string& value : values_in(store, fact->name, field)) {
      if (std::find(result.begin(), result.end(), value) == result.end()) {
        result.push_back(std::move(value));
      }
    }
  }
  return result;
}

/// "unset A B": without what is known to be unset, and nothing when none is set.
std::string without_unset(const std::string& step, const FactStore& store) {
  const std::vector<std::string_view> words = split_blanks(step);
  const std::vector<const Fact*> set = store.named("var");
  std::string result = "unset";
  for (std::size_t i = 1; i < words.size(); i++) {
    if (std::any_of(set.begin(), set.end(),
                    [&](const Fact* fact) { return fact->get("name") == words[i]; })) {
      result += ' ' + std::string(words[i]);
    }
  }
  return result == "unset" ? std::string() : result;
}

std::string with(std::string text, std::string_view field, const std::string& value) {
  return text.replace(text.find(field), field.size(), value);
}

/// The lines of a step of a fix: none when its condition does not hold, when the release that the
/// files name does not read the variable, or when there is nothing to unset.
std::vector<std::string> lines_of(const Step& step, const Candidate& candidate,
                                  const FactStore& store) {
  constexpr std::string_view kExport = "export ";
  constexpr std::string_view kUnset = "unset ";
  std::vector<const Fact*> seen;
  if (!step.when.empty() && !Condition(step.when).holds(store, seen)) {
    return {};
  }
  const std::string& text = step.text;
  const bool of_names = text.find("{name}") != std::string::npos;
  if (text.rfind(kUnset, 0) == 0 && of_names) {
    return {with(text, "{name}", join(values_of("name", candidate, store), " "))};
  }
  if (text.rfind(kUnset, 0) == 0 && text.find(' ', kUnset.size()) != std::string::npos &&
      text.find('#') == std::string::npos) {
    const std::string line = without_unset(text, store);
    return line.empty() ? std::vector<std::string>{} : std::vector<std::string>{line};
  }
  if (text.rfind(kExport, 0) == 0 && of_names) {
    std::vector<std::string> lines;
    for (const std::string& name : values_of("name", candidate, store)) {
      lines.push_back(with(text, "{name}", name));
    }
    return lines;
  }
  if (text.rfind(kExport, 0) == 0 &&
      !is_read(store, text.substr(kExport.size(), text.find('=') - kExport.size()))) {
    return {};
  }
  return {filled(text, candidate.facts, store)};
}

Finding finding_of(const Candidate& candidate, const FactStore& store) {
  const Rule& rule = *candidate.rule;
  Finding finding;
  finding.kind = rule.kind;
  finding.layer = rule.layer;
  finding.points = candidate.points;
  finding.confidence = confidence_of(candidate.points);
  if (rule.proof != Proof::kInFiles) {
    finding.confidence = std::min(finding.confidence, Confidence::kMedium);
  }
  finding.root_cause = filled(rule.cause, candidate.facts, store);
  for (const Step& step : rule.fix) {
    const std::vector<std::string> lines = lines_of(step, candidate, store);
    finding.fix.insert(finding.fix.end(), lines.begin(), lines.end());
  }
  finding.evidence = without_repetition(candidate.evidence);
  finding.next_check = filled(rule.decides, candidate.facts, store);
  finding.versions = rule.versions;
  finding.source = rule.source;
  for (const Fact* fact : candidate.facts) {  // measured on the user's own system
    const std::optional<double> slow = parse_number(fact->get("value"));
    const std::optional<double> others = parse_number(fact->get("others"));
    if (fact->name == "is.slow_host" && finding.expected.empty() && slow && others) {
      finding.expected.push_back({*slow, *others, "busbw as measured", "measured of other pairs"});
    }
  }
  return finding;
}

}  // namespace

const char* to_string(Confidence confidence) {
  switch (confidence) {
    case Confidence::kLow:
      return "low";
    case Confidence::kMedium:
      return "medium";
    case Confidence::kHigh:
      return "high";
  }
  return "";
}

std::vector<Finding> find(FactStore& store) {
  derive(store);
  std::vector<Candidate> candidates;
  for (const Rule& rule : rules()) {
    Candidate candidate = weigh(rule, store);
    if (candidate.points > 0 && !candidate.facts.empty()) {
      candidates.push_back(std::move(candidate));
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     const bool symptom = a.rule->proof == Proof::kSymptom;
                     if (symptom != (b.rule->proof == Proof::kSymptom)) {
                       return !symptom;
                     }
                     return a.points > b.points;
                   });
  std::vector<Finding> findings;
  std::vector<const Candidate*> listed;
  for (const Candidate& candidate : candidates) {
    const bool folded = std::any_of(listed.begin(), listed.end(), [&](const Candidate* above) {
      return says_nothing_more(candidate, *above);
    });
    if (folded) {
      continue;
    }
    Finding finding = finding_of(candidate, store);
    for (const Candidate& other : candidates) {
      if (&other == &candidate || other.rule->proof == Proof::kSymptom ||
          !share_a_line(candidate, other)) {
        continue;
      }
      finding.alternatives.push_back({other.rule->kind, confidence_of(other.points),
                                      filled(other.rule->cause, other.facts, store),
                                      filled(other.rule->decides, other.facts, store)});
      // Two causes that explain the same lines nearly as well: neither is certain.
      if (finding.confidence == Confidence::kHigh && other.points + 1 >= candidate.points) {
        finding.confidence = Confidence::kMedium;
      }
    }
    findings.push_back(std::move(finding));
    listed.push_back(&candidate);
  }
  return findings;
}

std::vector<std::string> checked(const FactStore& store) {
  struct Topic {
    std::vector<std::string> facts;
    const char* text;
  };
  static const std::vector<Topic> kTopics = {
      {{"nccl.network", "nccl.hca", "nccl.socket_device", "nccl.no_ib_device"},
       "which network NCCL took, and on which devices"},
      {{"nccl.bootstrap", "nccl.oob"}, "the interfaces of bootstrap and out-of-band connections"},
      {{"nccl.channel"}, "how ranks are connected, and whether from GPU memory"},
      {{"nccl.completion", "nccl.modify_qp", "nccl.async_event", "verbs.completion12"},
       "errors of verbs"},
      {{"nccl.connect_failed", "nccl.family", "nccl.closed"}, "connections by TCP"},
      {{"nccl.version"}, "releases of NCCL"},
      {{"var"}, "variables, as NCCL reads them"},
      {{"nccl.system", "nccl.pattern", "topology.link"}, "bandwidths of the topology"},
      {{"rdma.port", "hca.row"}, "state and rate of the HCAs' ports"},
      {{"rdma.gid", "rdma.gid_table"}, "GIDs"},
      {{"rdma.pkey"}, "P_Keys"},
      {{"fabric.link", "fabric.cable"}, "links of the fabric"},
      {{"qos.pfc", "qos.trust"}, "flow control"},
      {{"counter"}, "counters of ports"},
      {{"ip.interface"}, "interfaces: state, addresses, MTU"},
      {{"ip.route"}, "routes"},
      {{"topo.pair"}, "distances of GPUs and NICs"},
      {{"pci.link", "pci.acs", "pci.tree"}, "PCIe: lanes, speed, ACS"},
      {{"lsmod.module", "lsmod.asked"}, "kernel modules"},
      {{"ulimit.memlock"}, "locked memory"},
      {{"shm.size"}, "size of /dev/shm"},
      {{"kernel.cmdline", "dmesg.iommu"}, "IOMMU"},
      {{"lscpu.numa"}, "NUMA nodes"},
      {{"smi.fabric", "nvlink.link"}, "NVLink and fabric manager"},
      {{"test.row", "test.average", "perftest.row", "pair.row"}, "measured bandwidths"},
      {{"pytorch.watchdog", "process.died", "process.killed", "gpu.xid"}, "how processes ended"}};
  std::vector<std::string> result;
  for (const Topic& topic : kTopics) {
    if (std::any_of(topic.facts.begin(), topic.facts.end(),
                    [&](const std::string& name) { return store.has(name); })) {
      result.emplace_back(topic.text);
    }
  }
  return result;
}

}  // namespace busbw::diagnosis
