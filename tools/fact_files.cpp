// See fact_files.h.
#include "tools/fact_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "sim/core/errors.h"

namespace busbw::tools {
namespace {

namespace fs = std::filesystem;

struct Candidate {
  std::string path;
  std::string host;
};

constexpr std::size_t kMostFiles = 100'000;  // a folder with more is none of logs

void add_folder(const std::string& folder, bool one_of_several, std::vector<Candidate>& files,
                Problems& problems) {
  std::error_code error;
  std::vector<std::string> found;
  for (fs::recursive_directory_iterator at(folder, error), end; at != end; at.increment(error)) {
    std::error_code ignored;
    if (error || found.size() > kMostFiles) {
      break;
    }
    if (at->is_regular_file(ignored)) {
      found.push_back(at->path().string());
    }
  }
  if (error) {
    problems.add({}, fmt::format("{}: cannot be read: {}", folder, error.message()));
  }
  if (found.size() > kMostFiles) {
    problems.add({}, fmt::format("{}: more than {} files", folder, kMostFiles));
  }
  std::sort(found.begin(), found.end());
  for (const std::string& path : found) {
    const fs::path inside = fs::path(path).lexically_relative(folder);
    const bool nested = std::distance(inside.begin(), inside.end()) > 1;
    std::string host = facts::host_of_file(path);
    if (host.empty() && nested) {
      host = inside.begin()->string();
    } else if (host.empty() && one_of_several) {
      host = fs::path(folder).lexically_normal().filename().string();
    }
    files.push_back({path, host});
  }
}

/// False, with the reason in errno, when the system refuses.
bool read_one(const Candidate& candidate, FactFiles& result) {
  std::ifstream in(candidate.path, std::ios::binary);
  if (!in) {
    return false;
  }
  facts::FileReader reader(candidate.path, candidate.host, result.store);
  std::vector<char> piece(std::size_t{1} << 20);
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
    reader.text({piece.data(), static_cast<std::size_t>(in.gcount())});
  }
  facts::FileReport report = reader.finish();
  if (in.bad()) {
    return false;
  }
  if (report.kinds.empty()) {
    result.unread.push_back(
        {report.file, report.bytes == 0 ? "empty" : "holds no text of a known kind"});
  } else {
    result.read.push_back(std::move(report));
  }
  return true;
}

}  // namespace

FactFiles read_fact_files(const std::vector<std::string>& paths) {
  std::vector<Candidate> files;
  Problems problems;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      add_folder(path, paths.size() > 1, files, problems);
    } else if (!fs::exists(path, error)) {
      problems.add({}, path + ": cannot be read: no such file or folder");
    } else {
      files.push_back({path, facts::host_of_file(path)});
    }
  }
  problems.throw_if_any();
  FactFiles result;
  for (const Candidate& candidate : files) {
    errno = 0;
    if (!read_one(candidate, result)) {
      result.unread.push_back({candidate.path, std::strerror(errno)});
    }
  }
  return result;
}

}  // namespace busbw::tools
