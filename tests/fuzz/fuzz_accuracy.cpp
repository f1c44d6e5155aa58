// Fuzzers of scenarios/accuracy: damaged records, and systems put together from random words.
#include <string>

#include <fmt/format.h>

#include "scenarios/accuracy/build_system.h"
#include "scenarios/accuracy/read_records.h"
#include "scenarios/job.h"
#include "scenarios/plan.h"
#include "tests/fuzz/registry.h"
#include "tools/json/json.h"

namespace busbw::fuzz {
namespace {

using scenarios::Library;
using scenarios::accuracy::BuiltSystem;
using scenarios::accuracy::Record;

constexpr const char* kFile = "fuzz.json";

const char* const kDocument =
    R"([{"id": "a", "kind": "nccl-tests", "collective": "all_reduce", "quality": "high",
 "system": {"gpu": "H100", "gpus_per_node": 8, "nodes": 2, "ranks": 16, "pcie": "Gen5 x16",
 "intra": {"nvlink": "NVLink4", "switch": "NVSwitch3", "GBps_per_gpu_uni": 450, "p2p": null},
 "nic": {"type": "ConnectX-7", "count": 8, "Gbps": 400, "link": "RoCEv2", "gdr": true,
 "interfaces": [{"name": "eth0", "shaped_gbit": 1}], "mtu": 9000}, "conditions": {"nps": 4}},
 "env": {"NCCL_ALGO": "Ring"}, "slow_link": {"host": 1, "nic": "eth0", "Gbps": 0.5},
 "points": [{"bytes": 1024, "time_us": 20.5, "busbw_GBps": 0.05, "in_place": false}]}])";

void records_reader(Random& random) {
  const std::string text =
      mutate(random, {kDocument, R"({"records": []})"},
             {"null", "{}", "[]", "-1", "1e99", "\"\"", "true", "\"quality\"", "4096"});
  Problems problems;
  const Value value = json::parse(text, kFile, problems);
  if (value.is_null() && !problems.empty()) {
    require_good_problems(problems, kFile, text);
    return;  // no JSON
  }
  const std::vector<Record> records = scenarios::accuracy::read_records(value, problems);
  require_good_problems(problems, kFile, text);
  for (const Record& record : records) {
    require(!record.id.empty() && !record.collective.empty(), "a record lacks what is needed",
            text);
  }
}

const Library& library() {
  static const Library kLibrary = [] {
    Problems problems;
    Library read =
        scenarios::load_library(std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog", problems);
    problems.throw_if_any();
    return read;
  }();
  return kLibrary;
}

const std::string& any(Random& random, const std::vector<std::string>& list) {
  return list[static_cast<std::size_t>(random.below(list.size()))];
}

std::string any_gpu(Random& random) {
  const std::vector<topologies::GpuModel>& gpus = library().catalog.gpus;
  return gpus[static_cast<std::size_t>(random.below(gpus.size()))].name;
}

Record any_record(Random& random) {
  static const std::vector<std::string> kNvLink = {"",
                                                   "",
                                                   "NVLink4",
                                                   "NVLink3 mesh (NV4)",
                                                   "NVLink2 hybrid cube mesh",
                                                   "NVLink bridge pairs",
                                                   "yes",
                                                   "NVLink2, 4 GPUs fully meshed (NV2 pairs)"};
  static const std::vector<std::string> kSwitch = {"", "", "none", "NVSwitch3",
                                                   "NVL72 rack (MNNVL)"};
  static const std::vector<std::string> kKind = {"",    "",    "PCIe behind one switch (PIX)",
                                                 "PHB", "SYS", "two pairs behind switches"};
  static const std::vector<std::string> kType = {"",
                                                 "ConnectX-7",
                                                 "ConnectX-6/7 VF",
                                                 "unnamed",
                                                 "AWS EFA v2 (SRD)",
                                                 "EFA",
                                                 "veth shaped by x",
                                                 "virtio",
                                                 "gVNIC with GPUDirect-TCPXO",
                                                 "ConnectX-7 (gIB plugin)",
                                                 "HPE Slingshot-11",
                                                 "Omni-Path HFI1",
                                                 "ConnectX-7 (GB10 on-board)",
                                                 "none (single node)"};
  static const std::vector<std::string> kLink = {
      "", "InfiniBand NDR", "RoCEv2", "EFA", "TCP socket over the NIC", "Ethernet/TCP", "?"};
  static const std::vector<std::string> kPath = {"", "PIX", "PHB", "NODE", "SYS"};
  static const std::vector<std::string> kFilter = {"",          "mlx5_0", "mlx5", "^mlx5_1",
                                                   "=mlx5_2:1", "a,b,c",  ","};
  Record record;
  record.id = "r";
  record.collective = "all_reduce";
  auto& system = record.system;
  system.gpu = any_gpu(random);
  system.gpus_per_node = static_cast<std::int32_t>(1 + random.below(9));
  system.nodes = static_cast<std::int32_t>(1 + random.below(4));
  system.intra.nvlink = any(random, kNvLink);
  system.intra.nv_switch = any(random, kSwitch);
  system.intra.kind = any(random, kKind);
  system.nic.type = any(random, kType);
  system.nic.link = any(random, kLink);
  if (random.below(4) != 0) {
    system.nic.count = static_cast<std::int32_t>(random.below(20));
  }
  if (random.below(4) != 0) {
    system.nic.rate =
        Bandwidth::gigabits_per_second(static_cast<std::int64_t>(1 + random.below(800)));
  }
  system.pcie = any(random, {"", "Gen3 x8", "Gen5 x16", "Gen99 x3"});
  system.conditions["gpu_nic_path"] = any(random, kPath);
  system.conditions["acs"] = any(random, {"off", "redirect"});
  system.conditions["nps"] = any(random, {"1", "2", "4"});
  record.environment["NCCL_IB_HCA"] = any(random, kFilter);
  record.environment["CUDA_VISIBLE_DEVICES"] = any(random, {"", "0,2,4", "7", "x"});
  return record;
}

std::string text_of(const Record& record) {
  const auto& system = record.system;
  return fmt::format(
      "{} x {} x {} | {} | {} | {} | {} | {} | {} x {} | {} | {} {} | {} {}", *system.nodes,
      *system.gpus_per_node, system.gpu, system.intra.nvlink, system.intra.nv_switch,
      system.intra.kind, system.nic.type, system.nic.link, system.nic.count.value_or(-1),
      system.nic.rate.value_or(Bandwidth()).as_gigabits_per_second(), system.pcie,
      system.conditions.at("gpu_nic_path"), system.conditions.at("nps"),
      record.environment.at("NCCL_IB_HCA"), record.environment.at("CUDA_VISIBLE_DEVICES"));
}

void systems(Random& random) {
  const Record record = any_record(random);
  const std::string text = text_of(record);
  const BuiltSystem built = scenarios::accuracy::build_system(record, library());
  require(built.modelled == built.reason.empty(), "neither modelled nor a reason", text);
  if (!built.modelled) {
    return;
  }
  const scenarios::Variant& variant = built.variant;
  std::size_t ranks = 0;
  for (const topologies::Machine& machine : variant.cluster.hosts) {
    ranks += machine.gpus.size();
  }
  require(ranks == static_cast<std::size_t>(*record.system.nodes * *record.system.gpus_per_node),
          "the hosts have other GPUs than the record", text);
  topologies::build(variant.cluster, library().catalog);
  try {
    const scenarios::Job job = scenarios::decide(variant, library().catalog);
    if (job.selection.outcome == nccl::Outcome::kRuns) {
      scenarios::make_plan(variant, job);
    }
  } catch (const InputError&) {
    return;  // a job that cannot be is an answer
  }
}

}  // namespace

std::vector<Fuzzer> accuracy_fuzzers() {
  return {{"records_reader", "damaged records give good problems or whole records", 300,
           records_reader},
          {"record_systems", "any system is built, decided and planned, or has a reason", 200,
           systems}};
}

}  // namespace busbw::fuzz
