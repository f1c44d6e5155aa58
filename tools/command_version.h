// `busbw version`: what this program is and which optional libraries are in it.
#pragma once
#include "tools/console.h"

namespace busbw::tools {

struct VersionOptions {
  bool json = false;
};

/// Prints version, SimGrid's version, and verbs, CUDA and hwloc: their version or that they are
/// absent.
int version(const VersionOptions& options, Console& console);

}  // namespace busbw::tools
