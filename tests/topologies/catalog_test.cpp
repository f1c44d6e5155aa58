// The hardware catalogue: every file read, well-known numbers by hand, consistency of all records,
// bad files.
#include "topologies/catalog.h"

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "sim/core/text.h"
#include "sim/core/yaml.h"

namespace busbw::topologies {
namespace {

namespace fs = std::filesystem;

const std::string kDirectory = std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog";

const Catalog& shipped() {
  static const Catalog catalog = [] {
    Problems problems;
    Catalog result = load_catalog(kDirectory, problems);
    problems.throw_if_any();
    return result;
  }();
  return catalog;
}

Bandwidth gbps(std::int64_t v) {
  return Bandwidth::gigabits_per_second(v);
}
Bandwidth gbytes(std::int64_t v) {
  return Bandwidth::gigabytes_per_second(v);
}

/// Fabrics lie beside the lists; tests/topologies/networks loads them.
bool is_fabric(const fs::path& file) {
  Problems problems;
  const YamlNode root = load_yaml(file.string(), problems);
  const YamlNode* schema = root.is_mapping() ? root.find("schema") : nullptr;
  return schema != nullptr && schema->text() == "busbw.fabric/1";
}

TEST(Catalog, EveryFileIsRead) {
  const Catalog& catalog = shipped();
  EXPECT_EQ(catalog.directory, kDirectory);
  std::set<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(kDirectory)) {
    if (entry.is_regular_file() && !is_fabric(entry.path())) {
      files.insert(entry.path().filename().string());
    }
  }
  // transports.yaml is read by models/params.
  EXPECT_EQ(files, (std::set<std::string>{"cables.yaml", "cpus.yaml", "ethernet.yaml", "gpus.yaml",
                                          "infiniband.yaml", "nics.yaml", "nvlink.yaml",
                                          "pcie.yaml", "switches.yaml", "transports.yaml"}));
  // The parts that the product promises by name.
  for (const char* name :
       {"V100",           "V100-SXM2-32GB", "V100-PCIe",     "A100-SXM4-40GB", "A100-SXM4-80GB",
        "A100-PCIE-40GB", "A100-PCIE-80GB", "A100-SXM-64GB", "H100",           "H100-PCIe",
        "H200",           "B200",           "GB200",         "GH200",          "A10",
        "A10G",           "L40S",           "RTX 4090",      "RTX 2080 Ti",    "T4"}) {
    EXPECT_NE(catalog.gpu(name), nullptr) << name;
  }
  for (const char* name :
       {"ConnectX-5", "ConnectX-6", "ConnectX-6 Dx", "ConnectX-7", "ConnectX-8", "BlueField-2",
        "BlueField-3", "EFA p4d", "EFA p5", "gVNIC", "10GbE", "25GbE", "100GbE", "200GbE", "400GbE",
        "Omni-Path 100", "Slingshot 200"}) {
    EXPECT_NE(catalog.nic(name), nullptr) << name;
  }
  for (const char* name : {"Broadwell", "Skylake", "Cascade Lake", "Ice Lake",
                           "Intel Sapphire Rapids", "Intel Emerald Rapids", "AMD Rome", "AMD Milan",
                           "AMD Genoa", "AMD Turin", "Grace", "POWER9"}) {
    EXPECT_NE(catalog.cpu(name), nullptr) << name;
  }
  for (const char* name : {"QM8700", "QM9700", "Quantum-X800", "SN4600", "SN5600", "Tomahawk 4",
                           "Tomahawk 5", "SB7800", "10GbE management switch"}) {
    EXPECT_NE(catalog.network_switch(name), nullptr) << name;
  }
  EXPECT_EQ(catalog.nvlink.size(), 5U);
  EXPECT_EQ(catalog.pcie.size(), 6U);
}

// Rates as the field quotes them: names of SDR to FDR are 4x signalling, from EDR on 4x data.
TEST(Catalog, InfiniBandRatesByHand) {
  struct Known {
    const char* name;
    std::int64_t signalling_4x_mbps;  // 4 x lane
    std::int64_t data_4x_mbps;
  };
  // 4 x 14.0625 = 56.25; x 64/66 = 54.545. 4 x 25.78125 = 103.125; x 64/66 = 100.
  // 4 x 53.125 = 212.5; x 16/17 = 200.
  for (const Known& known :
       {Known{"SDR", 10'000, 8'000}, Known{"DDR", 20'000, 16'000}, Known{"QDR", 40'000, 32'000},
        Known{"FDR10", 41'250, 40'000}, Known{"FDR", 56'250, 54'545},
        Known{"EDR", 103'125, 100'000}, Known{"HDR", 212'500, 200'000},
        Known{"NDR", 425'000, 400'000}, Known{"XDR", 850'000, 800'000}}) {
    const InfiniBandRate* rate = shipped().infiniband_rate(known.name);
    ASSERT_NE(rate, nullptr) << known.name;
    EXPECT_EQ((rate->signalling * 4).bps() / 1'000'000, known.signalling_4x_mbps) << known.name;
    EXPECT_EQ((rate->data * 4).bps() / 1'000'000, known.data_4x_mbps) << known.name;
  }
  EXPECT_EQ(shipped().infiniband_rate("hdr")->lanes, (std::vector<std::int32_t>{1, 2, 4, 8, 12}));
}

// signalling x encoding == data for every lane, the ratio taken from the text of the encoding, not
// from `coding`.
TEST(Catalog, LineCodingExplainsEveryDataRate) {
  const auto ratio = [](const std::string& encoding) {
    return encoding == "8b/10b"    ? Ratio{8, 10}
           : encoding == "64b/66b" ? Ratio{64, 66}
           : encoding == "PAM4, 256b/257b and RS(544,514)"
               ? Ratio{std::int64_t{256} * 514, std::int64_t{257} * 544}
               : Ratio{0, 1};
  };
  for (const InfiniBandRate& rate : shipped().infiniband) {
    EXPECT_EQ(rate.signalling * ratio(rate.encoding), rate.data) << rate.name;
  }
  for (const EthernetRate& rate : shipped().ethernet) {
    EXPECT_EQ(rate.signalling * ratio(rate.encoding) * rate.lanes, rate.rate) << rate.name;
  }
}

TEST(Catalog, GenerationsFollowInOrder) {
  for (std::size_t i = 0; i < shipped().nvlink.size(); i++) {
    EXPECT_EQ(shipped().nvlink[i].generation, static_cast<std::int32_t>(i) + 1);
  }
  for (std::size_t i = 0; i < shipped().pcie.size(); i++) {
    EXPECT_EQ(shipped().pcie[i].generation, static_cast<std::int32_t>(i) + 1);
    if (i > 0) {
      EXPECT_GT(pcie_bandwidth(shipped().pcie[i], 1), pcie_bandwidth(shipped().pcie[i - 1], 1));
    }
  }
  for (std::size_t i = 1; i < shipped().infiniband.size(); i++) {
    EXPECT_GT(shipped().infiniband[i].data, shipped().infiniband[i - 1].data);
  }
}

TEST(Catalog, PcieByHand) {
  // Gen1 x1: 2.5 GT/s x 8/10 = 2 Gb/s. Gen3 x16: 8 x 16 x 128/130 = 126.03 Gb/s = 15.75 GB/s.
  // Gen5 x16: 32 x 16 x 128/130 = 504.12 Gb/s = 63.02 GB/s. Gen6 x16: 64 x 16 x 242/256 = 968 Gb/s
  // = 121 GB/s.
  const Catalog& catalog = shipped();
  EXPECT_EQ(pcie_bandwidth(*catalog.pcie_generation(1), 1), gbps(2));
  EXPECT_EQ(pcie_bandwidth(*catalog.pcie_generation(2), 16), gbytes(8));
  EXPECT_EQ(pcie_bandwidth(*catalog.pcie_generation(3), 16).bps(), 126'030'769'231);
  EXPECT_EQ(pcie_bandwidth(*catalog.pcie_generation(4), 16).bps(), 252'061'538'462);
  EXPECT_EQ(pcie_bandwidth(*catalog.pcie_generation(5), 16).bps(), 504'123'076'923);
  EXPECT_EQ(pcie_bandwidth(*catalog.pcie_generation(6), 16), gbytes(121));
  // Packets of 256 bytes with 24 around them: 256/280.
  EXPECT_EQ(catalog.pcie_generation(5)->efficiency, (Ratio{32, 35}));
  EXPECT_EQ(catalog.pcie_generation(7), nullptr);
}

// Copies between pinned host memory and one H200, measured for this project, NCCL 2.28.9 machine,
// 2026-11-29: 55.3 GB/s. What packets leave of Gen5 x16 must be above that, and not by much more
// than flow control can explain.
TEST(Catalog, PciePayloadIsAboveTheMeasuredCopy) {
  const PcieGeneration& gen5 = *shipped().pcie_generation(5);
  const double payload = (pcie_bandwidth(gen5, 16) * gen5.efficiency).as_gigabytes_per_second();
  EXPECT_GT(payload, 55.3);
  EXPECT_LT(payload, 55.3 * 1.06);
}

TEST(Catalog, NvLinkTotalsByHand) {
  // links x rate one way: 6 x 25 = 150, 12 x 25 = 300, 18 x 25 = 450, 18 x 50 = 900 GB/s.
  struct Known {
    const char* gpu;
    std::int64_t one_way;
  };
  for (const Known& known : {Known{"P100", 80}, Known{"V100", 150}, Known{"A100", 300},
                             Known{"A100-PCIE-80GB", 300}, Known{"A800", 200}, Known{"H100", 450},
                             Known{"H100-PCIe", 300}, Known{"H200", 450}, Known{"B200", 900}}) {
    const GpuModel* gpu = shipped().gpu(known.gpu);
    ASSERT_NE(gpu, nullptr) << known.gpu;
    const NvLinkGeneration* nvlink = shipped().nvlink_generation(gpu->nvlink_generation);
    ASSERT_NE(nvlink, nullptr) << known.gpu;
    EXPECT_EQ(nvlink->per_link * gpu->nvlink_links, gbytes(known.one_way)) << known.gpu;
  }
  for (const char* name : {"T4", "A10", "L40S", "RTX 4090", "V100-PCIE-32GB"}) {
    EXPECT_EQ(shipped().gpu(name)->nvlink_links, 0) << name;
  }
  // NVLink 4 both ways against PCIe Gen5 x16 one way: 900 / 63.02 = 14.3.
  const double ratio =
      900e9 * 8 / static_cast<double>(pcie_bandwidth(*shipped().pcie_generation(5), 16).bps());
  EXPECT_NEAR(ratio, 14.3, 0.05);
}

TEST(Catalog, GpusByHand) {
  EXPECT_EQ(shipped().gpu("V100-SXM2-16GB")->sm, 70);
  EXPECT_EQ(shipped().gpu("T4")->sm, 75);
  EXPECT_EQ(shipped().gpu("A100")->sm, 80);
  EXPECT_EQ(shipped().gpu("A10G")->sm, 86);
  EXPECT_EQ(shipped().gpu("L40S")->sm, 89);
  EXPECT_EQ(shipped().gpu("GH200")->sm, 90);
  EXPECT_EQ(shipped().gpu("B200")->sm, 100);
  EXPECT_EQ(shipped().gpu("A100-SXM4-40GB")->memory, Bytes::gib(40));
  EXPECT_EQ(shipped().gpu("H200")->memory_bandwidth, gbytes(4800));
  EXPECT_EQ(shipped().gpu("V100")->pcie_generation, 3);
  EXPECT_EQ(shipped().gpu("a100-sxm4-40gb")->pcie_generation, 4);
  EXPECT_EQ(shipped().gpu("H100")->pcie_generation, 5);
  EXPECT_EQ(shipped().gpu("GH200")->chip_to_chip, gbytes(450));
  EXPECT_FALSE(shipped().gpu("H100")->chip_to_chip.has_value());
  EXPECT_EQ(shipped().gpu("H1000"), nullptr);
}

// ConnectX-5, 6, 7, 8 are EDR, HDR, NDR, XDR adapters: port rate = 4x data of the generation.
TEST(Catalog, ConnectXGenerations) {
  for (const auto& [nic_name, rate_name] :
       std::vector<std::pair<std::string, std::string>>{{"ConnectX-5", "EDR"},
                                                        {"ConnectX-6", "HDR"},
                                                        {"ConnectX-7", "NDR"},
                                                        {"ConnectX-8", "XDR"}}) {
    const NicModel* nic = shipped().nic(nic_name);
    ASSERT_NE(nic, nullptr);
    EXPECT_EQ(nic->port_rate, shipped().infiniband_rate(rate_name)->data * 4) << nic_name;
    EXPECT_TRUE(nic->rdma);
    EXPECT_EQ(nic->pci_vendor, 0x15b3);
    EXPECT_EQ(nic->link_layers,
              (std::vector<NicLinkLayer>{NicLinkLayer::kInfiniBand, NicLinkLayer::kEthernet}));
  }
  EXPECT_EQ(shipped().nic("mt4119")->name, "ConnectX-5");
  EXPECT_EQ(shipped().nic("MT4123")->name, "ConnectX-6");
  EXPECT_EQ(shipped().nic("MT4129")->name, "ConnectX-7");
  EXPECT_EQ(shipped().nic("MT4131")->name, "ConnectX-8");
  EXPECT_EQ(shipped().nic("MT41692")->name, "BlueField-3");
  EXPECT_FALSE(shipped().nic("10GbE")->rdma);
}

// A NIC's slot must not be its bottleneck, but for cards known to be limited.
TEST(Catalog, NicsFitTheirSlots) {
  for (const NicModel& nic : shipped().nics) {
    const Bandwidth slot =
        pcie_bandwidth(*shipped().pcie_generation(nic.pcie_generation), nic.pcie_lanes);
    EXPECT_GE(slot, nic.port_rate) << nic.name;
  }
}

TEST(Catalog, CpusByHand) {
  // channels x MT/s x 8 bytes: Ice Lake 8 x 3200 x 8 = 204.8 GB/s, Genoa 12 x 4800 x 8 = 460.8
  // GB/s.
  EXPECT_EQ(shipped().cpu("Ice Lake")->memory_bandwidth.bps(), 204'800'000'000 * 8);
  EXPECT_EQ(shipped().cpu("EPYC 9654")->memory_bandwidth.bps(), 460'800'000'000 * 8);
  // 3 UPI x 10.4 GT/s x 2 bytes = 62.4 GB/s.
  EXPECT_EQ(shipped().cpu("Intel Skylake-SP")->interconnect.bps(), 62'400'000'000 * 8);
  EXPECT_EQ(shipped().cpu("Broadwell")->model, 79);
  EXPECT_EQ(shipped().cpu("Intel Emerald Rapids")->model, 207);
  EXPECT_EQ(shipped().cpu("AMD Rome")->vendor, "AuthenticAMD");
}

TEST(Catalog, SwitchesByHand) {
  EXPECT_EQ(shipped().network_switch("SB7800")->ports, 36);
  EXPECT_EQ(shipped().network_switch("QM8700")->port_rate, gbps(200));
  EXPECT_EQ(shipped().network_switch("QM9700")->ports, 64);
  EXPECT_EQ(shipped().network_switch("Q3400-RA")->ports, 144);
  EXPECT_EQ(shipped().network_switch("SN5600")->port_rate, gbps(800));
  EXPECT_EQ(shipped().network_switch("SB7800")->latency, Duration::nanoseconds(90));
}

TEST(Catalog, CablesByHand) {
  // 1 / (0.7 x 0.299792 m/ns) = 4.77 ns/m; 1.468 / 0.299792 = 4.90 ns/m.
  EXPECT_EQ(shipped().cable("DAC")->latency_per_metre, Duration::picoseconds(4800));
  EXPECT_EQ(shipped().cable("single-mode")->latency_per_metre, Duration::picoseconds(4900));
  EXPECT_EQ(shipped().cable("DAC OSFP")->max_length_m, 3);
  EXPECT_EQ(shipped().cable("AOC")->connector, "QSFP56");
  EXPECT_EQ(shipped().cable("string"), nullptr);
}

// A copy of the shipped catalogue in which single files are replaced.
class BadCatalog : public testing::Test {
 protected:
  BadCatalog() {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    directory_ = fs::path(BUSBW_BINARY_DIR) / "tests" / ("catalog_" + name);
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    for (const fs::directory_entry& entry : fs::directory_iterator(kDirectory)) {
      if (entry.is_regular_file()) {
        fs::copy(entry.path(), directory_ / entry.path().filename());
      }
    }
  }
  ~BadCatalog() override { fs::remove_all(directory_); }

  void write(const std::string& file, const std::string& text) {
    std::ofstream(directory_ / file) << text;
  }
  void remove(const std::string& file) { fs::remove(directory_ / file); }

  /// All problems, one a line, the directory left out.
  std::string problems() {
    Problems found;
    load_catalog(directory_.string(), found);
    std::string result;
    for (const InputProblem& problem : found.all()) {
      std::string line = to_string(problem);
      const std::string prefix = directory_.string() + "/";
      if (line.rfind(prefix, 0) == 0) {
        line.erase(0, prefix.size());
      }
      result += line + "\n";
    }
    return result;
  }

  fs::path directory_;
};

TEST_F(BadCatalog, UnchangedCopyHasNoProblem) {
  EXPECT_EQ(problems(), "");
}

// docs/formats/catalog.md: its example is read, and it names every key that the shipped files use.
TEST_F(BadCatalog, DocumentedExampleIsReadAndEveryKeyIsDocumented) {
  const std::string page = read_file(std::string(BUSBW_SOURCE_DIR) + "/docs/formats/catalog.md");
  const std::string fence = "```yaml\n";
  const std::size_t start = page.find(fence);
  ASSERT_NE(start, std::string::npos);
  const std::size_t end = page.find("```", start + fence.size());
  write("infiniband.yaml", page.substr(start + fence.size(), end - start - fence.size()));
  EXPECT_EQ(problems(), "");
  for (const fs::directory_entry& entry : fs::directory_iterator(kDirectory)) {
    Problems found;
    if (!entry.is_regular_file() || entry.path().filename() == "transports.yaml" ||
        is_fabric(entry.path())) {
      continue;  // described in docs/models/transport.md and docs/formats/fabric.md
    }
    const YamlNode root = load_yaml(entry.path().string(), found);
    EXPECT_NE(page.find(entry.path().filename().string()), std::string::npos);
    for (const YamlNode& record : root.entries().front().value.elements()) {
      for (const YamlNode::Entry& field : record.entries()) {
        EXPECT_NE(page.find("`" + field.key + "`"), std::string::npos) << field.key;
      }
    }
  }
}

TEST_F(BadCatalog, ProblemsOfAllFilesAtOnce) {
  write("infiniband.yaml",
        "infiniband:\n"
        "  - name: EDR\n"
        "    year: 2014\n"
        "    signalling: 25.78125 Gb/s\n"
        "    data: 26 Gb/s\n"
        "    encoding: 64b/66b\n"
        "    coding: 64/66\n"
        "    lanes: [4, 1]\n"
        "    latency: 0 us\n"
        "    source: nobody\n");
  write("cpus.yaml",
        "cpus:\n"
        "  - name: Odd\n"
        "    vendor: GenuineIntl\n"
        "    family: 6\n"
        "    model: 79\n"
        "    interconnect: 10 GBs\n"
        "    interconnect_latency: 60 ns\n"
        "    memory_bandwith: 76.8 GB/s\n"
        "    source: ''\n");
  EXPECT_EQ(problems(),
            "infiniband.yaml:5:11: error: 'data' in InfiniBand rate 'EDR' must be signalling x "
            "coding = 25 Gb/s, found '26 Gb/s'\n"
            "infiniband.yaml:8:12: error: 'lanes' in InfiniBand rate 'EDR' must be whole numbers "
            "from 1 to 64, ascending, found '1'\n"
            "infiniband.yaml:9:14: error: 'latency' in InfiniBand rate 'EDR' must be more than 0 "
            "and at most 1 s, "
            "found '0 ps'\n"
            "cpus.yaml:3:13: error: 'vendor' in CPU 'Odd' must be 'GenuineIntel', 'AuthenticAMD', "
            "'arm64' or 'ppc64le', found 'GenuineIntl'; did you mean 'GenuineIntel'?\n"
            "cpus.yaml:6:19: error: 'interconnect' in CPU 'Odd': unknown unit 'GBs' in '10 GBs'; "
            "allowed: bit/s b/s kb/s Mb/s Gb/s Tb/s kbit/s Mbit/s Gbit/s Tbit/s B/s kB/s MB/s GB/s "
            "TB/s KiB/s MiB/s GiB/s; did you mean 'GB/s'?\n"
            "cpus.yaml:2:5: error: missing key 'memory_bandwidth' in CPU 'Odd'\n"
            "cpus.yaml:9:13: error: 'source' in CPU 'Odd' is empty\n"
            "cpus.yaml:8:5: error: unknown key 'memory_bandwith' in CPU 'Odd'; did you mean "
            "'memory_bandwidth'?\n");
}

TEST_F(BadCatalog, RootBusesOfACpu) {
  write("cpus.yaml",
        "cpus:\n"
        "  - {name: One, vendor: GenuineIntel, family: 6, model: 85, interconnect: 10 GB/s,\n"
        "     interconnect_latency: 60 ns, memory_bandwidth: 100 GB/s, pcie_generation: 3,\n"
        "     root_buses: [17, 0x3a, ae], source: x}\n");
  EXPECT_EQ(problems(),
            "cpus.yaml:4:18: error: 'root_buses' in CPU 'One' must be two hexadecimal digits such "
            "as '3a', found '0x3a'\n");
}

TEST(Catalog, BusNumbersAsLspciWritesThem) {
  EXPECT_EQ(parse_bus("3a"), 58);
  EXPECT_EQ(parse_bus("00"), 0);
  EXPECT_EQ(parse_bus("FF"), 255);
  for (const char* wrong : {"", "3", "3a0", "g1", "-1", " 1", "1:"}) {
    EXPECT_EQ(parse_bus(wrong), std::nullopt) << wrong;
  }
  const CpuModel* skylake = shipped().cpu("Skylake");
  ASSERT_NE(skylake, nullptr);
  EXPECT_EQ(skylake->root_buses, (std::vector<std::int32_t>{0x17, 0x3a, 0x5d, 0x85, 0xae, 0xd7}));
  EXPECT_EQ(skylake->pcie_generation, 3);
}

TEST_F(BadCatalog, NamesAndAliasesMayNotRepeat) {
  write("switches.yaml",
        "switches:\n"
        "  - {name: One, aliases: [Uno], fabric: Ethernet, ports: 32, port_rate: 100 Gb/s,"
        " latency: 1 us, source: x}\n"
        "  - {name: uno, fabric: Ethernet, ports: 32, port_rate: 100 Gb/s, latency: 1 us, source: "
        "x}\n");
  EXPECT_EQ(problems(),
            "switches.yaml:3:12: error: name 'uno' is used already at line 2; names and aliases "
            "must differ\n");
}

// What would overflow 64 bits further on is refused, not computed with.
TEST_F(BadCatalog, AbsurdNumbers) {
  write("ethernet.yaml",
        "ethernet:\n"
        "  - name: huge\n"
        "    year: 2024\n"
        "    rate: 9000000 Tb/s\n"
        "    lanes: 64\n"
        "    signalling: 0 Gb/s\n"
        "    encoding: none\n"
        "    coding: 1000001/1000001\n"
        "    latency: 2 s\n"
        "    source: x\n");
  EXPECT_EQ(problems(),
            "ethernet.yaml:4:11: error: 'rate' in Ethernet rate 'huge' must be more than 0 and at "
            "most 1000 Tb/s, found '9000000 Tb/s'\n"
            "ethernet.yaml:6:17: error: 'signalling' in Ethernet rate 'huge' must be more than 0 "
            "and at most 1000 Tb/s, found '0 bit/s'\n"
            "ethernet.yaml:8:13: error: 'coding' in Ethernet rate 'huge' must be a fraction such "
            "as 64/66, above 0 and at most 1, its terms at most 1000000, found '1000001/1000001'\n"
            "ethernet.yaml:9:14: error: 'latency' in Ethernet rate 'huge' must be more than 0 and "
            "at most 1 s, found '2 s'\n");
}

TEST_F(BadCatalog, GpuOfUnknownGenerations) {
  write("gpus.yaml",
        "gpus:\n"
        "  - name: X1\n"
        "    architecture: Future\n"
        "    sm: 130\n"
        "    memory: 0\n"
        "    memory_bandwidth: 9000 GB/s\n"
        "    pcie_generation: 8\n"
        "    pcie_lanes: 16\n"
        "    nvlink_generation: 9\n"
        "    source: rumour\n"
        "    sources: {weight: scales}\n");
  EXPECT_EQ(
      problems(),
      "gpus.yaml:5:13: error: 'memory' in GPU 'X1' must be more than 0, found '0 B'\n"
      "gpus.yaml:7:22: error: 'pcie_generation' in GPU 'X1' must be one of 1, 2, 3, 4, 5, 6, found "
      "'8'\n"
      "gpus.yaml:9:24: error: 'nvlink_generation' in GPU 'X1' must be one of 1, 2, 3, 4, 5, found "
      "'9'\n"
      "gpus.yaml:9:24: error: 'nvlink_generation' and 'nvlink_links' in GPU 'X1' need each other\n"
      "gpus.yaml:11:15: error: 'sources' of GPU 'X1' explains key 'weight', which is not there\n");
}

TEST_F(BadCatalog, NicFields) {
  write("nics.yaml",
        "nics:\n"
        "  - name: X2\n"
        "    link_layers: [Infiniband]\n"
        "    port_rate: -1 Gb/s\n"
        "    rdma: yes\n"
        "    pcie_generation: 5\n"
        "    pcie_lanes: 16\n"
        "    pci_vendor: 15b3\n"
        "    plugin_latency: 75 us\n"
        "    latency: 1 us\n"
        "    source: x\n"
        "  - 5\n");
  EXPECT_EQ(problems(),
            "nics.yaml:3:18: error: 'link_layers' in NIC 'X2' must be 'InfiniBand' or 'Ethernet', "
            "found 'Infiniband'; did you mean 'InfiniBand'?\n"
            "nics.yaml:4:16: error: 'port_rate' in NIC 'X2': '-1 Gb/s' is negative\n"
            "nics.yaml:5:11: error: 'rdma' in NIC 'X2' must be true or false, found 'yes'\n"
            "nics.yaml:8:17: error: 'pci_vendor' in NIC 'X2' must be four hexadecimal digits such "
            "as 0x15b3, found '15b3'\n"
            "nics.yaml:9:21: error: 'plugin_latency' in NIC 'X2' needs 'nccl_plugin'\n"
            "nics.yaml:12:5: error: NIC number 2 must be a mapping, found the text '5'\n");
}

TEST_F(BadCatalog, MissingAndMisnamedFiles) {
  remove("pcie.yaml");
  write("nvlink.yaml", "pcie: []\n");
  EXPECT_EQ(problems(),
            "nvlink.yaml:1:1: error: missing key 'nvlink' in the catalogue file\n"
            "nvlink.yaml:1:1: error: unknown key 'pcie' in the catalogue file\n"
            "pcie.yaml: error: cannot be read: No such file or directory\n");
}

}  // namespace
}  // namespace busbw::topologies
