// Predicted beside measured: which points are judged, how far off they are, and whether that is
// within the bounds of the scenario. Plain arithmetic, no engine and no clock.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/spec/scenario.h"
#include "sim/core/units.h"
#include "sim/core/value.h"

namespace busbw::scenarios {

/// One size of a variant, predicted and measured.
struct ValidationPoint {
  std::string variant;
  std::string collective;
  std::string algorithm;
  std::string mover;  // write, read, send, tcp, shm
  std::int32_t ranks = 0;
  Bytes bytes;
  Duration predicted;
  Duration measured;  // median
  Duration measured_min;
  Duration measured_max;
  bool judged = false;
  double error_percent = 0;  // predicted / measured - 1
};

/// The times of two variants against each other, at one size.
struct ValidationRatio {
  std::string of;
  std::string over;
  Bytes bytes;
  double predicted = 0;
  double measured = 0;
  double error_percent = 0;
  double allowed_percent = 0;
  bool met = false;
};

struct ValidationResult {
  std::string scenario;
  std::string title;
  std::string parameters;  // file, or what measured them
  std::string engine;
  std::vector<std::string> remarks;
  std::vector<ValidationPoint> points;
  std::vector<ValidationRatio> ratios;
  std::int64_t judged = 0;    // points
  double median_percent = 0;  // of |error| over the judged points; 0 without any
  double worst_percent = 0;
  std::optional<double> median_allowed;  // nothing: not judged
  std::optional<double> worst_allowed;
  bool met = true;  // no bound was missed
};

/// Judges `points` (their errors and `judged` are set here) by the bounds. Without bounds nothing
/// is judged. CHECKs that measured times are above 0.
ValidationResult judge(std::vector<ValidationPoint> points,
                       const std::optional<Validation>& bounds);

/// Schema busbw.validate/1; see docs/formats/scenario.md.
Value to_value(const ValidationResult& result);
/// One line a point after a line of titles.
std::string to_csv(const ValidationResult& result);

}  // namespace busbw::scenarios
