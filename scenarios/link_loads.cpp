// See link_loads.h.
#include "scenarios/link_loads.h"

#include <algorithm>
#include <cmath>

namespace busbw::scenarios {

void LinkLoads::add(const transport::Connection& connection, RankId from, RankId to) {
  const auto add_leg = [&](const std::vector<engine::LinkId>& links) {
    for (const engine::LinkId link : links) {
      users_[link].insert({from, to});
    }
  };
  for (const auto* leg : {&connection.fill, &connection.path, &connection.drain}) {
    add_leg(*leg);
  }
  for (const std::vector<engine::LinkId>& way : connection.ways) {
    add_leg(way);
  }
}

std::vector<HotLink> LinkLoads::hottest(const engine::Engine& engine, Duration time,
                                        std::size_t most) const {
  std::vector<HotLink> links;
  for (const auto& [link, users] : users_) {
    HotLink hot;
    hot.link = engine.name(link);
    hot.capacity = engine.capacity(link);
    hot.carried = engine.usage(link).carried;
    if (hot.carried == Bytes() || hot.capacity == Bandwidth() || time == Duration()) {
      continue;
    }
    hot.utilization = static_cast<double>(hot.carried.count()) * 8 /
                      (static_cast<double>(hot.capacity.bps()) * time.as_seconds());
    hot.users.assign(users.begin(), users.end());
    links.push_back(std::move(hot));
  }
  // To a millionth, so that links that carry the same do not swap places by a rounding.
  const auto parts = [](const HotLink& link) {
    constexpr double kParts = 1e6;
    return std::llround(link.utilization * kParts);
  };
  std::stable_sort(links.begin(), links.end(),
                   [&](const HotLink& a, const HotLink& b) { return parts(a) > parts(b); });
  links.resize(std::min(links.size(), most));
  return links;
}

}  // namespace busbw::scenarios
