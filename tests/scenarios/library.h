// The catalogue of the product, read once a program.
#pragma once
#include <string>

#include "models/params/params.h"
#include "scenarios/simulate.h"
#include "scenarios/spec/load.h"
#include "sim/core/errors.h"

namespace busbw::scenarios {

inline const Library& library() {
  static const Library kLibrary = [] {
    Problems problems;
    Library read = load_library(std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog", problems);
    problems.throw_if_any();
    return read;
  }();
  return kLibrary;
}

inline const params::Transports& transports() {
  static const params::Transports kTransports = [] {
    Problems problems;
    params::Transports read =
        params::load_transports(std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog", problems);
    problems.throw_if_any();
    return read;
  }();
  return kTransports;
}

/// Both, as simulate() takes them.
inline Context context() {
  return {library().catalog, transports()};
}

/// A machine of the catalogue. Throws InputError for a name that it lacks.
inline const topologies::Machine& machine(const std::string& name) {
  for (const topologies::Machine& each : library().machines) {
    if (each.name == name) {
      return each;
    }
  }
  throw InputError("no machine " + name);
}

}  // namespace busbw::scenarios
