// Files and folders that a user names, read into facts piece by piece.
#pragma once
#include <string>
#include <vector>

#include "models/facts/fact.h"
#include "models/facts/read_facts.h"

namespace busbw::tools {

struct UnreadFile {
  std::string file;
  std::string reason;
};

struct FactFiles {
  facts::FactStore store;
  std::vector<facts::FileReport> read;  // in the order of their names
  std::vector<UnreadFile> unread;       // no known kind, or the system refused
};

/// Reads files, and all files below folders in order of their names. The host that a file is about
/// comes from its name ("ibstat.node-a.txt"), else from the folder in which it lies, when several
/// folders are named or a folder has folders. Throws InputError with every path that is not there.
FactFiles read_fact_files(const std::vector<std::string>& paths);

}  // namespace busbw::tools
