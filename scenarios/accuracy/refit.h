// Cross-validation that fits: the parameters that were fitted on records (docs/models/transport.md)
// are fitted anew on all sites but those of one fold, and predict the records of that fold.
//
// Each parameter is played at a few factors of its value, the others at theirs, in jobs of up to 64
// ranks. What two of them do to log(predicted / measured) of a point is taken to add up, and to lie
// in the middle at a factor between two that were played, so that they can be chosen together: one
// after the other takes the factor with the smallest sum of |log(predicted / measured)| over the
// judged points that it concerns, until none moves any more. Each site weighs the same, however
// many points it has: what is wanted is the value for the next site. The left-out points are played
// with all that were chosen; NCCL's choices stay its own. A parameter that no other site concerns
// keeps its value, and the fold says so: nothing is known of it without these sites.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "scenarios/accuracy/assess.h"
#include "scenarios/accuracy/fitted_parameters.h"

namespace busbw::scenarios::accuracy {

/// The factors that are played, 1 among them.
const std::vector<double>& refit_factors();

/// What a parameter at a factor predicts for a point that it concerns.
struct Trial {
  std::size_t parameter = 0;
  double factor = 1;
  std::int32_t fold = 0;  // of the point's site
  double error = 0;       // predicted / measured - 1
  std::size_t point = 0;  // which; it has a trial at factor 1, with one error for all parameters
  double weight = 1;      // of the point among those of the parameter
};

/// The factors of `parameters` parameters that do best together on the trials of all folds but
/// `left_out` (a negative one: of all folds); nothing where they have no trial of it. Of equally
/// good ones that nearest to 1. A point without a trial at a factor is as at factor 1.
std::vector<std::optional<double>> best_factors(const std::vector<Trial>& trials,
                                                std::size_t parameters, std::int32_t left_out);

/// The folds of `report`, which `records` made and which has some, fitted and predicted anew.
std::vector<RefitResult> refit(const std::vector<Record>& records, const Report& report,
                               const Library& library, const Context& context, EngineChoice engine);

}  // namespace busbw::scenarios::accuracy
