// See rule.h.
#include "models/diagnosis/rule.h"

namespace busbw::diagnosis {

const char* to_string(Layer layer) {
  switch (layer) {
    case Layer::kFramework:
      return "framework";
    case Layer::kCollective:
      return "collective";
    case Layer::kProtocol:
      return "protocol";
    case Layer::kPhysical:
      return "physical";
  }
  return "";
}

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kAll = [] {
    std::vector<Rule> result;
    for (const std::vector<Rule>& part : {interface_rules(), network_rules(), rdma_rules(),
                                          fabric_rules(), host_rules(), gpu_rules(), job_rules()}) {
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  }();
  return kAll;
}

}  // namespace busbw::diagnosis
