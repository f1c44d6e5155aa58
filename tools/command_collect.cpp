// See command_collect.h.
#include "tools/command_collect.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "real/base/system.h"
#include "real/collect/collect.h"
#include "real/launch/local_rank.h"
#include "real/launch/place.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "tools/exit_codes.h"
#include "tools/files.h"
#include "tools/json/json.h"
#include "tools/table.h"

namespace busbw::tools {
namespace {

namespace fs = std::filesystem;
using real::collect::CollectedFile;
using real::collect::Collection;
using real::collect::MissingFact;
using Environment = std::map<std::string, std::string>;

constexpr const char* kManifest = "manifest.json";

real::Milliseconds read_timeout(const std::string& text, Problems& problems) {
  constexpr double kMost = 3600;
  const std::optional<double> seconds = parse_number(text);
  if (!seconds || *seconds <= 0 || *seconds > kMost) {
    problems.add({}, fmt::format("--timeout '{}'; allowed: seconds above 0 and up to {}", text,
                                 static_cast<int>(kMost)));
    return real::Milliseconds(1);
  }
  return real::Milliseconds(std::max<std::int64_t>(1, static_cast<std::int64_t>(*seconds * 1000)));
}

void check_root(const std::string& root, Problems& problems) {
  std::error_code error;
  if (!root.empty() && !fs::is_directory(root, error))
    problems.add({}, fmt::format("--root '{}' is no folder", root));
}

/// A folder that is not there, empty, or of an earlier collection.
void check_folder(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error))
    return;
  if (!fs::is_directory(folder, error))
    throw InputError(fmt::format("'{}' is no folder", folder.string()));
  if (!fs::is_empty(folder, error) && !fs::exists(folder / kManifest, error)) {
    throw InputError(
        fmt::format("'{}' holds files that are not of a collection (no {}); name another "
                    "folder by -o",
                    folder.string(), kManifest));
  }
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw SystemError({"mkdir", error.message(), folder.string(), ""});
}

/// Writes what was collected and takes away what an earlier collection had more.
void write_folder(const fs::path& folder, const Collection& collection,
                  const std::string& manifest) {
  make_folder(folder);
  for (const std::string& name : real::collect::file_names()) {
    std::error_code error;
    fs::remove(folder / name, error);
  }
  for (const CollectedFile& file : collection.files)
    write_file((folder / file.name).string(), file.text);
  write_file((folder / kManifest).string(), manifest);
}

/// Of the processes of one host that say no local number, the first; held until the end.
class HostLock {
 public:
  HostLock(const fs::path& folder, const std::string& host)
      : path_((folder / ("." + host + ".lock")).string()),
        file_(::open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {
    if (!file_.open())
      real::fail_call("open", errno, path_);
    // A file system without locks lets every process write: the same files twice.
    mine_ = ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  }
  HostLock(const HostLock&) = delete;
  HostLock& operator=(const HostLock&) = delete;
  ~HostLock() {
    if (mine_)
      ::unlink(path_.c_str());
  }
  [[nodiscard]] bool mine() const { return mine_; }

 private:
  std::string path_;
  real::Descriptor file_;
  bool mine_ = false;
};

std::string host_of(const std::string& root) {
  std::string host = real::host_name();
  if (!root.empty()) {
    const std::string named = real::collect::Root(root).line("/etc/hostname");
    host = named.empty() ? "host" : named;
  }
  std::replace(host.begin(), host.end(), '/', '_');
  return host;
}

std::string report(const Collection& collection, const fs::path& folder, bool colour) {
  std::vector<std::vector<std::string>> rows;
  for (const CollectedFile& file : collection.files)
    rows.push_back({file.name, std::to_string(file.text.size()), file.source});
  std::string text = format_table({{"file"}, {"bytes", Align::kRight}, {"from"}}, rows, colour);
  if (!collection.missing.empty()) {
    rows.clear();
    for (const MissingFact& fact : collection.missing)
      rows.push_back({fact.name, fact.reason});
    text += "\n" + format_table({{"not there"}, {"why"}}, rows, colour);
  }
  return text + fmt::format("\n{} files in {}; {} says where each is from\n",
                            collection.files.size(), folder.string(), kManifest);
}

/// Collects into `folder` and prints.
int collect_into(const fs::path& folder, const CollectCommandOptions& options,
                 real::collect::CollectOptions what, Console& console) {
  check_folder(folder);
  if (console.terminal_err) {
    what.progress = [&](const std::string& name) {
      console.err << "\r\033[Kcollecting: " << name << std::flush;
    };
  }
  const Collection collection = real::collect::collect(what);
  if (console.terminal_err)
    console.err << "\r\033[K";
  const std::string manifest =
      json::print(real::collect::manifest(collection, host_of(options.root), options.root));
  write_folder(folder, collection, manifest);
  if (!options.json.empty() && options.json != "-")
    write_file(options.json, manifest);
  if (options.json == "-") {
    console.out << manifest;
  } else if (options.all_nodes) {
    console.out << fmt::format("{}: {} files in {}\n", host_of(options.root),
                               collection.files.size(), folder.string());
  } else {
    console.out << report(collection, folder, console.colour_out);
  }
  return kExitDone;
}

}  // namespace

int collect(const CollectCommandOptions& options, Console& console) {
  Problems problems;
  const Environment environment = real::process_environment();
  real::collect::CollectOptions what;
  what.root = options.root;
  what.timeout = read_timeout(options.timeout, problems);
  what.environment = environment;
  check_root(options.root, problems);
  if (options.all_nodes && !real::is_launched(environment)) {
    problems.add({},
                 "--all-nodes: no launcher has started this; start it by srun or mpirun, once a "
                 "host or more often");
  }
  if (options.output.empty())
    problems.add({}, "-o: no folder named");
  problems.throw_if_any();
  const fs::path folder = options.output;
  if (!options.all_nodes)
    return collect_into(folder, options, std::move(what), console);
  const std::optional<std::int32_t> local = real::local_rank(environment);
  if (local.value_or(0) != 0)
    return kExitDone;  // another process of this host writes
  make_folder(folder);
  const std::string host = host_of(options.root);
  if (local)
    return collect_into(folder / host, options, std::move(what), console);
  const HostLock lock(folder, host);
  return lock.mine() ? collect_into(folder / host, options, std::move(what), console) : kExitDone;
}

}  // namespace busbw::tools
