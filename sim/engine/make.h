// The two implementations behind make_engine; internal to this folder.
#pragma once
#include <memory>

#include "sim/engine/engine.h"

namespace busbw::engine {

std::unique_ptr<Engine> make_fluid_engine();
std::unique_ptr<Engine> make_reference_engine();

}  // namespace busbw::engine
