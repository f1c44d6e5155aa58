// Chooses the implementation.
#include "sim/engine/engine.h"

#include "sim/core/check.h"
#include "sim/engine/make.h"

namespace busbw::engine {

std::unique_ptr<Engine> make_engine(Kind kind) {
  switch (kind) {
    case Kind::kFluid:
      return make_fluid_engine();
    case Kind::kReference:
      return make_reference_engine();
  }
  fail_check(__FILE__, __LINE__, "kind", "unknown engine kind");
}

}  // namespace busbw::engine
