// The parts of a collection that need no tool: groups of files that are read together, each in a
// process of its own (jobs.h).
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "real/collect/root.h"

namespace busbw::real::collect {

struct CollectedFile {
  std::string name;    // "ibstat.txt"
  std::string text;    // not empty
  std::string source;  // "sysfs", "ibstat", "getifaddrs and sysfs"
};

struct MissingFact {
  std::string name;  // of a file, or a path that may not be read
  std::string reason;
};

struct Gathered {
  std::vector<CollectedFile> files;
  std::vector<MissingFact> missing;
};

struct Part {
  const char* name;
  std::function<Gathered()> gather;
};

/// Every part. Under another root none asks the kernel or a library. `environment`: of the job.
std::vector<Part> parts(const std::string& root,
                        const std::map<std::string, std::string>& environment);

// Between the processes.
std::string to_bytes(const Gathered& gathered);
/// Throws SystemError for bytes that to_bytes() has not made.
Gathered from_bytes(const std::string& bytes, const std::string& part);

}  // namespace busbw::real::collect
