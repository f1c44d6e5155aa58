// Max-flow against every cut: on random small subnets the bisection is the least of all the cuts
// that part the first half of the hosts from the second, and the cables named are one of those.
#include <algorithm>
#include <vector>

#include "sim/core/random.h"
#include "tests/topologies/networks/small_fabric.h"

namespace busbw::networks {
namespace {

/// Hosts of one port, at least one a half, on switches that are joined at random; every sixth
/// cable is down. Rates are not symmetric in the halves, and two switches may share cables.
Subnet random_subnet(Random& random, std::int32_t hosts, std::int32_t switches) {
  Subnet subnet;
  std::vector<std::int32_t> used(static_cast<std::size_t>(switches), 0);
  const auto take = [&](std::int32_t at) {
    return End{true, at, ++used[static_cast<std::size_t>(at)]};
  };
  const auto any = [&] { return static_cast<std::int32_t>(random.between(0, switches - 1)); };
  const auto add = [&](const End& a, const End& b) {
    Cable cable;
    cable.a = a;
    cable.b = b;
    cable.rate = gbits(1 + static_cast<std::int64_t>(random.below(8)) * 50);
    cable.up = random.below(6) != 0;
    subnet.cables.push_back(cable);
  };
  for (std::int32_t i = 0; i < switches; i++) {
    Switch node;
    node.name = "switch" + std::to_string(i);
    node.ports = 64;
    subnet.switches.push_back(node);
  }
  for (std::int32_t i = 0; i < hosts; i++) {
    Endpoint endpoint;
    endpoint.host = "node" + std::to_string(i);
    endpoint.hca = "mlx5_0";
    endpoint.host_index = i;
    subnet.endpoints.push_back(endpoint);
    add({false, i, 1}, take(any()));
  }
  const auto cables = static_cast<std::int32_t>(random.between(switches - 1, 4 * switches));
  for (std::int32_t i = 0; i < cables; i++) {
    const std::int32_t a = any();
    const std::int32_t b = any();
    if (a != b) {
      add(take(a), take(b));
    }
  }
  return subnet;
}

/// Which switches are with the first half: bit s of `with`.
bool first_half(const Subnet& subnet, const End& end, std::int32_t hosts, std::uint32_t with) {
  return end.at_switch ? ((with >> static_cast<std::uint32_t>(end.node)) & 1U) != 0
                       : subnet.at(EndpointId(end.node)).host_index < hosts / 2;
}

std::int64_t least_cut(const Subnet& subnet, std::int32_t hosts) {
  std::int64_t least = INT64_MAX;
  for (std::uint32_t with = 0; with < (1U << static_cast<std::uint32_t>(subnet.switches.size()));
       with++) {
    std::int64_t sum = 0;
    for (const Cable& cable : subnet.cables) {
      if (cable.up &&
          first_half(subnet, cable.a, hosts, with) != first_half(subnet, cable.b, hosts, with)) {
        sum += cable.rate.bps();
      }
    }
    least = std::min(least, sum);
  }
  return least;
}

/// Whether anything of the second half is reached from the first without the cables of the cut.
bool parts_the_halves(const Subnet& subnet, std::int32_t hosts, const std::vector<CableId>& cut) {
  std::vector<bool> reached(subnet.switches.size(), false);
  std::vector<bool> dropped(subnet.cables.size(), false);
  for (const CableId cable : cut) {
    dropped[cable.index()] = true;
  }
  const auto is_reached = [&](const End& end) {
    return end.at_switch ? reached[static_cast<std::size_t>(end.node)]
                         : subnet.at(EndpointId(end.node)).host_index < hosts / 2;
  };
  bool grew = true;
  while (grew) {
    grew = false;
    for (std::size_t i = 0; i < subnet.cables.size(); i++) {
      const Cable& cable = subnet.cables[i];
      if (!cable.up || dropped[i] || is_reached(cable.a) == is_reached(cable.b)) {
        continue;
      }
      const End& next = is_reached(cable.a) ? cable.b : cable.a;
      if (!next.at_switch) {
        return false;
      }
      reached[static_cast<std::size_t>(next.node)] = true;
      grew = true;
    }
  }
  return true;
}

TEST(Bisection, IsTheLeastOfAllCuts) {
  Random random(20261201);
  int parted = 0;
  for (int round = 0; round < 400; round++) {
    const auto hosts = static_cast<std::int32_t>(random.below(7)) + 2;
    const auto switches = static_cast<std::int32_t>(random.below(7)) + 1;
    const Subnet subnet = random_subnet(random, hosts, switches);
    const Bisection found = bisect(subnet, hosts);
    ASSERT_EQ(found.rate.bps(), least_cut(subnet, hosts)) << "round " << round;
    std::int64_t cut = 0;
    for (const CableId cable : found.cut) {
      cut += subnet.at(cable).rate.bps();
    }
    ASSERT_EQ(cut, found.rate.bps()) << "round " << round;
    ASSERT_TRUE(parts_the_halves(subnet, hosts, found.cut)) << "round " << round;
    parted += found.rate == Bandwidth() ? 1 : 0;
  }
  // Both kinds must have come: halves that are joined, and halves that are not.
  EXPECT_GT(parted, 10);
  EXPECT_LT(parted, 390);
}

}  // namespace
}  // namespace busbw::networks
