// A catalogue small enough to work with by hand, independent of the files of the product.
#pragma once
#include "topologies/catalog.h"

namespace busbw::topologies {

inline void add_small_links(Catalog& catalog) {
  for (std::int32_t generation = 2; generation <= 5; generation++) {
    NvLinkGeneration nvlink;
    nvlink.name = "NVLink" + std::to_string(generation);
    nvlink.generation = generation;
    nvlink.per_link = Bandwidth::gigabytes_per_second(generation == 5 ? 50 : 25);
    nvlink.latency = Duration::nanoseconds(300);
    catalog.nvlink.push_back(nvlink);
  }
  for (std::int32_t generation = 3; generation <= 5; generation++) {
    PcieGeneration pcie;
    pcie.name = "Gen" + std::to_string(generation);
    pcie.generation = generation;
    pcie.megatransfers = 8000 << (generation - 3);
    pcie.encoding = Ratio{128, 130};
    pcie.latency = Duration::nanoseconds(150);
    catalog.pcie.push_back(pcie);
  }
  InfiniBandRate rate;
  rate.name = "FDR";
  rate.data = Bandwidth::bits_per_second(13'636'363'636);
  rate.lanes = {1, 4, 8, 12};
  catalog.infiniband.push_back(rate);
  rate.name = "HDR";
  rate.data = Bandwidth::gigabits_per_second(50);
  rate.lanes = {1, 2, 4};
  catalog.infiniband.push_back(rate);
}

inline void add_small_gpu(Catalog& catalog, const char* name, std::int32_t pcie,
                          std::int32_t nvlink, std::int32_t links) {
  GpuModel gpu;
  gpu.name = name;
  gpu.pcie_generation = pcie;
  gpu.nvlink_generation = nvlink;
  gpu.nvlink_links = links;
  catalog.gpus.push_back(gpu);
}

/// GPUs "Cube" (6 NVLink 2), "Mesh" (12 NVLink 3), "Hub" (18 NVLink 4), "Tray" (18 NVLink 5, C2C)
/// and "Plain" (none); NICs "HCA" (200 Gb/s, two ports, both link layers) and "Ether" (10 Gb/s);
/// CPU "Xeon" (interconnect 60 GB/s, memory 200 GB/s); switches "IB40" and "Eth4"; PCIe 3, 4, 5;
/// NVLink 2 to 5.
inline Catalog small_catalog() {
  const auto gbs = Bandwidth::gigabytes_per_second;
  const auto gbits = Bandwidth::gigabits_per_second;
  const auto ns = Duration::nanoseconds;
  Catalog catalog;
  add_small_links(catalog);
  add_small_gpu(catalog, "Cube", 3, 2, 6);
  add_small_gpu(catalog, "Mesh", 4, 3, 12);
  add_small_gpu(catalog, "Hub", 5, 4, 18);
  add_small_gpu(catalog, "Tray", 5, 5, 18);
  catalog.gpus.back().chip_to_chip = gbs(225);
  add_small_gpu(catalog, "Plain", 4, 0, 0);
  NicModel hca;
  hca.name = "HCA";
  hca.aliases = {"MT4123"};
  hca.link_layers = {NicLinkLayer::kInfiniBand, NicLinkLayer::kEthernet};
  hca.port_rate = gbits(200);
  hca.ports = 2;
  hca.rdma = true;
  hca.pcie_generation = 4;
  hca.pcie_lanes = 16;
  hca.latency = ns(600);
  catalog.nics.push_back(hca);
  NicModel ether;
  ether.name = "Ether";
  ether.link_layers = {NicLinkLayer::kEthernet};
  ether.port_rate = gbits(10);
  ether.pcie_generation = 3;
  ether.pcie_lanes = 8;
  ether.latency = ns(1000);
  catalog.nics.push_back(ether);
  CpuModel cpu;
  cpu.name = "Xeon";
  cpu.interconnect = gbs(60);
  cpu.interconnect_latency = ns(70);
  cpu.memory_bandwidth = gbs(200);
  catalog.cpus.push_back(cpu);
  SwitchModel infiniband;
  infiniband.name = "IB40";
  infiniband.fabric = "InfiniBand";
  infiniband.ports = 40;
  infiniband.port_rate = gbits(200);
  infiniband.latency = ns(130);
  catalog.switches.push_back(infiniband);
  SwitchModel ethernet = infiniband;
  ethernet.name = "Eth4";
  ethernet.fabric = "Ethernet";
  ethernet.ports = 4;
  ethernet.port_rate = gbits(10);
  ethernet.latency = ns(500);
  catalog.switches.push_back(ethernet);
  return catalog;
}

}  // namespace busbw::topologies
