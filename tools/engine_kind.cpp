// See engine_kind.h.
#include "tools/engine_kind.h"

#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::tools {

engine::Kind engine_kind(const std::string& name) {
  if (name == "fluid") {
    return engine::Kind::kFluid;
  }
  if (name == "reference") {
    return engine::Kind::kReference;
  }
  throw InputError("unknown engine '" + name + "'; allowed: 'fluid' or 'reference'" +
                   did_you_mean(name, {"fluid", "reference"}));
}

}  // namespace busbw::tools
