// The catalogue's machines against NCCL topology files of such machines: sockets, PCIe switches,
// NVLinks and HCAs must be where NCCL saw them.
//
// The files lie beside the source tree and may be absent; then these tests are skipped.
#include <filesystem>
#include <map>
#include <pugixml.hpp>

#include <gtest/gtest.h>

#include "topologies/machine.h"

namespace busbw::topologies {
namespace {

/// What the comparison looks at, taken from either side.
struct Shape {
  std::vector<std::int32_t> gpu_numa;
  std::vector<std::string> gpu_parent;  // name of the element above; only equality counts
  LinkMatrix direct;                    // NVLinks between GPUs
  std::vector<std::int32_t> to_switch;  // NVLinks into an NVSwitch
  std::vector<std::int32_t> hca_numa;
  std::vector<std::string> hca_parent;
  std::vector<std::int64_t> hca_mbit;
};

Shape shape_of(const Machine& machine) {
  Shape shape;
  for (const MachineGpu& gpu : machine.gpus) {
    shape.gpu_numa.push_back(machine.cpu_above(gpu.attach));
    shape.gpu_parent.push_back(gpu.attach);
  }
  const std::int32_t gpus = static_cast<std::int32_t>(machine.gpus.size());
  const bool hub = machine.wiring == NvLinkWiring::kNvSwitch;
  shape.direct = machine.nvlink_matrix.empty() ? mesh_matrix(gpus, 0) : machine.nvlink_matrix;
  shape.to_switch.assign(machine.gpus.size(), hub ? machine.nvlink_links_per_gpu : 0);
  for (const MachineNic& nic : machine.nics) {
    if (nic.rdma) {
      shape.hca_numa.push_back(machine.cpu_above(*nic.attach));
      shape.hca_parent.push_back(*nic.attach);
      shape.hca_mbit.push_back(nic.rate.bps() / 1'000'000);
    }
  }
  return shape;
}

Shape shape_of(const pugi::xml_document& document) {
  Shape shape;
  std::map<std::string, std::size_t> by_bus;
  const auto elements = document.select_nodes("//gpu");
  for (const pugi::xpath_node& element : elements) {
    const pugi::xml_node device = element.node().parent();
    by_bus.emplace(device.attribute("busid").value(), by_bus.size());
    shape.gpu_parent.emplace_back(device.parent().attribute("busid").value());
    shape.gpu_numa.push_back(
        element.node().select_node("ancestor::cpu").node().attribute("numaid").as_int());
  }
  shape.direct = mesh_matrix(static_cast<std::int32_t>(elements.size()), 0);
  shape.to_switch.assign(elements.size(), 0);
  std::size_t gpu = 0;
  for (const pugi::xpath_node& element : elements) {
    for (const pugi::xml_node link : element.node().children("nvlink")) {
      const auto peer = by_bus.find(link.attribute("target").value());
      std::int32_t& count =
          peer == by_bus.end() ? shape.to_switch[gpu] : shape.direct[gpu][peer->second];
      count += link.attribute("count").as_int();
    }
    gpu++;
  }
  for (const pugi::xpath_node& element : document.select_nodes("//net")) {
    const pugi::xml_node device = element.node().parent().parent();
    shape.hca_parent.emplace_back(device.parent().attribute("busid").value());
    shape.hca_numa.push_back(
        element.node().select_node("ancestor::cpu").node().attribute("numaid").as_int());
    shape.hca_mbit.push_back(element.node().attribute("speed").as_llong());
  }
  return shape;
}

void expect_same(const Shape& ours, const Shape& seen) {
  EXPECT_EQ(ours.gpu_numa, seen.gpu_numa);
  EXPECT_EQ(ours.direct, seen.direct);
  EXPECT_EQ(ours.to_switch, seen.to_switch);
  EXPECT_EQ(ours.hca_numa, seen.hca_numa);
  EXPECT_EQ(ours.hca_mbit, seen.hca_mbit);
  ASSERT_EQ(ours.gpu_parent.size(), seen.gpu_parent.size());
  ASSERT_EQ(ours.hca_parent.size(), seen.hca_parent.size());
  for (std::size_t a = 0; a < ours.gpu_parent.size(); a++) {
    for (std::size_t b = 0; b < a; b++) {
      EXPECT_EQ(ours.gpu_parent[a] == ours.gpu_parent[b], seen.gpu_parent[a] == seen.gpu_parent[b])
          << "GPU " << a << " and " << b << " under one switch";
    }
    for (std::size_t b = 0; b < ours.hca_parent.size(); b++) {
      EXPECT_EQ(ours.gpu_parent[a] == ours.hca_parent[b], seen.gpu_parent[a] == seen.hca_parent[b])
          << "GPU " << a << " and HCA " << b << " under one switch";
    }
  }
}

void compare(const std::string& name, const std::string& file) {
  const std::string path = std::string(BUSBW_SHARED_DIR) + "/oracle/" + file;
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "no topology file " << file;
  }
  pugi::xml_document document;
  ASSERT_TRUE(document.load_file(path.c_str()));
  Problems problems;
  const Catalog catalog = load_catalog(BUSBW_SOURCE_DIR "/topologies/catalog", problems);
  for (const Machine& machine :
       load_machines(BUSBW_SOURCE_DIR "/topologies/catalog/machines", catalog, problems)) {
    if (machine.name == name) {
      expect_same(shape_of(machine), shape_of(document));
      return;
    }
  }
  FAIL() << "no machine " << name;
}

TEST(PublishedMachine, Dgx1V) {
  compare("dgx-1v", "topologies/v100x8_dgx1_derived.xml");
}
TEST(PublishedMachine, A100Mesh) {
  compare("a100-40gb-x4", "case-machine/hca-100G.xml");
}
TEST(PublishedMachine, HgxH100) {
  compare("dgx-h100", "topologies/h100x8_azure_ndv5.xml");
}

}  // namespace
}  // namespace busbw::topologies
