// See mover.h.
#include "real/movers/mover.h"

#include <algorithm>

#include <fmt/format.h>

namespace busbw::real {

std::string to_string(const LinkId& id) {
  std::string text = fmt::format("link {} -> {} channel {}", id.source.value(),
                                 id.destination.value(), id.channel.value());
  if (id.index != 0)
    text += fmt::format(" connection {}", id.index);
  return text;
}

std::int32_t credit_batch(std::int32_t slots) {
  return std::max(1, slots / 2);
}

void write_id(WireWriter& writer, const LinkId& id) {
  writer.number(id.source.value()).number(id.destination.value()).number(id.channel.value());
  writer.number(id.index);
}

LinkId read_id(WireReader& reader) {
  LinkId id;
  id.source = RankId(reader.number<std::int32_t>());
  id.destination = RankId(reader.number<std::int32_t>());
  id.channel = ChannelId(reader.number<std::int32_t>());
  id.index = reader.number<std::uint8_t>();
  return id;
}

void check_same_link(const Link& own, const Link& other, const std::string& name) {
  if (own.slot_bytes == other.slot_bytes && own.slots == other.slots)
    return;
  throw SystemError(
      {"connect",
       fmt::format("here {} slots of {} bytes, there {} of {}: the ranks do not run the same "
                   "collective with the same byte count",
                   own.slots, own.slot_bytes.count(), other.slots, other.slot_bytes.count()),
       to_string(own.id), name});
}

}  // namespace busbw::real
