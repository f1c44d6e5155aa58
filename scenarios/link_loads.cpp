// See link_loads.h.
#include "scenarios/link_loads.h"

#include <algorithm>
#include <cmath>

namespace busbw::scenarios {

void LinkLoads::add(const transport::Connection& connection, RankId from, RankId to) {
  const auto add_leg = [&](const std::vector<engine::LinkId>& links) {
    for (const engine::LinkId link : links) {
      std::vector<Pair>& users = users_[link];
      if (users.empty() || users.back() != Pair(from, to)) {
        users.emplace_back(from, to);
      }
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
  struct Found {
    HotLink hot;
    const std::vector<Pair>* users = nullptr;
  };
  std::vector<Found> links;
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
    links.push_back({std::move(hot), &users});
  }
  // To a millionth, so that links that carry the same do not swap places by a rounding.
  const auto parts = [](const Found& link) {
    constexpr double kParts = 1e6;
    return std::llround(link.hot.utilization * kParts);
  };
  std::stable_sort(links.begin(), links.end(),
                   [&](const Found& a, const Found& b) { return parts(a) > parts(b); });
  links.resize(std::min(links.size(), most));
  std::vector<HotLink> hottest;
  for (Found& link : links) {
    std::vector<Pair> users = *link.users;
    std::sort(users.begin(), users.end());
    users.erase(std::unique(users.begin(), users.end()), users.end());
    link.hot.users = std::move(users);
    hottest.push_back(std::move(link.hot));
  }
  return hottest;
}

}  // namespace busbw::scenarios
