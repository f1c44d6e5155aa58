// Lists of `busbw list`. Tables of GPUs, NICs and rates come from topologies; here are the others,
// and all of them as plain data for JSON.
#include "tools/listing.h"

#include <map>
#include <string>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw::tools {
namespace {

using topologies::Catalog;

std::string gigabits(Bandwidth rate) {
  return fmt::format("{:.8g} Gb/s", rate.as_gigabits_per_second());
}

std::string gigabytes(Bandwidth rate) {
  return fmt::format("{:.4g} GB/s", rate.as_gigabytes_per_second());
}

Value texts(const std::vector<std::string>& words) {
  Value array = Value::array();
  for (const std::string& word : words) {
    array.push(word);
  }
  return array;
}

Value integer(std::int32_t number) {
  return Value(static_cast<std::int64_t>(number));
}

/// The NICs of a machine, equal ones counted: "1 x 10GbE, 8 x ConnectX-7".
std::string nic_summary(const topologies::Machine& machine) {
  std::vector<std::string> order;
  std::map<std::string, int> count;
  for (const topologies::MachineNic& nic : machine.nics) {
    const std::string name = nic.model.empty() ? gigabits(nic.rate) : nic.model;
    if (++count[name] == 1) {
      order.push_back(name);
    }
  }
  for (std::string& name : order) {
    name = fmt::format("{} x {}", count[name], name);
  }
  return order.empty() ? "-" : join(order, ", ");
}

std::string nvlink_summary(const topologies::Machine& machine) {
  return machine.nvlink_generation == 0
             ? "-"
             : fmt::format("NVLink{} x{}, {}", machine.nvlink_generation,
                           machine.nvlink_links_per_gpu, to_string(machine.wiring));
}

Value machine_nics(const topologies::Machine& machine) {
  Value nics = Value::array();
  for (const topologies::MachineNic& nic : machine.nics) {
    nics.push(Value::object()
                  .set("name", nic.name)
                  .set("model", nic.model.empty() ? Value() : Value(nic.model))
                  .set("rate_Gbps", nic.rate.as_gigabits_per_second())
                  .set("rdma", nic.rdma));
  }
  return nics;
}

/// What every generation has in common.
struct Generation {
  std::string kind;
  std::string name;
  Duration latency;
  std::int32_t year = 0;
  std::string source;
};

Value rate_item(const Generation& generation, const std::string& width, Bandwidth data) {
  return Value::object()
      .set("kind", generation.kind)
      .set("name", generation.name)
      .set("width", width)
      .set("data_rate_Gbps", data.as_gigabits_per_second())
      .set("data_rate_GBps", data.as_gigabytes_per_second())
      .set("latency_us", generation.latency.as_us())
      .set("since", integer(generation.year))
      .set("source", generation.source);
}

}  // namespace

Listing list_machines(const std::vector<topologies::Machine>& machines) {
  Listing listing;
  topologies::CatalogTable table{
      "machines", {"name", "title", "GPUs", "NVLink", "CPUs", "NICs"}, {}};
  for (const topologies::Machine& machine : machines) {
    table.rows.push_back(
        {machine.name, machine.title,
         fmt::format("{} x {}", machine.gpus.size(), machine.gpu_model), nvlink_summary(machine),
         fmt::format("{} x {}", machine.sockets, machine.cpu_model), nic_summary(machine)});
    listing.items.push(Value::object()
                           .set("name", machine.name)
                           .set("title", machine.title)
                           .set("gpus", static_cast<std::int64_t>(machine.gpus.size()))
                           .set("gpu_model", machine.gpu_model)
                           .set("nvlink_generation", integer(machine.nvlink_generation))
                           .set("nvlink_links_per_gpu", integer(machine.nvlink_links_per_gpu))
                           .set("nvlink_wiring", to_string(machine.wiring))
                           .set("sockets", integer(machine.sockets))
                           .set("cpu_model", machine.cpu_model)
                           .set("nics", machine_nics(machine))
                           .set("source", machine.source));
  }
  listing.tables.push_back(table);
  return listing;
}

Listing list_gpus(const Catalog& catalog) {
  Listing listing;
  listing.tables.push_back(topologies::gpu_table(catalog));
  for (const topologies::GpuModel& gpu : catalog.gpus) {
    listing.items.push(
        Value::object()
            .set("name", gpu.name)
            .set("aliases", texts(gpu.aliases))
            .set("architecture", gpu.architecture)
            .set("sm", integer(gpu.sm))
            .set("memory_bytes", gpu.memory.count())
            .set("memory_bandwidth_GBps", gpu.memory_bandwidth.as_gigabytes_per_second())
            .set("pcie_generation", integer(gpu.pcie_generation))
            .set("pcie_lanes", integer(gpu.pcie_lanes))
            .set("nvlink_generation", integer(gpu.nvlink_generation))
            .set("nvlink_links", integer(gpu.nvlink_links))
            .set("source", gpu.source));
  }
  return listing;
}

Listing list_nics(const Catalog& catalog) {
  Listing listing;
  listing.tables.push_back(topologies::nic_table(catalog));
  for (const topologies::NicModel& nic : catalog.nics) {
    Value layers = Value::array();
    for (const topologies::NicLinkLayer layer : nic.link_layers) {
      layers.push(layer == topologies::NicLinkLayer::kInfiniBand ? "InfiniBand" : "Ethernet");
    }
    listing.items.push(Value::object()
                           .set("name", nic.name)
                           .set("aliases", texts(nic.aliases))
                           .set("link_layers", layers)
                           .set("ports", integer(nic.ports))
                           .set("port_rate_Gbps", nic.port_rate.as_gigabits_per_second())
                           .set("rdma", nic.rdma)
                           .set("pcie_generation", integer(nic.pcie_generation))
                           .set("pcie_lanes", integer(nic.pcie_lanes))
                           .set("latency_us", nic.latency.as_us())
                           .set("source", nic.source));
  }
  return listing;
}

Listing list_cpus(const Catalog& catalog) {
  Listing listing;
  topologies::CatalogTable table{
      "CPUs", {"name", "vendor", "between sockets", "memory bandwidth"}, {}};
  for (const topologies::CpuModel& cpu : catalog.cpus) {
    table.rows.push_back(
        {cpu.name, cpu.vendor, gigabytes(cpu.interconnect), gigabytes(cpu.memory_bandwidth)});
    listing.items.push(
        Value::object()
            .set("name", cpu.name)
            .set("vendor", cpu.vendor)
            .set("interconnect_GBps", cpu.interconnect.as_gigabytes_per_second())
            .set("memory_bandwidth_GBps", cpu.memory_bandwidth.as_gigabytes_per_second())
            .set("source", cpu.source));
  }
  listing.tables.push_back(table);
  return listing;
}

Listing list_switches(const Catalog& catalog) {
  Listing listing;
  topologies::CatalogTable table{
      "switches", {"name", "fabric", "ports", "port rate", "latency"}, {}};
  for (const topologies::SwitchModel& model : catalog.switches) {
    table.rows.push_back({model.name, model.fabric, fmt::format("{}", model.ports),
                          gigabits(model.port_rate),
                          fmt::format("{:.4g} us", model.latency.as_us())});
    listing.items.push(Value::object()
                           .set("name", model.name)
                           .set("fabric", model.fabric)
                           .set("ports", integer(model.ports))
                           .set("port_rate_Gbps", model.port_rate.as_gigabits_per_second())
                           .set("latency_us", model.latency.as_us())
                           .set("source", model.source));
  }
  listing.tables.push_back(table);
  return listing;
}

Listing list_rates(const Catalog& catalog) {
  Listing listing;
  listing.tables = topologies::rate_tables(catalog);
  for (const topologies::InfiniBandRate& rate : catalog.infiniband) {
    const Generation common{"InfiniBand", rate.name, rate.latency, rate.year, rate.source};
    for (const std::int32_t lanes : rate.lanes) {
      listing.items.push(rate_item(common, fmt::format("{}x", lanes), rate.data * lanes));
    }
  }
  for (const topologies::EthernetRate& rate : catalog.ethernet) {
    const Generation common{"Ethernet", rate.name, rate.latency, rate.year, rate.source};
    listing.items.push(rate_item(common, fmt::format("{}x", rate.lanes), rate.rate));
  }
  for (const topologies::PcieGeneration& rate : catalog.pcie) {
    const Generation common{"PCIe", rate.name, rate.latency, rate.year, rate.source};
    for (const std::int32_t lanes : {1, 4, 8, 16}) {
      listing.items.push(rate_item(common, fmt::format("x{}", lanes), pcie_bandwidth(rate, lanes)));
    }
  }
  for (const topologies::NvLinkGeneration& rate : catalog.nvlink) {
    const Generation common{"NVLink", rate.name, rate.latency, rate.year, rate.source};
    for (const std::int32_t links : {1, rate.links}) {
      listing.items.push(rate_item(common, fmt::format("x{}", links), rate.per_link * links));
    }
  }
  return listing;
}

}  // namespace busbw::tools
