// What `busbw calibrate` and `busbw validate` have measured: the networks that variants use.
#pragma once
#include <cstdint>

#include "tools/command_calibrate.h"
#include "tools/command_measure.h"

namespace busbw::tools {

/// A calibration and the number of ranks that it needs.
struct PlannedCalibration {
  real::CalibrationOrder order;
  std::int32_t ranks = 2;
};

/// Networks of the sections (sections_of_scenario()): each kind and method once, between all
/// devices that they name; shared memory too where a section has several ranks on a host. Throws
/// InputError when some sections of a network name devices and others do not. At least
/// `ranks` ranks.
PlannedCalibration calibration_of(const std::vector<real::Section>& sections,
                                  std::int32_t ranks = 2);

/// The same by flags.
PlannedCalibration calibration_of(const CalibrateOptions& options, Problems& problems);

}  // namespace busbw::tools
