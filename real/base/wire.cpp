// See wire.h.
#include "real/base/wire.h"

#include <fmt/format.h>

#include "sim/core/errors.h"

namespace busbw::real {

WireWriter& WireWriter::text(std::string_view value) {
  number(static_cast<std::uint32_t>(value.size()));
  bytes_ += value;
  return *this;
}

std::string WireReader::text() {
  return std::string(raw(number<std::uint32_t>()));
}

void WireReader::end() const {
  if (!rest_.empty())
    fail(fmt::format("{} bytes too many", rest_.size()));
}

std::string_view WireReader::raw(std::size_t size) {
  if (size > rest_.size())
    fail(fmt::format("{} bytes where at least {} were expected", rest_.size(), size));
  const std::string_view bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return bytes;
}

void WireReader::fail(const std::string& why) const {
  throw SystemError(
      {"exchange", "the message has " + why + ": another version of busbw?", "", from_});
}

}  // namespace busbw::real
