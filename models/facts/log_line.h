// One line of a log, freed of what stands around it: colour codes, carriage returns, the prefixes
// of launchers and containers ("[1,0]<stdout>:", "(RayWorker pid=7)", "0: "), time stamps.
#pragma once
#include <string>
#include <string_view>

namespace busbw::facts {

/// The line without colour codes and control characters; a tab stays. Bytes that are no UTF-8 stay.
std::string without_colour(std::string_view line);

/// The text inside a line of Docker's json-file logs ({"log":"...\n","stream":...}); other lines as
/// they are.
std::string without_json_frame(std::string line);

/// The line without the signs of a quoted or commented paste in front of it: "# ", "> ", "$ ".
std::string_view without_quote_signs(std::string_view line);

struct NcclLine {
  std::string host;       // empty: the line has lost its frame
  std::string level;      // "INFO", "WARN", "TRACE", "ERROR"
  std::string device;     // what stands in "[...]" before the level; empty: nothing
  std::string source;     // "transport/net_ib.cc:1295"; empty: not said
  std::string_view text;  // message, a part of the given line
};

/// Takes the frame "host:pid:tid [dev] file:line NCCL LEVEL text" apart. False when the line has no
/// "NCCL INFO", "NCCL WARN", "NCCL TRACE" or "NCCL ERROR". Source: NCCL 2.4 to 2.30, src/debug.cc.
bool read_nccl_line(std::string_view line, NcclLine& result);

}  // namespace busbw::facts
