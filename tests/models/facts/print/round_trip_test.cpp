// What the printers print, the parsers read back to the same host: all machines of the catalogue,
// and hosts in odd states.
#include <gtest/gtest.h>

#include "models/facts/host_folder.h"
#include "models/facts/print/topo_print.h"
#include "sim/core/random.h"
#include "tests/models/facts/print/emulated_case.h"

namespace busbw::facts {
namespace {

std::string address_list(const nccl::Interface& interface) {
  std::string text;
  for (const bool ipv6 : {false, true}) {  // as the kernel dumps them
    for (const nccl::Address& address : interface.addresses) {
      if (address.ipv6 == ipv6) {
        text += address.text + "/" + std::to_string(address.prefix_length) + " ";
      }
    }
  }
  return text;
}

void expect_equal(const nccl::Interface& read, const nccl::Interface& printed) {
  EXPECT_EQ(read.name, printed.name);
  EXPECT_EQ(read.up, printed.up) << printed.name;
  EXPECT_EQ(read.running, printed.running) << printed.name;
  EXPECT_EQ(read.loopback, printed.loopback) << printed.name;
  EXPECT_EQ(read.mtu, printed.mtu) << printed.name;
  EXPECT_EQ(address_list(read), address_list(printed)) << printed.name;
}

void expect_equal(const nccl::Hca& read, const nccl::Hca& printed) {
  EXPECT_EQ(read.name, printed.name);
  EXPECT_EQ(read.guid, printed.guid) << printed.name;
  ASSERT_EQ(read.ports.size(), printed.ports.size()) << printed.name;
  for (std::size_t port = 0; port < printed.ports.size(); ++port) {
    EXPECT_EQ(read.ports[port].number, printed.ports[port].number);
    EXPECT_EQ(read.ports[port].state, printed.ports[port].state);
    EXPECT_EQ(read.ports[port].physical_state, printed.ports[port].physical_state);
    EXPECT_EQ(read.ports[port].link_layer, printed.ports[port].link_layer) << printed.name;
    EXPECT_EQ(read.ports[port].speed_mbit, printed.ports[port].speed_mbit) << printed.name;
  }
}

void expect_round_trip(const EmulatedHost& host) {
  Problems problems;
  for (const std::string& text :
       {print_ip_addr(emulated_interfaces(host)), print_ip_link(emulated_interfaces(host))}) {
    std::vector<nccl::Interface> read = to_interfaces(parse_ip(text, "ip"), problems);
    ASSERT_EQ(read.size(), host.inventory.interfaces.size()) << text;
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (read[i].addresses.empty()) {
        read[i].addresses = host.inventory.interfaces[i].addresses;  // `ip link` shows none
      }
      expect_equal(read[i], host.inventory.interfaces[i]);
    }
  }
  const std::string ibstat = print_ibstat(emulated_hcas(host));
  const std::vector<nccl::Hca> hcas = to_hcas(parse_ibstat(ibstat, "ibstat"), problems);
  ASSERT_EQ(hcas.size(), host.inventory.hcas.size()) << ibstat;
  for (std::size_t i = 0; i < hcas.size(); ++i) {
    expect_equal(hcas[i], host.inventory.hcas[i]);
  }
  const TopoMatrix printed = emulated_topo(host);
  const TopoMatrix read = parse_topo(print_topo(printed, {"0-55,112-167"}), "topo", problems);
  EXPECT_EQ(read.devices, printed.devices);
  EXPECT_EQ(read.numa, printed.numa);
  for (std::size_t row = 0; row < printed.cells.size(); ++row) {
    for (std::size_t column = 0; column < printed.cells.size(); ++column) {
      EXPECT_EQ(to_string(read.cells.at(row).at(column)), to_string(printed.cells[row][column]));
    }
  }
  EXPECT_TRUE(problems.empty()) << to_string(problems.all().front());
}

TEST(RoundTrip, EveryMachineOfTheCatalogue) {
  const topologies::Catalog& catalog = nccl::testing::catalog();
  for (const topologies::Machine& machine : nccl::testing::machines()) {
    for (const std::int32_t number : {0, 300}) {
      SCOPED_TRACE(machine.name);
      const nccl::Inventory inventory = nccl::machine_inventory(machine, number, catalog);
      expect_round_trip({machine, catalog, inventory, number});
    }
  }
}

// The CA type leads back to a model of the same PCI device.
TEST(RoundTrip, TypesLeadToTheModel) {
  const topologies::Catalog& catalog = nccl::testing::catalog();
  int typed = 0;
  for (const topologies::Machine& machine : nccl::testing::machines()) {
    const nccl::Inventory inventory = nccl::machine_inventory(machine, 0, catalog);
    const std::vector<PrintedHca> printed = emulated_hcas({machine, catalog, inventory, 0});
    for (std::size_t i = 0; i < printed.size(); ++i) {
      if (!printed[i].type.empty()) {
        const topologies::NicModel* model = catalog.nic(printed[i].type);
        ASSERT_NE(model, nullptr) << printed[i].type;
        EXPECT_EQ(model->pci_device, catalog.nic(inventory.hcas[i].model)->pci_device);
        ++typed;
      }
    }
  }
  EXPECT_GE(typed, 100);
}

/// Interfaces and ports in states that the random numbers choose.
nccl::Inventory disturbed(nccl::Inventory inventory, Random& random) {
  static const std::vector<std::string> kAddresses = {"10.1.2.3/24", "fe80::1/64", "2001:db8::5/48",
                                                      "192.168.0.9/31", "10.1.2.4/24"};
  static const std::vector<std::string> kPhysical = {"LinkUp", "Polling", "Disabled", "Sleep",
                                                     "LinkErrorRecovery"};
  for (nccl::Interface& interface : inventory.interfaces) {
    interface.up = random.below(4) != 0;
    interface.running = interface.up && random.below(3) != 0;
    interface.mtu = random.between(68, 65536);
    for (const std::string& address : kAddresses) {
      if (random.below(3) == 0) {
        interface.addresses.push_back(*nccl::parse_address(address));
      }
    }
  }
  for (nccl::Hca& hca : inventory.hcas) {
    const std::int64_t ports = random.between(1, 3);
    hca.ports.resize(static_cast<std::size_t>(ports), hca.ports.front());
    hca.guid = static_cast<std::uint64_t>(random.between(1, std::int64_t{1} << 62));
    int number = 0;
    for (nccl::HcaPort& port : hca.ports) {
      port.number = ++number;
      port.state = static_cast<nccl::PortState>(random.below(4));
      port.link_layer = static_cast<nccl::LinkLayer>(random.below(3));
      port.physical_state = kPhysical[random.below(kPhysical.size())];
      port.speed_mbit = random.between(1, 800'000);
    }
  }
  if (random.below(8) == 0) {
    inventory.hcas.clear();
  }
  return inventory;
}

TEST(RoundTrip, HostsInOddStates) {
  const topologies::Catalog& catalog = nccl::testing::catalog();
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const std::vector<topologies::Machine>& machines = nccl::testing::machines();
    const topologies::Machine& machine = machines[random.below(machines.size())];
    SCOPED_TRACE(machine.name);
    const nccl::Inventory inventory =
        disturbed(nccl::machine_inventory(machine, 1, catalog), random);
    expect_round_trip({machine, catalog, inventory, 1});
  }
}

}  // namespace
}  // namespace busbw::facts
