// Tables of the catalogue. Every number comes from the catalogue; the only arithmetic is rate x
// lanes.
#include "topologies/catalog_tables.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/core/text.h"

namespace busbw::topologies {
namespace {

constexpr std::int32_t kNormalWidth = 4;  // lanes of an ordinary InfiniBand port

std::string gigabits(Bandwidth rate) {
  return table_number(rate.as_gigabits_per_second());
}
std::string gigabytes(Bandwidth rate) {
  return table_number(rate.as_gigabytes_per_second());
}
std::string microseconds(Duration time) {
  return table_number(time.as_us());
}

bool has_lanes(const InfiniBandRate& rate, std::int32_t lanes) {
  return std::find(rate.lanes.begin(), rate.lanes.end(), lanes) != rate.lanes.end();
}

std::string data_of(const InfiniBandRate& rate, std::int32_t lanes) {
  return has_lanes(rate, lanes) ? gigabits(rate.data * lanes) : "-";
}

/// The Ethernet rate nearest to `data`; the slower of two equally near. "-" without any.
std::string nearest_ethernet(const Catalog& catalog, Bandwidth data) {
  const EthernetRate* best = nullptr;
  const auto distance = [&](const EthernetRate& rate) {
    return std::abs(rate.rate.bps() - data.bps());
  };
  for (const EthernetRate& rate : catalog.ethernet) {
    if (best == nullptr || distance(rate) < distance(*best)) {
      best = &rate;
    }
  }
  return best == nullptr ? "-" : best->name;
}

std::string joined_aliases(const std::vector<std::string>& aliases) {
  return aliases.empty() ? "-" : join(aliases, ", ");
}

}  // namespace

std::string table_number(double value) {
  std::string text = fmt::format("{:.3f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') {
    text.pop_back();
  }
  return text;
}

CatalogTable infiniband_table(const Catalog& catalog) {
  CatalogTable table;
  table.title = "InfiniBand, one way";
  table.header = {"generation",
                  "year",
                  "lane signalling Gb/s",
                  "lane data Gb/s",
                  "4x signalling Gb/s",
                  "1x data Gb/s",
                  "2x data Gb/s",
                  "4x data Gb/s",
                  "8x data Gb/s",
                  "12x data Gb/s",
                  "4x GB/s",
                  "latency us",
                  "Ethernet beside 4x",
                  "encoding"};
  for (const InfiniBandRate& rate : catalog.infiniband) {
    table.rows.push_back({rate.name, std::to_string(rate.year), gigabits(rate.signalling),
                          gigabits(rate.data), gigabits(rate.signalling * kNormalWidth),
                          data_of(rate, 1), data_of(rate, 2), data_of(rate, 4), data_of(rate, 8),
                          data_of(rate, 12), gigabytes(rate.data * kNormalWidth),
                          microseconds(rate.latency),
                          nearest_ethernet(catalog, rate.data * kNormalWidth), rate.encoding});
  }
  return table;
}

CatalogTable ethernet_table(const Catalog& catalog) {
  CatalogTable table;
  table.title = "Ethernet, one way";
  table.header = {"rate",
                  "year",
                  "lanes",
                  "lane signalling Gb/s",
                  "data Gb/s",
                  "GB/s",
                  "latency (TCP) us",
                  "InfiniBand 4x of this rate",
                  "encoding"};
  for (const EthernetRate& rate : catalog.ethernet) {
    std::vector<std::string> equal;
    for (const InfiniBandRate& other : catalog.infiniband) {
      if (other.data * kNormalWidth == rate.rate) {
        equal.push_back(other.name);
      }
    }
    table.rows.push_back({rate.name, std::to_string(rate.year), std::to_string(rate.lanes),
                          gigabits(rate.signalling), gigabits(rate.rate), gigabytes(rate.rate),
                          microseconds(rate.latency), joined_aliases(equal), rate.encoding});
  }
  return table;
}

CatalogTable pcie_table(const Catalog& catalog) {
  CatalogTable table;
  table.title = "PCI Express, one way";
  table.header = {"generation", "year",    "lane GT/s", "encoding",         "x1 GB/s", "x2 GB/s",
                  "x4 GB/s",    "x8 GB/s", "x16 GB/s",  "x16 payload GB/s", "hop us"};
  for (const PcieGeneration& generation : catalog.pcie) {
    std::vector<std::string> row = {
        generation.name, std::to_string(generation.year),
        table_number(static_cast<double>(generation.megatransfers) / 1000),
        fmt::format("{}b/{}b", generation.encoding.numerator, generation.encoding.denominator)};
    for (const std::int32_t lanes : {1, 2, 4, 8, 16}) {
      row.push_back(gigabytes(pcie_bandwidth(generation, lanes)));
    }
    row.push_back(gigabytes(pcie_bandwidth(generation, 16) * generation.efficiency));
    row.push_back(microseconds(generation.latency));
    table.rows.push_back(row);
  }
  return table;
}

CatalogTable nvlink_table(const Catalog& catalog) {
  CatalogTable table;
  table.title = "NVLink";
  table.header = {"generation",     "year",  "link GB/s one way", "links of a GPU", "GB/s one way",
                  "GB/s both ways", "hop us"};
  for (const NvLinkGeneration& generation : catalog.nvlink) {
    const Bandwidth all = generation.per_link * generation.links;
    table.rows.push_back({generation.name, std::to_string(generation.year),
                          gigabytes(generation.per_link), std::to_string(generation.links),
                          gigabytes(all), gigabytes(all * 2), microseconds(generation.latency)});
  }
  return table;
}

std::vector<CatalogTable> rate_tables(const Catalog& catalog) {
  return {infiniband_table(catalog), ethernet_table(catalog), pcie_table(catalog),
          nvlink_table(catalog)};
}

CatalogTable gpu_table(const Catalog& catalog) {
  CatalogTable table;
  table.title = "GPUs";
  table.header = {"name",   "architecture",        "sm",     "memory", "memory GB/s", "PCIe",
                  "NVLink", "NVLink GB/s one way", "aliases"};
  for (const GpuModel& gpu : catalog.gpus) {
    const NvLinkGeneration* nvlink = catalog.nvlink_generation(gpu.nvlink_generation);
    table.rows.push_back(
        {gpu.name, gpu.architecture, std::to_string(gpu.sm), to_string(gpu.memory),
         gigabytes(gpu.memory_bandwidth),
         fmt::format("Gen{} x{}", gpu.pcie_generation, gpu.pcie_lanes),
         nvlink == nullptr ? "-" : fmt::format("{} x{}", nvlink->name, gpu.nvlink_links),
         nvlink == nullptr ? "-" : gigabytes(nvlink->per_link * gpu.nvlink_links),
         joined_aliases(gpu.aliases)});
  }
  return table;
}

CatalogTable nic_table(const Catalog& catalog) {
  CatalogTable table;
  table.title = "NICs";
  table.header = {"name", "port Gb/s", "ports",      "link layers",
                  "RDMA", "PCIe",      "latency us", "aliases"};
  for (const NicModel& nic : catalog.nics) {
    std::vector<std::string> layers;
    for (const NicLinkLayer layer : nic.link_layers) {
      layers.emplace_back(layer == NicLinkLayer::kInfiniBand ? "InfiniBand" : "Ethernet");
    }
    table.rows.push_back({nic.name, gigabits(nic.port_rate), std::to_string(nic.ports),
                          join(layers, ", "), nic.rdma ? "yes" : "no",
                          fmt::format("Gen{} x{}", nic.pcie_generation, nic.pcie_lanes),
                          microseconds(nic.latency), joined_aliases(nic.aliases)});
  }
  return table;
}

}  // namespace busbw::topologies
