// See validation.h.
#include "scenarios/validation.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "scenarios/result_value.h"
#include "sim/core/check.h"

namespace busbw::scenarios {
namespace {

double percent_off(double predicted, double measured) {
  return (predicted / measured - 1) * 100;
}

/// The middle of the values; of an even number the mean of the two in the middle.
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

bool judges(const Validation& bounds, const ValidationPoint& point) {
  const std::vector<std::string>& reported = bounds.reported;
  return bounds.judged && point.bytes >= bounds.from &&
         std::find(reported.begin(), reported.end(), point.variant) == reported.end();
}

const ValidationPoint* find_point(const std::vector<ValidationPoint>& points,
                                  const std::string& variant, Bytes bytes) {
  const auto found = std::find_if(points.begin(), points.end(), [&](const ValidationPoint& point) {
    return point.variant == variant && point.bytes == bytes;
  });
  return found == points.end() ? nullptr : &*found;
}

void add_ratios(const Validation& bounds, ValidationResult& result) {
  for (const Validation::TimeRatio& wanted : bounds.ratios) {
    const std::size_t before = result.ratios.size();
    for (const ValidationPoint& of : result.points) {
      const ValidationPoint* over = of.variant == wanted.of && of.bytes >= bounds.from
                                        ? find_point(result.points, wanted.over, of.bytes)
                                        : nullptr;
      if (over == nullptr) {
        continue;
      }
      ValidationRatio ratio;
      ratio.of = wanted.of;
      ratio.over = wanted.over;
      ratio.bytes = of.bytes;
      ratio.predicted = of.predicted.as_seconds() / over->predicted.as_seconds();
      ratio.measured = of.measured.as_seconds() / over->measured.as_seconds();
      ratio.error_percent = percent_off(ratio.predicted, ratio.measured);
      ratio.allowed_percent = wanted.within_percent;
      ratio.met = std::abs(ratio.error_percent) <= wanted.within_percent;
      result.met = result.met && ratio.met;
      result.ratios.push_back(ratio);
    }
    if (result.ratios.size() == before) {
      result.remarks.push_back(
          fmt::format("no ratio of '{}' over '{}': they have no judged size in "
                      "common",
                      wanted.of, wanted.over));
    }
  }
}

Value point_value(const ValidationPoint& point) {
  return Value::object()
      .set("variant", point.variant)
      .set("collective", point.collective)
      .set("algorithm", point.algorithm)
      .set("mover", point.mover)
      .set("ranks", point.ranks)
      .set("bytes", point.bytes.count())
      .set("predicted_us", point.predicted.as_us())
      .set("measured_us", Value::object()
                              .set("min", point.measured_min.as_us())
                              .set("median", point.measured.as_us())
                              .set("max", point.measured_max.as_us()))
      .set("error_percent", point.error_percent)
      .set("judged", point.judged);
}

Value ratio_value(const ValidationRatio& ratio) {
  return Value::object()
      .set("of", ratio.of)
      .set("over", ratio.over)
      .set("bytes", ratio.bytes.count())
      .set("predicted", ratio.predicted)
      .set("measured", ratio.measured)
      .set("error_percent", ratio.error_percent)
      .set("allowed_percent", ratio.allowed_percent)
      .set("met", ratio.met);
}

Value optional_number(const std::optional<double>& number) {
  return number ? Value(*number) : Value();
}

}  // namespace

ValidationResult judge(std::vector<ValidationPoint> points,
                       const std::optional<Validation>& bounds) {
  ValidationResult result;
  result.points = std::move(points);
  std::vector<double> errors;
  for (ValidationPoint& point : result.points) {
    CHECK(point.measured > Duration(), "{} of {} measured as {} ps", point.variant,
          point.bytes.count(), point.measured.ps());
    point.error_percent = percent_off(point.predicted.as_seconds(), point.measured.as_seconds());
    point.judged = bounds && judges(*bounds, point);
    if (point.judged) {
      errors.push_back(std::abs(point.error_percent));
    }
  }
  result.judged = static_cast<std::int64_t>(errors.size());
  if (!errors.empty()) {
    result.median_percent = median(errors);
    result.worst_percent = *std::max_element(errors.begin(), errors.end());
    result.median_allowed = bounds->median_percent;
    result.worst_allowed = bounds->worst_percent;
    result.met = result.median_percent <= bounds->median_percent &&
                 result.worst_percent <= bounds->worst_percent;
  }
  if (bounds) {
    add_ratios(*bounds, result);
  }
  return result;
}

Value to_value(const ValidationResult& result) {
  Value points = Value::array();
  for (const ValidationPoint& point : result.points) {
    points.push(point_value(point));
  }
  Value ratios = Value::array();
  for (const ValidationRatio& ratio : result.ratios) {
    ratios.push(ratio_value(ratio));
  }
  Value remarks = Value::array();
  for (const std::string& remark : result.remarks) {
    remarks.push(remark);
  }
  return Value::object()
      .set("schema", "busbw.validate/1")
      .set("scenario", result.scenario)
      .set("parameters", result.parameters)
      .set("engine", result.engine)
      .set("remarks", std::move(remarks))
      .set("points", std::move(points))
      .set("ratios", std::move(ratios))
      .set("summary", Value::object()
                          .set("judged", result.judged)
                          .set("median_percent", result.median_percent)
                          .set("worst_percent", result.worst_percent)
                          .set("median_allowed", optional_number(result.median_allowed))
                          .set("worst_allowed", optional_number(result.worst_allowed))
                          .set("met", result.met));
}

std::string to_csv(const ValidationResult& result) {
  std::string text =
      "variant,collective,algorithm,mover,ranks,bytes,predicted_us,measured_us,measured_min_us,"
      "measured_max_us,error_percent,judged\n";
  for (const ValidationPoint& point : result.points) {
    text += fmt::format(
        "{},{},{},{},{},{},{:.3f},{:.3f},{:.3f},{:.3f},{:.2f},{}\n", csv_field(point.variant),
        point.collective, point.algorithm, point.mover, point.ranks, point.bytes.count(),
        point.predicted.as_us(), point.measured.as_us(), point.measured_min.as_us(),
        point.measured_max.as_us(), point.error_percent, point.judged ? "yes" : "no");
  }
  return text;
}

}  // namespace busbw::scenarios
