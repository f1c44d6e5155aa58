// Reads files of any kind into facts: logs, tool output, environments, NCCL's topology XML. What a
// file is follows from its lines, never from its name; one file may hold several kinds.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/facts/fact.h"

namespace busbw::facts {

struct FileReport {
  std::string file;
  std::string host;                // taken from its name or folder; empty: none
  std::vector<std::string> kinds;  // what was found in it, in order of appearance; empty: nothing
  std::int64_t lines = 0;
  std::int64_t bytes = 0;
};

/// The host that a file is about by its name: "ibstat.node-a.txt" -> "node-a"; empty for "log.txt".
std::string host_of_file(std::string_view path);

/// Reads one file, piece by piece; keeps facts and at most one unfinished line.
class FileReader {
 public:
  /// `facts` outlives the reader.
  FileReader(std::string file, std::string host, FactStore& facts);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  void text(std::string_view piece);
  FileReport finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Longest line that is read; what is longer is cut there, with a note.
constexpr std::size_t kLongestLine = 65'536;

}  // namespace busbw::facts
