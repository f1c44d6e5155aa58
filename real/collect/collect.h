// Gathers on a machine what a diagnosis reads, without changing anything and without needing any
// tool: each file from the tool when it is there and answers, else from sysfs, procfs, the kernel
// and libraries, in the tool's form.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "real/base/deadline.h"
#include "real/collect/parts.h"
#include "sim/core/value.h"

namespace busbw::real::collect {

struct CollectOptions {
  std::string root;                                // "": this machine
  Milliseconds timeout{10000};                     // of all tools and parts, which run together
  std::map<std::string, std::string> environment;  // of the job; PATH says where tools are
  std::function<void(const std::string&)> progress = [](const std::string&) {};  // what has ended
};

struct Collection {
  std::vector<CollectedFile> files;  // sorted by name, redacted
  std::vector<MissingFact> missing;  // sorted by name; also tools that failed beside a file
};

/// Throws SystemError when no process can be started.
Collection collect(const CollectOptions& options);

/// Names of all files that a collection can have.
std::vector<std::string> file_names();

/// `schema: busbw.collect/1`: what was read from where, what was not and why.
Value manifest(const Collection& collection, const std::string& host, const std::string& root);

}  // namespace busbw::real::collect
