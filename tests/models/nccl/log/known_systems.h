// Systems behind published logs, as far as their reports describe them.
#pragma once
#include <string>

#include "tests/models/nccl/log/log_text.h"

namespace busbw::nccl::log {

inline std::string pci(const std::string& bus, const std::string& speed, int width,
                       const std::string& inside) {
  return fmt::format(
      "<pci busid=\"0000:{}:00.0\" link_speed=\"{} GT/s PCIe\" link_width=\"{}\" "
      "class=\"0x020000\">{}</pci>",
      bus, speed, width, inside);
}

inline std::string net(const std::string& name, int dev, int speed, const std::string& guid) {
  return fmt::format(
      "<nic><net name=\"{}\" dev=\"{}\" speed=\"{}\" port=\"1\" guid=\"{}\" "
      "gdr=\"1\"/></nic>",
      name, dev, speed, guid);
}

inline std::string cpu(int numa, const std::string& vendor, const std::string& inside) {
  return fmt::format(
      "<cpu numaid=\"{}\" arch=\"x86_64\" vendor=\"{}\" familyid=\"6\" "
      "modelid=\"85\">{}</cpu>",
      numa, vendor, inside);
}

/// https://github.com/NVIDIA/nccl-tests/issues/293: two hosts with one A100 PCIe and one HDR card
/// each, NCCL 2.21.5 with the plugin IBext_v8; the card is not on the GPU's switch.
inline Job a100_pcie_hdr() {
  Job job;
  job.topology =
      graph::parsed("<system version=\"1\">" +
                    cpu(0, "AuthenticAMD",
                        pci("81", "16.0", 16, "<gpu dev=\"0\" sm=\"80\" rank=\"0\" gdr=\"1\"/>") +
                            pci("a1", "16.0", 16, net("mlx5_0", 0, 200'000, "0x1"))) +
                    "</system>");
  job.hosts = 2;
  job.version = {2, 21, 5};
  job.network = "IBext_v8";
  return job;
}

/// Four V100 with two NVLinks between each pair and Omni-Path NICs that one host does not need:
/// https://github.com/bigscience-workshop/bigscience (n1_16gb_all_reduce_bench.txt, NCCL 2.7.8).
inline Job v100_mesh() {
  const std::string bus[] = {"1a", "1c", "88", "8a"};
  std::string cpus;
  for (int socket = 0; socket < 2; socket++) {
    std::string gpus;
    for (int gpu = 2 * socket; gpu < 2 * socket + 2; gpu++) {
      std::string links;
      for (int other = 0; other < 4; other++) {
        if (other != gpu)
          links +=
              "<nvlink target=\"0000:" + bus[other] + ":00.0\" count=\"2\" tclass=\"0x030200\"/>";
      }
      gpus += pci(
          bus[gpu], "8.0", 16,
          fmt::format("<gpu dev=\"{0}\" sm=\"70\" rank=\"{0}\" gdr=\"0\">{1}</gpu>", gpu, links));
    }
    const std::string nics[] = {net("hfi1_0", 0, 100'000, "0x1"), net("hfi1_1", 1, 100'000, "0x2"),
                                net("hfi1_2", 2, 100'000, "0x3"), net("hfi1_3", 3, 100'000, "0x4")};
    for (int nic = 2 * socket; nic < 2 * socket + 2; nic++)
      gpus += pci(fmt::format("{:02x}", 0x3b + nic), "8.0", 16, nics[nic]);
    cpus += cpu(socket, "GenuineIntel", gpus);
  }
  Job job;
  job.topology = graph::parsed("<system version=\"1\">" + cpus + "</system>");
  job.version = {2, 18, 1};
  return job;
}

/// https://github.com/NVIDIA/nccl/issues/428: two GPUs, NCCL_P2P_LEVEL=LOC, no HCA, sockets em1 and
/// a tunnel (NCCL 2.8.3).
inline Job two_gpus_two_sockets() {
  Job job;
  job.topology = graph::parsed(
      "<system version=\"1\">" +
      cpu(0, "GenuineIntel",
          pci("04", "8.0", 16, "<gpu dev=\"0\" sm=\"70\" rank=\"0\" gdr=\"0\"/>") +
              pci("05", "8.0", 16, "<gpu dev=\"1\" sm=\"70\" rank=\"1\" gdr=\"0\"/>") +
              "<nic><net name=\"em1\" dev=\"0\" speed=\"1000\" port=\"0\" guid=\"0x0\"/>"
              "<net name=\"tunl0\" dev=\"1\" speed=\"10000\" port=\"0\" guid=\"0x1\"/></nic>") +
      "</system>");
  job.version = {2, 18, 1};
  job.environment = {{"NCCL_P2P_LEVEL", "LOC"}};
  return job;
}

/// The H200 machine of our own measurements: GPUs on an NVSwitch, NICs that are sockets on a
/// processor of NUMA node -1 (family 6, model 207).
inline graph::Element h200_sockets(int gpus, const std::vector<std::string>& nics) {
  std::string inside;
  for (int gpu = 0; gpu < gpus; gpu++) {
    inside += fmt::format(
        "<pci busid=\"0000:00:0{0}.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" "
        "link_width=\"0\"><gpu dev=\"{1}\" sm=\"90\" rank=\"{1}\" gdr=\"1\"><nvlink "
        "target=\"fffffff:ff:ff.0\" count=\"18\" tclass=\"0x068000\"/></gpu></pci>",
        6 + gpu, gpu);
    if (gpu > 0)
      continue;
    inside += "<nic>";
    for (std::size_t nic = 0; nic < nics.size(); nic++) {
      inside += fmt::format(
          "<net name=\"{0}\" dev=\"{1}\" latency=\"0\" speed=\"10000\" port=\"0\" "
          "guid=\"0x{1:x}\" maxconn=\"65536\" gdr=\"0\"/>",
          nics[nic], nic);
    }
    inside += "</nic>";
  }
  return graph::parsed(
      "<system version=\"1\"><cpu numaid=\"-1\" arch=\"x86_64\" "
      "vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"207\">" +
      inside + "</cpu></system>");
}

}  // namespace busbw::nccl::log
