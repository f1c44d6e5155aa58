// See log_frame.h.
#include "models/nccl/log_frame.h"

#include <fmt/format.h>

namespace busbw::nccl {

std::string framed(const LogLine& line, const LogFrame& frame, Version version) {
  const std::string place =
      fmt::format("{}:{}:{} [{}]", frame.host, frame.pid, frame.tid, frame.device);
  if (!line.warning)
    return fmt::format("{} NCCL INFO {}", place, line.text);
  const bool stamped = version >= Version{2, 26, 0} && !frame.timestamp.empty();
  return fmt::format("\n{}{} NCCL WARN {}", stamped ? "[" + frame.timestamp + "] " : "", place,
                     line.text);
}

std::string framed(const std::vector<LogLine>& lines, const LogFrame& frame, Version version) {
  std::string out;
  for (const LogLine& line : lines)
    out += framed(line, frame, version) + "\n";
  return out;
}

}  // namespace busbw::nccl
