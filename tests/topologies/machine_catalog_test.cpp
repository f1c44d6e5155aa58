// The machines of the catalogue: every file is read and built, and their shape is as published, by
// hand.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "topologies/build.h"
#include "topologies/machine.h"

namespace busbw::topologies {
namespace {

const std::string kDirectory = std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog";

const Catalog& catalog() {
  static const Catalog result = [] {
    Problems problems;
    Catalog read = load_catalog(kDirectory, problems);
    problems.throw_if_any();
    return read;
  }();
  return result;
}

const std::map<std::string, Machine>& machines() {
  static const std::map<std::string, Machine> result = [] {
    Problems problems;
    std::map<std::string, Machine> by_name;
    for (Machine& machine : load_machines(kDirectory + "/machines", catalog(), problems)) {
      by_name.emplace(machine.name, std::move(machine));
    }
    problems.throw_if_any();
    return by_name;
  }();
  return result;
}

const Machine& machine(const std::string& name) {
  return machines().at(name);
}

BuiltCluster alone(const std::string& name) {
  Cluster cluster;
  cluster.hosts.push_back(machine(name));
  return build(cluster, catalog());
}

/// Smallest capacity of the route between two GPUs, in GB/s; 0 without one.
double width(const BuiltCluster& built, std::size_t from, std::size_t to,
             const RouteFilter& filter) {
  const auto route = built.fabric.route(built.gpus[0][from], built.gpus[0][to], filter);
  if (!route) {
    return 0;
  }
  Bandwidth least = Bandwidth::gigabytes_per_second(1'000'000);
  for (const LinkId link : *route) {
    least = std::min(least, built.fabric.link(link).capacity);
  }
  return least.as_gigabytes_per_second();
}

struct Shape {
  const char* name;
  std::size_t gpus;
  double nvlink_0_to_1;  // GB/s one way, 0: none
  std::size_t hcas;
};

// DGX-1V: GPU 0 and 1 share one NVLink 2 (25 GB/s). NVSwitch hosts: all links of a GPU, 6 x 25, 12
// x 25, 18 x 25 and 18 x 50 GB/s. A100 x4: four links a pair, 100 GB/s.
TEST(MachineCatalog, ShapesByHand) {
  const std::vector<Shape> shapes = {{"dgx-1v", 8, 25, 4},        {"dgx-2", 16, 150, 8},
                                     {"dgx-a100", 8, 300, 8},     {"dgx-a100-80gb", 8, 300, 8},
                                     {"a100-40gb-x4", 4, 100, 1}, {"dgx-h100", 8, 450, 8},
                                     {"dgx-h200", 8, 450, 8},     {"dgx-b200", 8, 900, 8},
                                     {"gb200-tray", 4, 900, 4},   {"l40s-x8", 8, 0, 2},
                                     {"rtx4090-x8", 8, 0, 1},     {"aws-p4d", 8, 300, 4},
                                     {"azure-ndv4", 8, 300, 8},   {"azure-ndv5", 8, 450, 8},
                                     {"perlmutter", 4, 100, 4},   {"leonardo-booster", 4, 100, 4},
                                     {"h200-vm-x1", 1, 0, 0},     {"h200-vm-x2", 2, 450, 0},
                                     {"h200-vm-x4", 4, 450, 0},   {"aws-p4de", 8, 300, 4},
                                     {"aws-p5", 8, 450, 8},       {"aws-p5en", 8, 450, 8},
                                     {"aws-p6-b200", 8, 900, 8},  {"gcp-a3-high", 8, 450, 4},
                                     {"gcp-a3-mega", 8, 450, 8},  {"gcp-a3-ultra", 8, 450, 8},
                                     {"gcp-a4", 8, 900, 8},       {"oci-bm-gpu-b4-8", 8, 300, 8},
                                     {"alps-gh200", 4, 150, 4},   {"oci-bm-gpu-h100-8", 8, 450, 8},
                                     {"dgx-spark", 1, 0, 2},      {"jean-zay-v100", 4, 50, 4},
                                     {"gb300-tray", 4, 900, 4},   {"jean-zay-a100", 8, 300, 4}};
  std::set<std::string> listed;
  for (const Shape& shape : shapes) {
    listed.insert(shape.name);
    ASSERT_EQ(machines().count(shape.name), 1U) << shape.name;
    const Machine& host = machine(shape.name);
    EXPECT_FALSE(host.source.empty()) << shape.name;
    ASSERT_EQ(host.gpus.size(), shape.gpus) << shape.name;
    std::size_t hcas = 0;
    for (const MachineNic& nic : host.nics) {
      hcas += nic.rdma ? 1 : 0;
    }
    EXPECT_EQ(hcas, shape.hcas) << shape.name;
    if (shape.gpus > 1) {
      EXPECT_EQ(width(alone(shape.name), 0, 1, nvlink_only()), shape.nvlink_0_to_1) << shape.name;
    }
  }
  for (const auto& [name, host] : machines()) {
    EXPECT_EQ(listed.count(name), 1U) << name << " is in the catalogue and not in this test";
  }
}

// A machine cannot use more NVLinks than its GPU has.
TEST(MachineCatalog, LinksFitTheGpu) {
  for (const auto& [name, host] : machines()) {
    const GpuModel* gpu = catalog().gpu(host.gpu_model);
    ASSERT_NE(gpu, nullptr) << name;
    EXPECT_LE(host.nvlink_links_per_gpu, gpu->nvlink_links) << name;
    for (const std::vector<std::int32_t>& row : host.nvlink_matrix) {
      std::int32_t used = 0;
      for (const std::int32_t links : row) {
        used += links;
      }
      EXPECT_LE(used, gpu->nvlink_links) << name;
    }
  }
}

// NVSwitch: any to any at the full rate. Hybrid cube mesh: some pairs have no direct link, and then
// a GPU between.
TEST(MachineCatalog, AnyToAnyOnlyWithNvSwitch) {
  for (const char* name : {"dgx-2", "dgx-a100", "dgx-h100", "dgx-b200"}) {
    const BuiltCluster built = alone(name);
    const double full = width(built, 0, 1, nvlink_only());
    for (std::size_t a = 0; a < built.gpus[0].size(); a++) {
      for (std::size_t b = 0; b < built.gpus[0].size(); b++) {
        if (a != b) {
          EXPECT_EQ(width(built, a, b, nvlink_only()), full) << name << " " << a << " " << b;
        }
      }
    }
  }
  const BuiltCluster dgx1 = alone("dgx-1v");
  EXPECT_EQ(width(dgx1, 0, 3, nvlink_only()), 50);     // two links
  EXPECT_EQ(width(dgx1, 0, 4, nvlink_only()), 50);     // two links across
  EXPECT_EQ(width(dgx1, 0, 5, nvlink_only()), 0);      // none
  EXPECT_GT(width(dgx1, 0, 5, nvlink_only(true)), 0);  // through GPU 1 or 4
}

// Every GPU reaches every other over the host, also where NVLink joins them, no faster than its own
// slot.
TEST(MachineCatalog, EveryGpuIsReachedOverTheHost) {
  for (const auto& [name, host] : machines()) {
    const BuiltCluster built = alone(name);
    const Bandwidth c2c = catalog().gpu(host.gpu_model)->chip_to_chip.value_or(Bandwidth());
    const Bandwidth pcie =
        pcie_bandwidth(*catalog().pcie_generation(host.pcie_generation), host.gpu_pcie_lanes);
    const double slot = std::max(c2c, pcie).as_gigabytes_per_second();
    for (std::size_t b = 1; b < built.gpus[0].size(); b++) {
      const double over_host = width(built, 0, b, host_only());
      EXPECT_GT(over_host, 0) << name << " " << b;
      EXPECT_LE(over_host, slot) << name << " " << b;
    }
  }
}

TEST(MachineCatalog, AdaptersBesideTheirGpus) {
  // DGX-1V: one EDR adapter for two GPUs, under their switch. DGX H100: one NDR adapter for each
  // GPU.
  for (std::size_t i = 0; i < 8; i++) {
    EXPECT_EQ(machine("dgx-1v").gpus[i].attach, machine("dgx-1v").nics[1 + i / 2].attach) << i;
    EXPECT_EQ(machine("dgx-h100").gpus[i].attach, machine("dgx-h100").nics[1 + i].attach) << i;
  }
  EXPECT_EQ(machine("dgx-1v").nics[1].rate, Bandwidth::gigabits_per_second(100));
  EXPECT_EQ(machine("dgx-h100").nics[1].rate, Bandwidth::gigabits_per_second(400));
  // DGX-2: GPU 0 and 1 under one leaf switch, 2 and 3 under its neighbour, both under one upper
  // switch.
  EXPECT_EQ(machine("dgx-2").pcie_switches.size(), 12U);
  EXPECT_EQ(machine("dgx-2").gpus[0].attach, machine("dgx-2").gpus[1].attach);
  EXPECT_NE(machine("dgx-2").gpus[1].attach, machine("dgx-2").gpus[2].attach);
  EXPECT_EQ(machine("dgx-2").cpu_above(machine("dgx-2").gpus[7].attach), 0);
  EXPECT_EQ(machine("dgx-2").cpu_above(machine("dgx-2").gpus[8].attach), 1);
  EXPECT_FALSE(machine("rtx4090-x8").peer_to_peer);
  EXPECT_TRUE(machine("l40s-x8").peer_to_peer);
}

}  // namespace
}  // namespace busbw::topologies
