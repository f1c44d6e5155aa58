// The document of small and of catalogue machines, element by element, worked out by hand.
#include "models/nccl/machine/document.h"

#include <gtest/gtest.h>

#include "models/nccl/machine/inventory.h"
#include "tests/models/nccl/build_input.h"
#include "tests/models/nccl/machine/catalog_machine.h"

namespace busbw::nccl {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders are this file's
                          // vocabulary

std::string document_of_the_case(const Inventory& inventory, Version version) {
  SelectionInput input;
  input.version = version;
  input.hosts = {inventory, inventory};
  return graph::print_topology(machine_document(machine_called("a100-40gb-x4"), catalog(),
                                                inventory, select(input).hosts[0], version));
}

/// "@LINK" and "@PORT" stand for the attributes of a Gen4 x16 link and of the HCA's port.
std::string with_attributes(std::string text) {
  const std::vector<std::pair<std::string, std::string>> names{
      {"@LINK", R"(link_speed="16.0 GT/s PCIe" link_width="16")"},
      {"@PORT", R"( port="1" guid="0xa1" maxconn="131072" gdr="1")"}};
  for (const auto& [name, attributes] : names) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name))
      text.replace(at, name.size(), attributes);
  }
  return text;
}

// The tree of the machine: GPU 0, 1 and the HCA under pcie0, GPU 2 and 3 under pcie1. Ids in order:
// 01 pcie0, 02 and 03 its GPUs, 04 pcie1, 05 and 06 its GPUs, 07 eth0, 08 the HCA. Rome is family
// 23: 15 + 8 x 16 = 143.
TEST(MachineDocument, OneCardAtOneHundredGigabits) {
  Inventory inventory = the_case(Version{2, 28, 9}).hosts[0];
  inventory.hcas = {hca("mlx5_0", 100'000)};
  inventory.hcas[0].guid = 0xa1;
  EXPECT_EQ(document_of_the_case(inventory, Version{2, 28, 9}),
            with_attributes(R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:01:00.0" class="0x060400" @LINK>
      <pci busid="0000:02:00.0" class="0x030200" @LINK vendor="0x10de" device="0x20b0">
        <gpu dev="0" sm="80" rank="0" gdr="1">
          <nvlink target="0000:03:00.0" count="4" tclass="0x030200"/>
          <nvlink target="0000:05:00.0" count="4" tclass="0x030200"/>
          <nvlink target="0000:06:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:08:00.0" class="0x020700" @LINK vendor="0x15b3" device="0x101b">
        <nic>
          <net name="mlx5_0" dev="0" latency="0" speed="100000"@PORT/>
        </nic>
      </pci>
      <pci busid="0000:03:00.0" class="0x030200" @LINK vendor="0x10de" device="0x20b0">
        <gpu dev="1" sm="80" rank="1" gdr="1">
          <nvlink target="0000:02:00.0" count="4" tclass="0x030200"/>
          <nvlink target="0000:05:00.0" count="4" tclass="0x030200"/>
          <nvlink target="0000:06:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:04:00.0" class="0x060400" @LINK>
      <pci busid="0000:05:00.0" class="0x030200" @LINK vendor="0x10de" device="0x20b0">
        <gpu dev="2" sm="80" rank="2" gdr="1">
          <nvlink target="0000:02:00.0" count="4" tclass="0x030200"/>
          <nvlink target="0000:03:00.0" count="4" tclass="0x030200"/>
          <nvlink target="0000:06:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:06:00.0" class="0x030200" @LINK vendor="0x10de" device="0x20b0">
        <gpu dev="3" sm="80" rank="3" gdr="1">
          <nvlink target="0000:02:00.0" count="4" tclass="0x030200"/>
          <nvlink target="0000:03:00.0" count="4" tclass="0x030200"/>
          <nvlink target="0000:05:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
    </pci>
  </cpu>
</system>
)"));
}

const graph::Element* find_net(const graph::Element& element, const std::string& name,
                               std::vector<std::string>& above) {
  if (element.tag == "net" && element.text("name") == name)
    return &element;
  above.push_back(element.tag + " " + element.text("busid"));
  for (const graph::Element& child : element.children) {
    if (const graph::Element* found = find_net(child, name, above))
      return found;
  }
  above.pop_back();
  return nullptr;
}

// Sockets: eth0 is a card on cpu0 (id 07), rdma0 the interface of the HCA (id 08). 10GbE cards of
// the catalogue are PCIe Gen3 x8.
TEST(MachineDocument, InterfacesStandWhereTheirCardsStand) {
  const Inventory inventory = the_case(Version{2, 18, 6}).hosts[0];
  SelectionInput input;
  input.version = Version{2, 18, 6};
  input.hosts = {inventory, inventory};
  const graph::Element document = machine_document(
      machine_called("a100-40gb-x4"), catalog(), inventory, select(input).hosts[0], input.version);
  std::vector<std::string> above;
  const graph::Element* eth0 = find_net(document, "eth0", above);
  ASSERT_NE(eth0, nullptr);
  EXPECT_EQ(above, (std::vector<std::string>{"system ", "cpu ", "pci 0000:07:00.0", "nic "}));
  EXPECT_EQ(eth0->text("speed"), "10000");
  EXPECT_EQ(eth0->text("guid"), "0x0");
  EXPECT_EQ(eth0->text("port"), "0");
  EXPECT_EQ(eth0->text("gdr"), "0");
  EXPECT_EQ(eth0->text("maxconn"), "65536");
  above.clear();
  const graph::Element* rdma0 = find_net(document, "rdma0", above);
  ASSERT_NE(rdma0, nullptr);
  EXPECT_EQ(above, (std::vector<std::string>{"system ", "cpu ", "pci 0000:01:00.0",
                                             "pci 0000:08:00.0", "nic "}));
  EXPECT_EQ(rdma0->text("dev"), "1");
  EXPECT_EQ(rdma0->text("speed"), "100000");
}

// Without /sys no device has a place: NCCL puts it under the first CPU.
TEST(MachineDocument, WithoutSysfsDevicesStandUnderTheFirstCpu) {
  Inventory inventory = the_case(Version{2, 28, 9}).hosts[0];
  inventory.hcas = {hca("mlx5_0", 100'000)};
  inventory.exposure.sysfs = false;
  SelectionInput input;
  input.version = Version{2, 28, 9};
  input.hosts = {inventory, inventory};
  const graph::Element document = machine_document(
      machine_called("a100-40gb-x4"), catalog(), inventory, select(input).hosts[0], input.version);
  std::vector<std::string> above;
  ASSERT_NE(find_net(document, "mlx5_0", above), nullptr);
  EXPECT_EQ(above, (std::vector<std::string>{"system ", "cpu ", "nic "}));
}

HostDecision one_socket_device() {
  HostDecision host;
  host.network = "Socket";
  NetDevice device;
  device.name = "eth0";
  device.speed_mbit = 10'000;
  host.data_devices = {device};
  return host;
}

// The machine that NCCL 2.28.9 dumped: GPU 0, the virtual NIC, GPU 1, all under the one CPU. Before
// the merge of views (2.22.3) the GPUs come first.
TEST(MachineDocument, VirtualNicUnderTheCpu) {
  for (const bool merged : {true, false}) {
    const graph::Element document =
        machine_document(machine_called("h200-vm-x2"), catalog(), Inventory{}, one_socket_device(),
                         merged ? Version{2, 22, 3} : Version{2, 21, 5});
    ASSERT_EQ(document.children.size(), 1U);
    const graph::Element& cpu = document.children[0];
    ASSERT_EQ(cpu.children.size(), 3U);
    EXPECT_EQ(cpu.children[0].child("gpu")->text("dev"), "0");
    EXPECT_EQ(cpu.children[merged ? 1 : 2].tag, "nic");
    EXPECT_EQ(cpu.children[merged ? 2 : 1].child("gpu")->text("dev"), "1");
    const graph::Element* link = cpu.children[0].child("gpu")->child("nvlink");
    ASSERT_NE(link, nullptr);
    EXPECT_EQ(link->text("count"), "18");
    EXPECT_EQ(link->text("tclass"), "0x068000");
    EXPECT_EQ(link->text("target"), "fffffff:ff:ff.0");
    EXPECT_EQ(cpu.children[0].text("link_speed"), "32.0 GT/s PCIe");
  }
}

std::vector<std::string> cpus_of(const std::string& machine) {
  const graph::Element document = machine_document(machine_called(machine), catalog(), Inventory{},
                                                   one_socket_device(), Version{2, 30, 7});
  std::vector<std::string> numbers;
  for (const graph::Element& cpu : document.children)
    numbers.push_back(cpu.text("numaid"));
  return numbers;
}

// GPU 0 of both machines does not hang on NUMA node 0. Detection meets the nodes in order of their
// first GPU (eth0 is virtual on Azure, Perlmutter has none); the vendor's file that Azure's images
// name lists them by number.
TEST(MachineDocument, CpusInOrderOfTheirGpusOrOfTheFile) {
  EXPECT_EQ(cpus_of("perlmutter"), (std::vector<std::string>{"3", "2", "1", "0"}));
  EXPECT_EQ(cpus_of("azure-ndv4"), (std::vector<std::string>{"0", "1", "2", "3"}));
}

// CPUs without GPU or device are not dumped: four of the eight NUMA nodes of DGX A100, and that of
// eth0.
TEST(MachineDocument, OnlyCpusThatHoldSomething) {
  EXPECT_EQ(cpus_of("dgx-a100"), (std::vector<std::string>{"3", "0", "1", "7", "5"}));
}

// GB200: 225 GB/s from a GPU into the CPU are five links of 45 GB/s.
TEST(MachineDocument, ChipToChip) {
  const graph::Element document = machine_document(
      machine_called("gb200-tray"), catalog(), Inventory{}, one_socket_device(), Version{2, 30, 7});
  const graph::Element& cpu = document.children.at(0);
  EXPECT_EQ(cpu.text("arch"), "arm64");
  EXPECT_EQ(cpu.find("vendor"), nullptr);
  const graph::Element* link = cpu.children.at(0).child("gpu")->child("c2c");
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->text("bw"), "44712");
  EXPECT_EQ(link->text("count"), "5");
}

// EFA is reached through the plugin Libfabric, which tells NCCL 75 us on p4d. RTX 4090 has no
// GPUDirect RDMA.
TEST(MachineDocument, PluginsAndGeForce) {
  const auto document_of = [](const std::string& name) {
    const topologies::Machine machine = machine_called(name);
    const Inventory inventory = machine_inventory(machine, 0, catalog());
    return machine_document(machine, catalog(), inventory,
                            machine_network(machine, inventory, catalog(), {}, Version{2, 28, 9}),
                            Version{2, 28, 9});
  };
  std::vector<std::string> above;
  const graph::Element amazon = document_of("aws-p4d");
  const graph::Element* net = find_net(amazon, "rdmap2", above);
  ASSERT_NE(net, nullptr);
  EXPECT_EQ(net->text("latency"), "75");
  EXPECT_EQ(net->text("speed"), "100000");
  EXPECT_EQ(net->text("port"), "1");
  EXPECT_EQ(net->text("dev"), "2");
  EXPECT_EQ(net->text("gdr"), "1");
  const graph::Element box = document_of("rtx4090-x8");
  const graph::Element* gpu = box.children.at(0).children.at(0).child("gpu");
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->text("gdr"), "0");
  EXPECT_EQ(gpu->find("nvlink"), nullptr);
}

// NCCL's own choice on a machine of ours: HCAs if any, else the plugin, else sockets.
TEST(MachineNetwork, AsNcclChooses) {
  const auto network = [](const std::string& name, const Environment& environment) {
    const topologies::Machine machine = machine_called(name);
    return machine_network(machine, machine_inventory(machine, 0, catalog()), catalog(),
                           environment, Version{2, 28, 9});
  };
  EXPECT_EQ(network("dgx-h100", {}).network, "IB");
  EXPECT_EQ(network("dgx-h100", {}).data_devices.size(), 8U);
  EXPECT_EQ(network("dgx-h100", {{"NCCL_IB_DISABLE", "1"}}).network, "Socket");
  EXPECT_EQ(network("perlmutter", {}).network, "Libfabric");
  EXPECT_EQ(network("perlmutter", {}).data_devices.size(), 4U);
  EXPECT_EQ(network("perlmutter", {{"NCCL_NET_PLUGIN", "none"}}).network, "Socket");
  EXPECT_EQ(network("h200-vm-x1", {}).network, "Socket");
  EXPECT_EQ(network("h200-vm-x1", {{"NCCL_NET", "IB"}}).outcome, Outcome::kError);
}

// Every machine of the catalogue can be written and read back, within the parser's limits.
TEST(MachineDocument, RoundTripOfTheCatalogue) {
  for (const topologies::Machine& machine : machines()) {
    SCOPED_TRACE(machine.name);
    const graph::Element document =
        machine_document(machine, catalog(), Inventory{}, one_socket_device(), Version{2, 30, 7});
    const std::string text = graph::print_topology(document);
    Problems problems;
    const graph::Element read = graph::parse_topology(text, machine.name, problems);
    EXPECT_TRUE(problems.empty());
    EXPECT_EQ(graph::print_topology(read), text);
  }
}

}  // namespace
}  // namespace busbw::nccl
