// Jobs over fabric files: what oversubscription, rails, partitions and the subnet manager do to
// them.
#include <gtest/gtest.h>

#include "scenarios/perf.h"
#include "sim/core/yaml.h"
#include "tests/scenarios/library.h"

namespace busbw::scenarios {
namespace {

using collectives::Collective;

networks::FabricSpec fabric(const std::string& body) {
  Problems problems;
  const YamlNode node = parse_yaml("schema: busbw.fabric/1\nname: f\n" + body, "f.yaml", problems);
  networks::FabricSpec spec = networks::read_fabric(node, problems);
  problems.throw_if_any();
  return spec;
}

PerfRequest request(const std::string& name, std::int32_t nodes, const std::string& body) {
  PerfRequest asked;
  asked.machine = machine(name);
  asked.hosts.hosts = nodes;
  asked.hosts.fabric = fabric(body);
  asked.version = *nccl::parse_version("2.27");
  asked.sizes = {Bytes::mib(256)};
  return asked;
}

double busbw(const PerfRequest& asked) {
  const PerfResult result = perf(asked, context());
  EXPECT_FALSE(result.error) << *result.error;
  return result.sizes.at(0).busbw_GBps;
}

std::string tree(const std::string& oversubscription) {
  return "topology: fat-tree\ntiers: 2\nleaf_ports: 4\noversubscription: " + oversubscription +
         "\nhosts: [{count: 8, rate: 100 Gb/s}]\nswitches: SB7800\n";
}

// Eight hosts with one port of 100 Gb/s, four a leaf. In order of places only two edges of the ring
// cross; taken from both leaves in turn all do: four flows over two cables up.
TEST(Fabrics, OversubscriptionHalvesACrossingRing) {
  PerfRequest full = request("a100-40gb-x4", 8, tree("1:1"));
  full.environment["NCCL_ALGO"] = "Ring";
  PerfRequest half = request("a100-40gb-x4", 8, tree("2:1"));
  half.environment["NCCL_ALGO"] = "Ring";
  EXPECT_NEAR(busbw(half), busbw(full), 0.001 * busbw(full));
  full.hosts.places = half.hosts.places = {0, 4, 1, 5, 2, 6, 3, 7};
  EXPECT_NEAR(busbw(half), 0.5 * busbw(full), 0.03 * busbw(full));
}

// Rings stay on their rails; all-to-all reaches the rail of its target over NVLink first. Without
// that (PXN) a NIC would have to send to another rail, and there is no way.
TEST(Fabrics, RailOnlyCarriesRingsAndPxn) {
  const std::string hosts = "hosts: [{count: 2, nics: 8}]\nswitches: QM9700\n";
  PerfRequest only = request("dgx-h100", 2, "topology: rail-only\n" + hosts);
  PerfRequest all = request("dgx-h100", 2, "topology: rail-optimised\ntiers: 2\n" + hosts);
  EXPECT_NEAR(busbw(only), busbw(all), 0.001 * busbw(all));
  only.collective = all.collective = Collective::kAllToAll;
  EXPECT_NEAR(busbw(only), busbw(all), 0.001 * busbw(all));
  only.environment["NCCL_PXN_DISABLE"] = "1";
  EXPECT_THROW(busbw(only), InputError);
}

TEST(Fabrics, ADeadSubnetManagerRefusesNewConnections) {
  const PerfRequest asked =
      request("a100-40gb-x4", 2, tree("1:1") + "subnet_manager: {state: down}\n");
  try {
    busbw(asked);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "error: 'mlx5_0' of host 1 cannot reach 'mlx5_0' of host 2: the subnet manager "
                 "does not answer: no path record for a new connection");
  }
}

TEST(Fabrics, PlacesAreTakenOnce) {
  PerfRequest asked = request("a100-40gb-x4", 2, tree("1:1"));
  asked.hosts.places = {3, 3};
  EXPECT_THROW(busbw(asked), InputError);
}

}  // namespace
}  // namespace busbw::scenarios
