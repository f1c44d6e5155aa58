// See topology_facts.h.
#include "models/facts/topology_facts.h"

#include <algorithm>

#include "models/nccl/graph/xml.h"
#include "sim/core/text.h"

namespace busbw::facts {
namespace {

/// Value of name="..."; empty when it is absent.
std::string attribute(std::string_view element, std::string_view name) {
  const std::string key = ' ' + std::string(name) + "=\"";
  const std::size_t at = element.find(key);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = element.substr(at + key.size());
  return std::string(rest.substr(0, rest.find('"')));
}

bool is_element(std::string_view line) {
  static constexpr std::string_view kTags[] = {
      "<system", "</system",  "<cpu ", "</cpu", "<pci ", "</pci", "<gpu ", "</gpu", "<nvlink ",
      "<c2c ",   "<pcilink ", "<nic",  "</nic", "<net ", "<gin ", "<rma ", "<nvs",  "</nvs"};
  return std::any_of(std::begin(kTags), std::end(kTags),
                     [&](std::string_view tag) { return line.substr(0, tag.size()) == tag; });
}

}  // namespace

bool TopologyReader::read(const SourceLine& line, FactStore& facts) {
  const std::string_view bare = line.bare;
  if (!is_element(bare)) {
    return false;
  }
  file_ = line.file;
  if (bare.rfind("<system", 0) == 0 && text_.empty()) {
    whole_ = true;
  }
  if (whole_ && text_.size() < nccl::graph::kMostBytes) {
    for (; lines_ + 1 < line.number; lines_++) {
      text_ += '\n';  // so that lines count as in the file
    }
    text_ += std::string(line.text) + '\n';
    lines_++;
  }
  if (bare.find('>') == std::string_view::npos) {
    facts.note({line.file, line.number, 1},
               "element of the topology without its '>': the line is cut");
  }
  const std::string speed = attribute(bare, "link_speed");
  if (bare.rfind("<pci ", 0) == 0 && !speed.empty()) {
    put(facts, line, "topology.link",
        {{"device", attribute(bare, "busid")},
         {"speed", speed.substr(0, speed.find(' '))},
         {"width", attribute(bare, "link_width")},
         {"class", attribute(bare, "class")}});
  } else if (bare.rfind("<net ", 0) == 0) {
    put(facts, line, "topology.net",
        {{"name", attribute(bare, "name")}, {"speed", attribute(bare, "speed")}});
  } else if (bare.rfind("<gpu ", 0) == 0) {
    put(facts, line, "topology.gpu", {{"dev", attribute(bare, "dev")}});
  }
  return true;
}

void TopologyReader::finish(FactStore& facts) {
  if (!whole_) {
    return;
  }
  Problems problems;
  nccl::graph::parse_topology(text_, file_, problems);
  for (const InputProblem& problem : problems.all()) {
    // What is missing behind the end is told of the last line.
    const int line = std::clamp(problem.where.line, 1, lines_);
    facts.note({file_, line, std::max(problem.where.column, 1)}, problem.message);
  }
  text_.clear();
  whole_ = false;
}

}  // namespace busbw::facts
