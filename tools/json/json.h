// JSON text <-> busbw::Value: the only user of nlohmann-json.
#pragma once
#include <string>
#include <string_view>

#include "sim/core/errors.h"
#include "sim/core/value.h"

namespace busbw::json {

/// Pretty-printed JSON, two spaces, keys in the value's own order, numbers in the shortest form
/// that reads back equal, ending in a newline. NaN and infinities are a CHECK failure.
std::string print(const Value& value);

/// Parses `text`; values carry their place in `file`. A syntax error is added to `problems`
/// (file:line:col) and gives null. Duplicate keys are problems too.
Value parse(std::string_view text, const std::string& file, Problems& problems);

}  // namespace busbw::json
