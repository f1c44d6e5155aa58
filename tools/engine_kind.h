// The engine that a flag names.
#pragma once
#include <string>

#include "sim/engine/engine.h"

namespace busbw::tools {

/// "fluid" or "reference". Throws InputError for another name.
engine::Kind engine_kind(const std::string& name);

}  // namespace busbw::tools
