// Numbers the connections of a schedule, so that executors look each up once. Internal to busbw's
// executors and validate().
#pragma once
#include <vector>

#include "models/collectives/schedule.h"

namespace busbw::collectives {

/// A one-way connection: who sends to whom on which channel.
struct Connection {
  RankId source;
  RankId destination;
  ChannelId channel;
  std::uint8_t index = 0;
  auto operator<=>(const Connection&) const = default;
};

struct Connections {
  std::vector<Connection> list;  // ascending
  std::vector<std::vector<std::int32_t>>
      of_step;  // [lane][step]: index in list, -1 for reduce and copy
};
Connections connections_of(const Schedule& schedule);

/// "rank 1 channel 0 lane 3 (ring) step 5 (receive)": names a step in failures.
std::string describe_step(const Schedule& schedule, std::size_t lane, std::size_t step);

}  // namespace busbw::collectives
