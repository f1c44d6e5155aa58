// See traffic.h.
#include "models/params/traffic.h"

namespace busbw::params {

const std::vector<std::string>& hash_words() {
  static const std::vector<std::string> kWords = {"5-tuple", "flowlet", "packet"};
  return kWords;
}

std::optional<Balance> parse_hash(const std::string& word) {
  if (word == "5-tuple") {
    return Balance::kFlow;
  }
  if (word == "flowlet") {
    return Balance::kFlowlet;
  }
  return word == "packet" ? std::optional(Balance::kPacket) : std::nullopt;
}

}  // namespace busbw::params
