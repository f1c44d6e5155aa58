// A validation as text for people: the points, the ratios, and what the bounds say.
#pragma once
#include <string>

#include "scenarios/validation.h"

namespace busbw::tools {

std::string format_validation(const scenarios::ValidationResult& result, bool colour);

}  // namespace busbw::tools
