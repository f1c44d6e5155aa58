// See engine_kind.h.
#include "tools/engine_kind.h"

#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::tools {

scenarios::EngineChoice engine_choice(const std::string& name) {
  using engine::Kind;
  using scenarios::Level;
  for (const scenarios::EngineChoice choice : {scenarios::EngineChoice{Kind::kFluid, Level::kAuto},
                                               {Kind::kFluid, Level::kPlayed},
                                               {Kind::kReference, Level::kPlayed},
                                               {Kind::kFluid, Level::kSteady}}) {
    if (to_string(choice) == name) {
      return choice;
    }
  }
  throw InputError("unknown engine '" + name +
                   "'; allowed: 'auto', 'fluid', 'reference' or 'steady'" +
                   did_you_mean(name, {"auto", "fluid", "reference", "steady"}));
}

}  // namespace busbw::tools
