// See channel_devices.h.
#include "models/nccl/channel_devices.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "sim/core/check.h"
#include "sim/core/text.h"

namespace busbw::nccl {
namespace {

constexpr const char* kSource = "NCCL 2.18 to 2.30, src/graph/connect.cc";
constexpr std::int64_t kUnset = -2;

struct Limit {
  std::int64_t value = 0;
  std::string name;  // variable it came from, empty: default
};

/// The newer name wins over the older one; -2 means unset in both.
Limit read_limit(const Environment& environment, const char* older, const char* newer,
                 std::int64_t fallback) {
  Limit limit{fallback, ""};
  for (const char* name : {older, newer}) {
    const std::int64_t value = numeric(environment, name, kUnset);
    if (value != kUnset)
      limit = {value, name};
  }
  return limit;
}

/// MIN_CTAS / MAX_CTAS count only when positive.
std::int64_t read_ctas(const Environment& environment, const char* name, std::int64_t fallback,
                       std::int64_t most) {
  const std::int64_t value = numeric(environment, name, 0);
  return value > 0 ? std::min(value, most) : fallback;
}

/// Device names joined, and what their number means.
std::string share_text(const std::vector<NetDevice>& devices, const std::vector<std::size_t>& best,
                       std::int64_t search) {
  std::vector<std::string> names;
  names.reserve(best.size());
  for (const std::size_t position : best)
    names.push_back(devices[position].name);
  const bool one = best.size() == 1;
  return fmt::format(
      "{} of {} device{} report{} the highest speed, {} Mb/s: {}; {} search channel{}, doubled to "
      "{}",
      best.size(), devices.size(), devices.size() == 1 ? "" : "s", one ? "s" : "",
      devices[best.front()].speed_mbit, join(names, ", "), search, search == 1 ? "" : "s",
      2 * search);
}

/// NCCL's search goes down to about half of the first speed, so a device nearly as fast may take a
/// share there.
std::optional<Reason> near_speeds(const std::vector<NetDevice>& devices, std::int64_t best) {
  std::vector<std::string> names;
  for (const NetDevice& device : devices) {
    if (device.speed_mbit < best && device.speed_mbit * 100 > best * 49)
      names.push_back(device.name);
  }
  if (names.empty())
    return std::nullopt;
  return Reason{"channels.near_speeds",
                fmt::format("{} is nearly as fast and may take a share in NCCL's graph search, "
                            "which is not modelled here",
                            join(names, ", ")),
                "NCCL 2.18 to 2.30, src/graph/search.cc"};
}

/// Cuts and raises `count` as the variables say.
std::int64_t limited(std::int64_t count, const SelectionInput& input,
                     std::vector<Reason>& reasons) {
  const Environment& environment = input.environment;
  const std::int64_t most = most_channels(input.version);
  Limit maximum = read_limit(environment, "NCCL_MAX_NRINGS", "NCCL_MAX_NCHANNELS", most);
  maximum.value = std::clamp<std::int64_t>(maximum.value, 1, most);
  Limit minimum = read_limit(environment, "NCCL_MIN_NRINGS", "NCCL_MIN_NCHANNELS", 0);
  minimum.value = std::clamp<std::int64_t>(minimum.value, 0, most);
  const std::int64_t max_ctas = read_ctas(environment, "NCCL_MAX_CTAS", most, most);
  const std::int64_t min_ctas =
      std::min(read_ctas(environment, "NCCL_MIN_CTAS", 1, most), max_ctas);
  if (max_ctas < maximum.value)
    maximum = {max_ctas, "NCCL_MAX_CTAS"};
  if (min_ctas > minimum.value)
    minimum = {min_ctas, "NCCL_MIN_CTAS"};
  if (maximum.value < count) {
    reasons.push_back({"channels.max",
                       fmt::format("{} cuts {} channels to {}", maximum.name, count, maximum.value),
                       kSource});
    count = maximum.value;
  }
  if (minimum.value > count) {
    reasons.push_back(
        {"channels.min",
         fmt::format("{} raises {} channels to {} by repeating them{}", minimum.name, count,
                     minimum.value,
                     maximum.value < minimum.value ? "; the minimum beats the maximum" : ""),
         kSource});
    count = minimum.value;
  }
  return count;
}

}  // namespace

int most_channels(Version version) {
  return version < Version{2, 25, 0} ? 32 : 64;
}

std::vector<std::size_t> fastest(const std::vector<NetDevice>& devices) {
  std::int64_t best = 0;
  for (const NetDevice& device : devices)
    best = std::max(best, device.speed_mbit);
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].speed_mbit == best)
      positions.push_back(i);
  }
  return positions;
}

ChannelPlan plan_channels(const std::vector<HostDecision>& hosts, const SelectionInput& input) {
  CHECK(!hosts.empty());
  ChannelPlan plan;
  const std::int64_t most = most_channels(input.version);
  std::int64_t search = most / 2;
  for (const HostDecision& host : hosts) {
    CHECK(!host.data_devices.empty(), "host {}", host.host);
    search = std::min(search, static_cast<std::int64_t>(fastest(host.data_devices).size()));
  }
  const std::vector<NetDevice>& devices = hosts.front().data_devices;
  const std::vector<std::size_t> best = fastest(devices);
  plan.reasons.push_back({"channels.fastest", share_text(devices, best, search),
                          "NCCL 2.18 to 2.30, src/graph/search.cc and connect.cc"});
  if (const auto near = near_speeds(devices, devices[best.front()].speed_mbit))
    plan.reasons.push_back(*near);
  const std::int64_t count = limited(2 * search, input, plan.reasons);
  plan.search_channels = static_cast<int>(search);
  for (std::int64_t c = 0; c < count; ++c) {
    const std::size_t position = best[static_cast<std::size_t>(c % search)];
    plan.channels.push_back({static_cast<int>(c), devices[position].index});
  }
  return plan;
}

}  // namespace busbw::nccl
