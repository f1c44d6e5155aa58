// Small hand-made topologies whose decisions can be worked out on paper.
#pragma once
#include <string>

#include <fmt/format.h>

#include "models/nccl/graph/xml.h"

namespace busbw::nccl::graph {

/// Reads a topology that must be good.
inline Element parsed(const std::string& text) {
  Problems problems;
  Element element = parse_topology(text, "test.xml", problems);
  problems.throw_if_any();
  return element;
}

inline std::string gpu_xml(int dev, int sm, const std::string& links) {
  return fmt::format(
      "<pci busid=\"0000:{0}0:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" "
      "link_width=\"16\"><gpu dev=\"{1}\" sm=\"{2}\" rank=\"{1}\" gdr=\"1\">{3}</gpu></pci>",
      dev + 1, dev, sm, links);
}

/// A NIC card below a PCIe x16 Gen4 link; speed in Mb/s.
inline std::string nic_xml(int dev, int speed) {
  return fmt::format(
      "<pci busid=\"0000:a{0}:00.0\" class=\"0x020000\" link_speed=\"16.0 GT/s PCIe\" "
      "link_width=\"16\"><nic><net name=\"mlx5_{0}\" dev=\"{0}\" speed=\"{1}\" port=\"1\" "
      "guid=\"0x{0}1\" gdr=\"1\"/></nic></pci>",
      dev, speed);
}

inline std::string system_xml(const std::string& inside) {
  return "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" "
         "familyid=\"6\" modelid=\"106\">" +
         inside + "</cpu></system>";
}

/// Two sm80 GPUs on one NVSwitch (12 links each) and a 200 Gb/s NIC, all behind one PCIe switch.
inline std::string two_gpus_one_nic() {
  const std::string links = "<nvlink target=\"0000:c1:00.0\" count=\"12\" tclass=\"0x068000\"/>";
  return system_xml(
      "<pci busid=\"0000:01:00.0\" class=\"0x060400\" vendor=\"0x10b5\" device=\"0x8747\" "
      "link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">" +
      gpu_xml(0, 80, links) + gpu_xml(1, 80, links) + nic_xml(0, 200'000) + "</pci>");
}

/// Eight sm89 GPUs without NVLink on two Intel sockets, on each two PCIe switches with two GPUs and
/// two 200 Gb/s NICs: many orders of the GPUs, few of which fit. What a search has most to do with.
inline std::string eight_pcie_gpus() {
  std::string cpus;
  for (int cpu = 0; cpu < 2; cpu++) {
    std::string switches;
    for (int s = 2 * cpu; s < 2 * cpu + 2; s++) {
      switches += fmt::format(
          "<pci busid=\"0000:c{}:00.0\" class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" "
          "link_width=\"16\">",
          s);
      switches += gpu_xml(2 * s, 89, "") + gpu_xml(2 * s + 1, 89, "");
      switches += nic_xml(2 * s, 200'000) + nic_xml(2 * s + 1, 200'000) + "</pci>";
    }
    cpus += fmt::format(
        "<cpu numaid=\"{}\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
        "modelid=\"143\">{}</cpu>",
        cpu, switches);
  }
  return "<system version=\"1\">" + cpus + "</system>";
}

/// Eight sm90 GPUs on NVSwitches (18 links each), each with a 400 Gb/s NIC on its own PCIe switch.
inline std::string eight_nvswitch_gpus() {
  std::string inside;
  for (int i = 0; i < 8; i++) {
    inside += fmt::format(
        "<pci busid=\"0000:c{}:00.0\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" "
        "link_width=\"16\">{}{}</pci>",
        i, gpu_xml(i, 90, "<nvlink target=\"0000:f1:00.0\" count=\"18\" tclass=\"0x068000\"/>"),
        nic_xml(i, 400'000));
  }
  return system_xml(inside);
}

/// A tray of an NVLink domain: four sm100 GPUs (18 links) and a 400 Gb/s NIC each.
inline std::string nvlink_tray() {
  std::string inside;
  for (int i = 0; i < 4; i++) {
    inside += gpu_xml(i, 100, "<nvlink target=\"0000:f1:00.0\" count=\"18\" tclass=\"0x068000\"/>");
    inside += nic_xml(i, 400'000);
  }
  return system_xml(inside);
}

}  // namespace busbw::nccl::graph
