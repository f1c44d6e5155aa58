// See read_facts.h.
#include "models/facts/read_facts.h"

#include <algorithm>

#include "models/facts/line_reader.h"
#include "models/facts/log_line.h"
#include "models/facts/message_lines.h"
#include "models/facts/nccl_log.h"
#include "models/facts/topology_facts.h"
#include "sim/core/text.h"

namespace busbw::facts {

std::string host_of_file(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t first = name.find('.');
  const std::size_t last = name.rfind('.');
  if (first == std::string_view::npos || first == last) {
    return {};
  }
  return std::string(name.substr(first + 1, last - first - 1));
}

namespace {

/// Whether a file that begins with this line is a JSON document: its texts would be quotes of logs,
/// not logs.
bool begins_json(std::string_view line) {
  return line == "{" || line == "[" || line.substr(0, 2) == "{\"" || line.substr(0, 2) == "[{";
}

/// Whether a line can stand in a JSON document: a line of a log that merely began like one can't.
bool fits_json(std::string_view line) {
  constexpr std::string_view kFirst = "{}[]\",-0123456789";
  return line.empty() || kFirst.find(line.front()) != std::string_view::npos ||
         line.substr(0, 4) == "true" || line.substr(0, 5) == "false" || line.substr(0, 4) == "null";
}

}  // namespace

struct FileReader::State {
  std::string file;
  std::string host;
  FactStore& facts;
  FileReport report;
  NcclLogReader nccl;
  MessageReader messages;
  LineReaders readers;
  std::string rest;       // an unfinished line
  bool overlong = false;  // the rest of this line is dropped
  bool noted_long = false;
  bool begun = false;  // a line that is not blank was seen
  bool json = false;   // a JSON document: no text of a tool

  State(std::string file_name, std::string host_name, FactStore& store)
      : file(std::move(file_name)), host(std::move(host_name)), facts(store) {
    report.file = file;
    report.host = host;
    readers.push_back(std::make_unique<TopologyReader>());
    add_rdma_readers(readers);
    add_fabric_readers(readers);
    add_interface_readers(readers);
    add_host_readers(readers);
    add_pci_readers(readers);
    add_gpu_readers(readers);
    add_test_readers(readers);
    add_environment_readers(readers);
  }

  void found(std::string_view kind) {
    if (std::find(report.kinds.begin(), report.kinds.end(), kind) == report.kinds.end()) {
      report.kinds.emplace_back(kind);
    }
  }

  void add(std::string_view raw) {
    report.lines++;
    const Location where{file,
                         static_cast<int>(std::min<std::int64_t>(report.lines, 2'000'000'000)), 1};
    const std::string text = without_json_frame(without_colour(raw));
    if (!begun && !trim(text).empty()) {
      begun = true;
      json = begins_json(trim(text));
    }
    json = json && fits_json(trim(text));
    if (json) {
      if (trim(text).find("\"schema\": \"busbw.") != std::string_view::npos) {
        found("JSON of busbw");  // the manifest of `busbw collect`, a report: nothing of a host
      }
      return;
    }
    NcclLine nccl_line;
    if (read_nccl_line(text, nccl_line)) {
      found("NCCL log");
      if (nccl_line.host.empty()) {
        nccl_line.host = host;
      }
      nccl.read(nccl_line, text, where, facts);
      return;
    }
    const std::string_view bare = without_quote_signs(text);
    const std::string_view message = messages.read(bare, host, where, facts);
    if (!message.empty()) {
      found(message);
      return;
    }
    const SourceLine line{file, where.line, text, bare, host};
    for (const std::unique_ptr<LineReader>& reader : readers) {
      if (reader->read(line, facts)) {
        found(reader->kind());
        return;
      }
    }
  }

  void take(std::string_view line) {
    if (!line.empty() && line.back() == '\r') {
      line.remove_suffix(1);
    }
    // Progress bars return to the beginning of the line: what stands last is shown.
    const std::size_t back = line.rfind('\r');
    add(back == std::string_view::npos ? line : line.substr(back + 1));
  }
};

FileReader::FileReader(std::string file, std::string host, FactStore& facts)
    : state_(std::make_unique<State>(std::move(file), std::move(host), facts)) {}
FileReader::~FileReader() = default;

void FileReader::text(std::string_view piece) {
  State& state = *state_;
  state.report.bytes += static_cast<std::int64_t>(piece.size());
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const std::string_view part = piece.substr(0, end);
    if (!state.overlong) {
      state.rest.append(part.substr(0, kLongestLine - std::min(kLongestLine, state.rest.size())));
      state.overlong = state.rest.size() >= kLongestLine;
    }
    if (end == std::string_view::npos) {
      return;
    }
    if (state.overlong && !state.noted_long) {
      state.facts.note({state.file, static_cast<int>(state.report.lines % 2'000'000'000) + 1, 1},
                       "line longer than 65536 bytes: its end is not read");
      state.noted_long = true;
    }
    state.take(state.rest);
    state.rest.clear();
    state.overlong = false;
    piece.remove_prefix(end + 1);
  }
}

FileReport FileReader::finish() {
  State& state = *state_;
  if (!state.rest.empty()) {
    state.take(state.rest);
    state.rest.clear();
  }
  for (const std::unique_ptr<LineReader>& reader : state.readers) {
    reader->finish(state.facts);
  }
  return state.report;
}

}  // namespace busbw::facts
