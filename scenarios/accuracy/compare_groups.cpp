// Members of comparison groups against each other: measured ratio beside predicted ratio.
#include <algorithm>
#include <cmath>
#include <map>

#include "scenarios/accuracy/assess.h"

namespace busbw::scenarios::accuracy {
namespace {

// Ratios this near to 1 have no direction.
constexpr double kNear = 0.03;

const PointResult* point_of(const RecordResult& record, Bytes bytes) {
  for (const PointResult& point : record.points) {
    if (point.bytes == bytes && point.predicted_GBps) {
      return &point;
    }
  }
  return nullptr;
}

/// The largest size that both have, measured and predicted; nothing if there is none.
std::optional<Bytes> largest_common(const RecordResult& a, const RecordResult& b) {
  std::optional<Bytes> largest;
  for (const PointResult& point : a.points) {
    if (point.predicted_GBps && point_of(b, point.bytes) != nullptr) {
      largest = std::max(largest.value_or(point.bytes), point.bytes);
    }
  }
  return largest;
}

bool same_direction(double measured, double predicted) {
  const bool both_near = std::abs(measured - 1) <= kNear && std::abs(predicted - 1) <= kNear;
  return both_near || (measured > 1) == (predicted > 1);
}

MemberRatio ratio_of(const RecordResult& member, const RecordResult& first, Bytes bytes) {
  const PointResult& a = *point_of(member, bytes);
  const PointResult& b = *point_of(first, bytes);
  MemberRatio ratio;
  ratio.id = member.id;
  ratio.against = first.id;
  ratio.bytes = bytes;
  ratio.measured = a.measured_GBps / b.measured_GBps;
  ratio.predicted = *a.predicted_GBps / *b.predicted_GBps;
  ratio.direction_right = same_direction(ratio.measured, ratio.predicted);
  ratio.error = ratio.predicted / ratio.measured - 1;
  return ratio;
}

}  // namespace

std::optional<bool> GroupResult::directions_right() const {
  if (ratios.empty()) {
    return std::nullopt;
  }
  return std::all_of(ratios.begin(), ratios.end(),
                     [](const MemberRatio& ratio) { return ratio.direction_right; });
}

std::optional<bool> GroupResult::within(double share) const {
  if (ratios.empty()) {
    return std::nullopt;
  }
  return std::all_of(ratios.begin(), ratios.end(),
                     [&](const MemberRatio& ratio) { return std::abs(ratio.error) <= share; });
}

std::vector<GroupResult> compare_groups(const std::vector<Group>& groups,
                                        const std::vector<RecordResult>& records) {
  std::map<std::string, const RecordResult*> by_id;
  for (const RecordResult& record : records) {
    by_id[record.id] = &record;
  }
  std::vector<GroupResult> results;
  for (const Group& group : groups) {
    GroupResult result;
    result.name = group.name;
    result.type = group.type;
    result.judged = group.judged;
    result.why_not = group.why_not;
    std::vector<const RecordResult*> before;
    for (const Group::Member& member : group.members) {
      const auto found = by_id.find(member.id);
      if (found == by_id.end()) {
        result.without.push_back(member.id + ": no such record");
        continue;
      }
      const RecordResult& record = *found->second;
      const bool any =
          std::any_of(record.points.begin(), record.points.end(),
                      [](const PointResult& p) { return p.predicted_GBps.has_value(); });
      if (!any) {
        result.without.push_back(member.id + ": " +
                                 (record.reason.empty() ? "no size is predicted" : record.reason));
        continue;
      }
      bool compared = before.empty();
      for (const RecordResult* first : before) {
        if (const std::optional<Bytes> bytes = largest_common(record, *first)) {
          result.ratios.push_back(ratio_of(record, *first, *bytes));
          compared = true;
          break;
        }
      }
      if (!compared) {
        result.without.push_back(member.id + ": no size in common with the members before it");
      }
      before.push_back(&record);
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace busbw::scenarios::accuracy
