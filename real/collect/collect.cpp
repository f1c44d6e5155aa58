// See collect.h.
#include "real/collect/collect.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "real/collect/jobs.h"
#include "real/collect/redact.h"
#include "real/collect/system_facts.h"
#include "sim/core/text.h"

namespace busbw::real::collect {
namespace {

struct Tool {
  const char* file;
  std::vector<std::string> command;
};

const std::vector<Tool>& tools() {
  static const std::vector<Tool> kTools = {
      {"ip-addr.txt", {"ip", "addr"}},
      {"ip-link.txt", {"ip", "link"}},
      {"ip-route.txt", {"ip", "route"}},
      {"ibstat.txt", {"ibstat"}},
      {"ibstatus.txt", {"ibstatus"}},
      {"ibv_devinfo.txt", {"ibv_devinfo"}},
      {"iblinkinfo.txt", {"iblinkinfo"}},
      {"show_gids.txt", {"show_gids"}},
      {"rdma_link.txt", {"rdma", "link"}},
      {"ibdev2netdev.txt", {"ibdev2netdev"}},
      {"topo.txt", {"nvidia-smi", "topo", "-m"}},
      {"nvidia-smi.txt", {"nvidia-smi", "-q"}},
      {"nvlink.txt", {"nvidia-smi", "nvlink", "-s"}},
      {"lspci.txt", {"lspci", "-vvv"}},
      {"lspci-tree.txt", {"lspci", "-tv"}},
      {"lsmod.txt", {"lsmod"}},
      {"dmesg.txt", {"dmesg"}},
      {"df_shm.txt", {"df", "-h", "/dev/shm"}},
  };
  return kTools;
}

/// A tool's output without what is not ours to take.
std::string taken(const std::string& file, const std::string& text) {
  if (file == "nvidia-smi.txt" || file == "lspci.txt")
    return without_serials(text);
  return file == "dmesg.txt" ? kernel_messages(text) : text;
}

std::string first_line(const std::string& text) {
  const std::vector<std::string_view> lines = split_lines(text);
  return lines.empty() ? "" : std::string(trim(lines.front()));
}

/// Files by name while they come in: a tool's replaces ours.
class Collector {
 public:
  void add_part(const Gathered& gathered) {
    for (const CollectedFile& file : gathered.files)
      files_.insert_or_assign(file.name, file);
    for (const MissingFact& fact : gathered.missing)
      missing_.push_back(fact);
  }
  void fail_part(const Job& job, const JobResult& result) {
    missing_.push_back({job.name, result.reason});
  }
  void add_tool(const Tool& tool, const JobResult& result) {
    const std::string command = join(tool.command, " ");
    const std::string text = taken(tool.file, result.text);
    if (result.end == JobEnd::kDone && !trim(text).empty()) {
      files_.insert_or_assign(tool.file, CollectedFile{tool.file, text, command});
      return;
    }
    std::string reason = result.end == JobEnd::kDone ? "no output" : result.reason;
    const std::string said = first_line(result.text);
    if (result.end != JobEnd::kDone && !said.empty())
      reason += ": " + said;
    missing_.push_back({tool.file, fmt::format("'{}': {}", command, reason)});
  }
  void add_absent(const Tool& tool) {
    if (files_.count(tool.file) == 0)
      missing_.push_back({tool.file, fmt::format("'{}' is not installed", tool.command.front())});
  }

  /// What a part could not tell and a tool did is not missing.
  Collection finish() {
    Collection collection;
    for (auto& [name, file] : files_) {
      file.text = redacted(file.text);
      collection.files.push_back(std::move(file));
    }
    std::set<std::pair<std::string, std::string>> facts;
    for (const MissingFact& fact : missing_) {
      const bool by_tool = fact.reason.starts_with("'");
      if (by_tool || files_.count(fact.name) == 0)
        facts.emplace(redacted_line(fact.name), redacted_line(fact.reason));
    }
    for (const auto& [name, reason] : facts)
      collection.missing.push_back({name, reason});
    return collection;
  }

 private:
  static std::string redacted_line(const std::string& text) {
    return std::string(trim(redacted(text)));
  }

  std::map<std::string, CollectedFile> files_;
  std::vector<MissingFact> missing_;
};

}  // namespace

Collection collect(const CollectOptions& options) {
  const bool machine = Root(options.root).is_machine();
  std::vector<Job> jobs;
  std::vector<const Tool*> started;  // of the jobs behind the parts
  std::vector<const Tool*> absent;
  for (const Part& part : parts(options.root, options.environment))
    jobs.push_back({part.name, {}, [part] { return to_bytes(part.gather()); }});
  const std::size_t parts_end = jobs.size();
  const auto path = options.environment.find("PATH");
  for (const Tool& tool : tools()) {
    if (!machine)
      continue;
    std::vector<std::string> command = tool.command;
    command.front() =
        find_program(command.front(), path == options.environment.end() ? "" : path->second);
    if (command.front().empty()) {
      absent.push_back(&tool);
      continue;
    }
    started.push_back(&tool);
    jobs.push_back({join(tool.command, " "), command, {}});
  }
  const std::vector<JobResult> results = run_jobs(
      jobs, options.timeout, [&](const Job& job, const JobResult&) { options.progress(job.name); });
  Collector collector;
  for (std::size_t i = 0; i < parts_end; ++i) {
    if (results[i].end == JobEnd::kDone) {
      collector.add_part(from_bytes(results[i].text, jobs[i].name));
    } else {
      collector.fail_part(jobs[i], results[i]);
    }
  }
  for (std::size_t i = parts_end; i < jobs.size(); ++i)
    collector.add_tool(*started[i - parts_end], results[i]);
  for (const Tool* tool : absent)
    collector.add_absent(*tool);
  return collector.finish();
}

std::vector<std::string> file_names() {
  std::set<std::string> names = {"pkeys.txt",   "ulimit.txt",     "mounts.txt",
                                 "cmdline.txt", "modinfo.txt",    "env.txt",
                                 "nccl.conf",   "user-nccl.conf", "ls_dev_infiniband.txt"};
  for (const Tool& tool : tools())
    names.insert(tool.file);
  return {names.begin(), names.end()};
}

Value manifest(const Collection& collection, const std::string& host, const std::string& root) {
  Value files = Value::array();
  for (const CollectedFile& file : collection.files) {
    files.push(Value::object()
                   .set("name", file.name)
                   .set("source", file.source)
                   .set("bytes", static_cast<std::int64_t>(file.text.size())));
  }
  Value missing = Value::array();
  for (const MissingFact& fact : collection.missing)
    missing.push(Value::object().set("name", fact.name).set("reason", fact.reason));
  Value left_out = Value::array();
  for (const char* what :
       {"variables that are not of the allow-list", "values that look like tokens or passwords",
        "home directories, serial numbers, UUIDs and processes",
        "kernel messages about other things than GPUs, NICs, PCIe and memory"})
    left_out.push(what);
  return Value::object()
      .set("schema", "busbw.collect/1")
      .set("host", host)
      .set("root", root.empty() ? "/" : root)
      .set("files", files)
      .set("missing", missing)
      .set("left_out", left_out);
}

}  // namespace busbw::real::collect
