// See layers.h.
#include "models/transport/layers.h"

#include <fmt/format.h>

namespace busbw::transport {
namespace {

constexpr const char* kProxyThread = " proxy thread";

}  // namespace

const char* const kSoftwareVerbs = "verbs in software";

std::string to_string(Layer layer) {
  switch (layer) {
    case Layer::kCollective:
      return "collective";
    case Layer::kProtocol:
      return "protocol";
    case Layer::kPhysical:
      break;
  }
  return "physical";
}

std::string proxy_thread_name(RankId rank) {
  return fmt::format("rank {}{}", rank.value(), kProxyThread);
}

Layer layer_of(const std::string& link_name) {
  if (link_name.ends_with(kProxyThread)) {
    return Layer::kCollective;
  }
  return link_name.ends_with(kSoftwareVerbs) ? Layer::kProtocol : Layer::kPhysical;
}

}  // namespace busbw::transport
