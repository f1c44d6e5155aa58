// The tables of the catalogue: the numbers that everybody in the field knows.
#include "topologies/catalog_tables.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace busbw::topologies {
namespace {

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

const std::vector<std::string>* row_of(const CatalogTable& table, const std::string& name) {
  for (const std::vector<std::string>& row : table.rows) {
    if (row.front() == name) {
      return &row;
    }
  }
  return nullptr;
}

std::string cell(const CatalogTable& table, const std::string& name, const std::string& column) {
  const std::vector<std::string>* row = row_of(table, name);
  for (std::size_t i = 0; row != nullptr && i < table.header.size(); i++) {
    if (table.header[i] == column) {
      return row->at(i);
    }
  }
  return "no such cell";
}

TEST(CatalogTables, InfiniBandSideBySideWithEthernet) {
  const CatalogTable table = infiniband_table(shipped());
  EXPECT_EQ(cell(table, "SDR", "4x signalling Gb/s"), "10");
  EXPECT_EQ(cell(table, "SDR", "4x data Gb/s"), "8");
  EXPECT_EQ(cell(table, "DDR", "4x data Gb/s"), "16");
  EXPECT_EQ(cell(table, "QDR", "4x data Gb/s"), "32");
  EXPECT_EQ(cell(table, "FDR", "4x data Gb/s"), "54.545");
  EXPECT_EQ(cell(table, "EDR", "4x data Gb/s"), "100");
  EXPECT_EQ(cell(table, "EDR", "1x data Gb/s"), "25");
  EXPECT_EQ(cell(table, "EDR", "2x data Gb/s"), "-");
  EXPECT_EQ(cell(table, "EDR", "12x data Gb/s"), "300");
  EXPECT_EQ(cell(table, "HDR", "2x data Gb/s"), "100");  // HDR100
  EXPECT_EQ(cell(table, "HDR", "4x data Gb/s"), "200");
  EXPECT_EQ(cell(table, "NDR", "4x data Gb/s"), "400");
  EXPECT_EQ(cell(table, "NDR", "4x GB/s"), "50");
  EXPECT_EQ(cell(table, "NDR", "Ethernet beside 4x"), "400GbE");
  EXPECT_EQ(cell(table, "HDR", "lane signalling Gb/s"), "53.125");
  EXPECT_EQ(cell(table, "XDR", "4x data Gb/s"), "800");
  EXPECT_EQ(cell(ethernet_table(shipped()), "100GbE", "InfiniBand 4x of this rate"), "EDR");
}

// About 1 us by RDMA against 5 to 10 us by TCP for the same 400 Gb/s.
TEST(CatalogTables, LatencyOfNdrAgainst400GbE) {
  EXPECT_EQ(shipped().infiniband_rate("NDR")->latency, Duration::microseconds(1));
  const Duration tcp = shipped().ethernet_rate("400GbE")->latency;
  EXPECT_GE(tcp, Duration::microseconds(5));
  EXPECT_LE(tcp, Duration::microseconds(10));
}

TEST(CatalogTables, PcieAndNvLink) {
  const CatalogTable pcie = pcie_table(shipped());
  EXPECT_EQ(cell(pcie, "Gen3", "x16 GB/s"), "15.754");
  EXPECT_EQ(cell(pcie, "Gen4", "x16 GB/s"), "31.508");
  EXPECT_EQ(cell(pcie, "Gen5", "x16 GB/s"), "63.015");
  EXPECT_EQ(cell(pcie, "Gen5", "x16 payload GB/s"), "57.614");  // 63.015 x 32/35
  EXPECT_EQ(cell(pcie, "Gen1", "x1 GB/s"), "0.25");
  const CatalogTable nvlink = nvlink_table(shipped());
  EXPECT_EQ(cell(nvlink, "NVLink4", "GB/s one way"), "450");
  EXPECT_EQ(cell(nvlink, "NVLink4", "GB/s both ways"), "900");
  EXPECT_EQ(cell(nvlink, "NVLink5", "GB/s both ways"), "1800");
}

TEST(CatalogTables, EveryRowHasACellForEachColumn) {
  std::vector<CatalogTable> tables = rate_tables(shipped());
  EXPECT_EQ(tables.size(), 4U);
  tables.push_back(gpu_table(shipped()));
  tables.push_back(nic_table(shipped()));
  for (const CatalogTable& table : tables) {
    EXPECT_FALSE(table.rows.empty()) << table.title;
    for (const std::vector<std::string>& row : table.rows) {
      EXPECT_EQ(row.size(), table.header.size()) << table.title << ": " << row.front();
    }
  }
  EXPECT_EQ(cell(gpu_table(shipped()), "H100-SXM5-80GB", "NVLink"), "NVLink4 x18");
  EXPECT_EQ(cell(nic_table(shipped()), "ConnectX-6", "PCIe"), "Gen4 x16");
}

}  // namespace
}  // namespace busbw::topologies
