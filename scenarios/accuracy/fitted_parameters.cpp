// See fitted_parameters.h.
#include "scenarios/accuracy/fitted_parameters.h"

#include <algorithm>
#include <cmath>

#include "scenarios/accuracy/describe.h"
#include "sim/core/text.h"

namespace busbw::scenarios::accuracy {
namespace {

using params::Protocol;
using params::Transports;
using topologies::Catalog;

constexpr std::int32_t kHopper = 90;
constexpr std::int32_t kBlackwell = 100;

Ratio ratio_of(double factor) {
  constexpr std::int64_t kParts = 1000;
  return {std::llround(factor * static_cast<double>(kParts)), kParts};
}
void multiply(Duration& value, double factor) {
  value = Duration::picoseconds(scale(value.ps(), ratio_of(factor)));
}
void multiply(Bandwidth& value, double factor) {
  value = value * ratio_of(factor);
}
/// A share stays at most 1.
void multiply_share(Ratio& value, double factor) {
  const Ratio by = ratio_of(factor);
  value = {value.numerator * by.numerator, value.denominator * by.denominator};
  value.numerator = std::min(value.numerator, value.denominator);
}
void multiply(Ratio& value, double factor) {
  const Ratio by = ratio_of(factor);
  value = {value.numerator * by.numerator, value.denominator * by.denominator};
}

/// Does `change` to the rows of thread blocks from compute capability `from` on, below `below`.
template <class Change>
void change_blocks(Transports& transports, std::int32_t from, std::int32_t below,
                   const Change& change) {
  for (params::BlockSpeed& block : transports.blocks.speeds) {
    if (block.sm >= from && block.sm < below) {
      change(block);
    }
  }
}

std::size_t at(Protocol protocol) {
  return static_cast<std::size_t>(protocol);
}

/// What decides whether a parameter concerns a record.
struct Facts {
  explicit Facts(const Catalog& of) : catalog(of) {}
  const Catalog& catalog;

  [[nodiscard]] std::int32_t sm(const Record& record) const {
    const topologies::GpuModel* gpu = gpu_in(record.system.gpu, catalog);
    return gpu == nullptr ? 0 : gpu->sm;
  }
  [[nodiscard]] static bool one_host(const Record& record) {
    return record.system.nodes.value_or(1) == 1;
  }
  [[nodiscard]] static bool framework(const Record& record) {
    return record.kind.rfind("torch", 0) == 0;
  }
  [[nodiscard]] static bool nvlink(const Record& record) {
    const RecordIntra& intra = record.system.intra;
    return !unless_denied(lower(intra.nvlink)).empty() ||
           !unless_denied(lower(intra.nv_switch)).empty();
  }
  [[nodiscard]] static bool nic(const Record& record, const char* word) {
    return record.system.nic.type.find(word) != std::string::npos;
  }
  [[nodiscard]] static bool condition(const Record& record, const char* name, const char* value) {
    const auto found = record.system.conditions.find(name);
    return found != record.system.conditions.end() && found->second == value;
  }
};

void add_host_work(const Facts& facts, std::vector<FittedParameter>& list) {
  list.push_back({"host.launch",
                  [](double f, Transports& t, Catalog&) { multiply(t.host.launch, f); },
                  [](const Record& r, Bytes bytes) {
                    return Facts::one_host(r) && !Facts::framework(r) && bytes < Bytes::mib(1);
                  }});
  list.push_back(
      {"host.per_channel_uploaded",
       [](double f, Transports& t, Catalog&) { multiply(t.host.per_channel_uploaded, f); },
       [facts](const Record& r, Bytes bytes) {
         return Facts::one_host(r) && facts.sm(r) < kHopper && bytes <= Bytes::mib(64);
       }});
  list.push_back({"host.timed_alone",
                  [](double f, Transports& t, Catalog&) { multiply(t.host.timed_alone, f); },
                  [](const Record& r, Bytes bytes) {
                    return Facts::framework(r) && bytes <= Bytes::mib(256);
                  }});
  list.push_back(
      {"host.flag_check", [](double f, Transports& t, Catalog&) { multiply(t.host.flag_check, f); },
       [](const Record& r, Bytes bytes) { return !Facts::one_host(r) && bytes <= Bytes::mib(4); },
       Protocol::kLowLatency});
}

void add_blocks(const Facts& facts, std::vector<FittedParameter>& list) {
  const auto before_hopper = [facts](const Record& r, Bytes) {
    return facts.sm(r) < kHopper && Facts::nvlink(r);
  };
  const auto blackwell = [facts](const Record& r, Bytes) { return facts.sm(r) >= kBlackwell; };
  for (const Protocol protocol : {Protocol::kLowLatency128, Protocol::kSimple}) {
    list.push_back({"slower." + params::to_string(protocol) + ", sm below 90",
                    [protocol](double f, Transports& t, Catalog&) {
                      change_blocks(t, 0, kHopper, [&](params::BlockSpeed& block) {
                        multiply(block.slower[at(protocol)], f);
                      });
                    },
                    before_hopper, protocol});
  }
  list.push_back({"slower.Simple, sm 100",
                  [](double f, Transports& t, Catalog&) {
                    change_blocks(t, kBlackwell, 1000, [&](params::BlockSpeed& block) {
                      multiply(block.slower[at(Protocol::kSimple)], f);
                    });
                  },
                  blackwell, Protocol::kSimple});
  list.push_back({"stream.Simple, sm 100",
                  [](double f, Transports& t, Catalog&) {
                    change_blocks(t, kBlackwell, 1000, [&](params::BlockSpeed& block) {
                      multiply(block.stream[at(Protocol::kSimple)], f);
                    });
                  },
                  blackwell, Protocol::kSimple});
  list.push_back({"nvlink_share, sm 80",
                  [](double f, Transports& t, Catalog&) {
                    change_blocks(t, 80, kHopper, [&](params::BlockSpeed& block) {
                      if (block.nvlink_share) {
                        multiply_share(*block.nvlink_share, f);
                      }
                    });
                  },
                  before_hopper, std::nullopt});
  list.push_back(
      {"stores_wait",
       [](double f, Transports& t, Catalog&) { multiply_share(t.blocks.stores_wait, f); },
       // Of more hosts the links between them hide it, and playing them takes minutes.
       [](const Record& r, Bytes bytes) {
         constexpr std::int32_t kHosts = 2;
         return Facts::nvlink(r) && r.system.nodes.value_or(1) <= kHosts && bytes >= Bytes::mib(1);
       },
       std::nullopt});
}

/// Latency of the NICs whose name begins with `model`; records have `word` in the NIC's type.
FittedParameter nic_latency(const char* model, const char* word) {
  return {std::string(model) + ", latency",
          [model](double f, Transports&, Catalog& catalog) {
            for (topologies::NicModel& nic : catalog.nics) {
              if (nic.name.rfind(model, 0) == 0) {
                multiply(nic.latency, f);
              }
            }
          },
          [word](const Record& r, Bytes bytes) {
            return !Facts::one_host(r) && Facts::nic(r, word) && bytes <= Bytes::mib(256);
          }};
}

void add_networks(std::vector<FittedParameter>& list) {
  list.push_back(
      {"rdma.latency.LL128",
       [](double f, Transports& t, Catalog&) {
         multiply(t.rdma.latency[at(Protocol::kLowLatency128)], f);
       },
       [](const Record& r, Bytes bytes) { return !Facts::one_host(r) && bytes <= Bytes::mib(256); },
       Protocol::kLowLatency128});
  list.push_back({"rdma.share.LL128",
                  [](double f, Transports& t, Catalog&) {
                    multiply_share(t.rdma.share[at(Protocol::kLowLatency128)], f);
                  },
                  [](const Record& r, Bytes) { return !Facts::one_host(r); },
                  Protocol::kLowLatency128});
  list.push_back(nic_latency("EFA", "EFA"));
  list.push_back(nic_latency("ConnectX-7 gIB", "gIB"));
  list.push_back(nic_latency("gVNIC TCPXO", "TCPXO"));
}

void add_host_memory(std::vector<FittedParameter>& list) {
  list.push_back(
      {"pcie.host_both_ways",
       [](double f, Transports& t, Catalog&) { multiply_share(t.pcie_share.host_both_ways, f); },
       [](const Record& r, Bytes) { return Facts::one_host(r) && !Facts::nvlink(r); }});
  const auto redirected = [](const Record& r, Bytes) {
    return Facts::condition(r, "acs", "redirect") || r.system.conditions.count("gpu_nic_path") > 0;
  };
  list.push_back({"pcie.peer_reads",
                  [](double f, Transports& t, Catalog&) { multiply(t.pcie_share.peer_reads, f); },
                  redirected});
  list.push_back(
      {"pcie.peers_across_sockets",
       [](double f, Transports& t, Catalog&) { multiply(t.pcie_share.peers_across_sockets, f); },
       [](const Record& r, Bytes) { return Facts::condition(r, "gpu_nic_path", "SYS"); }});
  list.push_back(
      {"pcie.translated",
       [](double f, Transports& t, Catalog&) { multiply(t.pcie_share.translated, f); },
       [](const Record& r, Bytes) { return Facts::condition(r, "iommu", "translated"); }});
  list.push_back({"Omni-Path HFI1, software_verbs",
                  [](double f, Transports&, Catalog& catalog) {
                    for (topologies::NicModel& nic : catalog.nics) {
                      if (nic.software_verbs) {
                        multiply(*nic.software_verbs, f);
                      }
                    }
                  },
                  [](const Record& r, Bytes) { return Facts::nic(r, "Omni-Path"); }});
}

}  // namespace

std::vector<FittedParameter> fitted_parameters(const Catalog& catalog) {
  std::vector<FittedParameter> list;
  const Facts facts(catalog);
  add_host_work(facts, list);
  add_blocks(facts, list);
  add_networks(list);
  add_host_memory(list);
  return list;
}

}  // namespace busbw::scenarios::accuracy
