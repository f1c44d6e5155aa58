// The engine that a flag names.
#pragma once
#include <string>

#include "scenarios/simulate.h"

namespace busbw::tools {

/// "auto", "fluid", "reference" or "steady". Throws InputError for another name.
scenarios::EngineChoice engine_choice(const std::string& name);

}  // namespace busbw::tools
