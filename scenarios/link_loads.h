// The links that carried most of what they could, with the connections that shared them.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "models/transport/connection.h"
#include "scenarios/result.h"
#include "sim/core/ids.h"
#include "sim/engine/engine.h"

namespace busbw::scenarios {

class LinkLoads {
 public:
  /// A connection from `from` to `to` may use all links of its ways. Ranks from Schedule::ranks on
  /// are switches.
  void add(const transport::Connection& connection, RankId from, RankId to);

  /// The `most` links with the largest share of capacity x time carried, largest first, by number
  /// where equal; those that carried nothing are left out.
  [[nodiscard]] std::vector<HotLink> hottest(const engine::Engine& engine, Duration time,
                                             std::size_t most) const;

 private:
  using Pair = std::pair<RankId, RankId>;

  std::map<engine::LinkId, std::vector<Pair>> users_;  // some twice: one of each channel
};

}  // namespace busbw::scenarios
