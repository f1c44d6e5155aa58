// Lines of NCCL_DEBUG=INFO, made from a decision.
#include "scenarios/log.h"

#include <fmt/format.h>

#include "models/nccl/log_frame.h"
#include "sim/core/text.h"

namespace busbw::scenarios {
namespace {

/// NCCL right-aligns ranks to three columns: "Channel 00/02 :    0   3   2   1"
/// (src/graph/rings.cc).
std::string channel_line(const std::string& ring, std::size_t channel, std::size_t channels) {
  std::string line = fmt::format("Channel {:02d}/{:02d} :", channel, channels);
  for (const std::string_view rank : split_blanks(ring)) {
    line += fmt::format(" {:>3}", rank);
  }
  return line;
}

}  // namespace

std::string nccl_log(const VariantResult& variant) {
  const nccl::HostDecision& host = variant.decision.hosts.front();
  std::vector<nccl::LogLine> lines = host.log;
  std::string trees = "Trees";
  for (std::size_t channel = 0; channel < variant.channel_rings.size(); ++channel) {
    lines.push_back(
        {"GRAPH", false,
         channel_line(variant.channel_rings[channel], channel, variant.channel_rings.size())});
    trees += fmt::format(" [{}] {}", channel, variant.channel_trees[channel]);
  }
  if (!variant.channel_rings.empty()) {
    lines.push_back({"GRAPH", false, trees});
  }
  nccl::LogFrame frame;
  frame.host = host.host;
  return nccl::framed(lines, frame, variant.version);
}

}  // namespace busbw::scenarios
