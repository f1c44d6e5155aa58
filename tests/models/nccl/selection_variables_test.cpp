// Every variable that is said to change bootstrap, network or devices, set to a value that counts.
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/nccl/variables.h"
#include "sim/core/text.h"
#include "tests/models/nccl/build_input.h"

namespace busbw::nccl {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders are this file's
                          // vocabulary

/// eth0 and rdma0 (also IPv6), two cards of two ports each, in the order of libibverbs.
SelectionInput machine(Version version) {
  SelectionInput input = the_case(version);
  for (Inventory& host : input.hosts) {
    host.interfaces.push_back(
        interface("eth1", {"fd00::" + std::string(1, host.host.back()) + "/64"}));
    host.hcas = {hca("mlx5_2", 50'000), hca("mlx5_3", 50'000), hca("mlx5_0", 100'000),
                 hca("mlx5_1", 100'000)};
    const char* places[] = {"0000:81:00.0", "0000:81:00.1", "0000:17:00.0", "0000:17:01.0"};
    for (std::size_t i = 0; i < 4; ++i) {
      host.hcas[i].pci_path = std::string("/sys/devices/") + places[i];
      host.hcas[i].guid = i < 2 ? 1 : 2;
    }
  }
  return input;
}

std::string bootstrap(const HostDecision& host) {
  return host.bootstrap_interface.value_or("none");
}
std::string network(const HostDecision& host) {
  return host.network.value_or("none");
}
std::string devices(const HostDecision& host) {
  return join(device_names(host), " ");
}

struct Case {
  std::string name;
  std::string value;
  Version version;
  std::string (*look)(const HostDecision&);
  std::string before;
  std::string after;
  bool plugin = false;  // an external plugin would claim the job
};

const std::vector<Case>& cases() {
  const Version k221{2, 21, 5};
  static const std::vector<Case> kAll{
      {"NCCL_SOCKET_IFNAME", "rdma", kNewest, bootstrap, "eth0", "rdma0"},
      {"NCCL_SOCKET_FAMILY", "AF_INET6", kNewest, bootstrap, "eth0", "eth1"},
      {"NCCL_COMM_ID", "192.168.100.1:9000", kNewest, bootstrap, "eth0", "rdma0"},
      {"NCCL_NET", "Socket", kNewest, network, "IB", "Socket"},
      {"NCCL_IB_DISABLE", "1", kNewest, network, "IB", "Socket"},
      {"NCCL_NET_PLUGIN", "none", kNewest, network, "AWS Libfabric", "IB", true},
      {"NCCL_IB_HCA", "^mlx5_2,mlx5_3", kNewest, devices, "mlx5_0+mlx5_1 mlx5_2+mlx5_3",
       "mlx5_0+mlx5_1"},
      {"NCCL_IB_MERGE_NICS", "0", kNewest, devices, "mlx5_0+mlx5_1 mlx5_2+mlx5_3",
       "mlx5_0 mlx5_1 mlx5_2 mlx5_3"},
      // mlx5_0 and mlx5_1 are functions of one card only when the device number is masked.
      {"NCCL_IB_MERGE_VFS", "0", k221, devices, "mlx5_2+mlx5_3 mlx5_0+mlx5_1",
       "mlx5_2+mlx5_3 mlx5_0 mlx5_1"},
      {"NCCL_IB_DEVICE_PCI_ORDER", "0", kNewest, devices, "mlx5_0+mlx5_1 mlx5_2+mlx5_3",
       "mlx5_2+mlx5_3 mlx5_0+mlx5_1"},
      {"NCCL_NET_MERGE_LEVEL", "LOC", kNewest, devices, "mlx5_0+mlx5_1 mlx5_2+mlx5_3",
       "mlx5_0 mlx5_1 mlx5_2 mlx5_3"},
      {"NCCL_NET_FORCE_MERGE", "mlx5_0,mlx5_2;mlx5_1,mlx5_3", kNewest, devices,
       "mlx5_0+mlx5_1 mlx5_2+mlx5_3", "mlx5_0+mlx5_2 mlx5_1+mlx5_3"},
  };
  return kAll;
}

std::string decided(const Case& item, const Environment& environment) {
  SelectionInput input = machine(item.version);
  if (item.plugin) {
    for (Inventory& host : input.hosts)
      host.external_plugins = {"AWS Libfabric"};
  }
  input.environment = environment;
  return item.look(select(input).hosts.front());
}

TEST(SelectionVariables, EachChangesItsDecision) {
  for (const Case& item : cases()) {
    SCOPED_TRACE(item.name);
    EXPECT_EQ(decided(item, {}), item.before);
    EXPECT_EQ(decided(item, {{item.name, item.value}}), item.after);
  }
}

TEST(SelectionVariables, OtherTextIsTheNumberZero) {
  for (const Case& item : cases()) {
    if (find_variable(item.name)->kind != VariableKind::kNumber)
      continue;
    EXPECT_EQ(decided(item, {{item.name, "no"}}), decided(item, {{item.name, "0"}})) << item.name;
  }
}

TEST(SelectionVariables, EveryOneHasACase) {
  std::set<std::string> covered;
  for (const Case& item : cases())
    covered.insert(item.name);
  for (const Variable& variable : variables()) {
    const bool here = variable.changes == VariableChange::kBootstrap ||
                      variable.changes == VariableChange::kNetwork ||
                      variable.changes == VariableChange::kDevices;
    EXPECT_EQ(covered.count(variable.name), here ? 1U : 0U) << variable.name;
  }
}

}  // namespace
}  // namespace busbw::nccl
