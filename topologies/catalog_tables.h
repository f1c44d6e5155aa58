// The catalogue as tables for people: the speed generations of InfiniBand, PCIe, NVLink and
// Ethernet side by side, and the GPUs and NICs. Text only; how a table is drawn is the caller's
// business.
#pragma once
#include <string>
#include <vector>

#include "topologies/catalog.h"

namespace busbw::topologies {

/// Each row has as many cells as the header; "-" stands for "does not exist". Units are in the
/// header.
struct CatalogTable {
  std::string title;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

/// How numbers stand in these tables: at most three decimals, no trailing zeros: 54.545, 13.5, 200.
std::string table_number(double value);

/// One row a generation: signalling and data rate of a lane, data rate by width, nearest Ethernet
/// rate beside 4x.
CatalogTable infiniband_table(const Catalog& catalog);
/// One row a rate, with the InfiniBand generation whose 4x port carries as much.
CatalogTable ethernet_table(const Catalog& catalog);
/// One row a generation: GB/s one way by number of lanes, and what packets leave of x16.
CatalogTable pcie_table(const Catalog& catalog);
/// One row a generation: GB/s of a link, and of all links of the largest GPU one way and both ways.
CatalogTable nvlink_table(const Catalog& catalog);
/// The four tables above in this order: `busbw list rates`.
std::vector<CatalogTable> rate_tables(const Catalog& catalog);

CatalogTable gpu_table(const Catalog& catalog);
CatalogTable nic_table(const Catalog& catalog);

}  // namespace busbw::topologies
