// Walks from step to step of the model and bisects for the changes between them.
#include "models/nccl/graph/choice_ranges.h"

#include <algorithm>
#include <set>

namespace busbw::nccl::graph {
namespace {

constexpr std::int64_t kElement = 4;  // float32

class Walker {
 public:
  Walker(const Tuning& tuning, const Communicator& comm, const Switches& switches,
         Collective collective)
      : tuning_(tuning), comm_(comm), switches_(switches), collective_(collective) {}

  std::vector<ChoiceRange> run() {
    const std::set<std::int64_t> starts = step_starts();
    for (auto start = starts.begin(); start != starts.end(); ++start) {
      const auto after = std::next(start);
      add_between(*start, after == starts.end() ? kLargestCall : *after - kElement);
    }
    for (ChoiceRange& range : ranges_)
      fill(range);
    return std::move(ranges_);
  }

 private:
  struct Key {
    bool found = false;
    Algorithm algorithm = Algorithm::kTree;
    Protocol protocol = Protocol::kLl;
    bool operator==(const Key& other) const {
      return found == other.found && algorithm == other.algorithm && protocol == other.protocol;
    }
  };

  [[nodiscard]] std::vector<Choice> at(std::int64_t bytes) const {
    return choices(tuning_, comm_, switches_, collective_, bytes);
  }
  [[nodiscard]] Key key(std::int64_t bytes) const {
    const std::vector<Choice> found = at(bytes);
    if (found.empty())
      return {};
    return {true, found.front().algorithm, found.front().protocol};
  }

  /// Sizes at which a straight piece of the model begins.
  [[nodiscard]] std::set<std::int64_t> step_starts() const {
    std::set<std::int64_t> starts;
    for (std::int64_t bytes = kSmallestCall; bytes < kLargestCall; bytes *= 2)
      starts.insert(bytes);
    const std::int64_t plateau = std::int64_t{64} * comm_.channels * comm_.ranks;
    if (plateau > kSmallestCall && plateau < kLargestCall)
      starts.insert(plateau);
    return starts;
  }

  void add_between(std::int64_t from, std::int64_t to) {
    const Key end = key(to);
    while (from <= to) {
      const Key here = key(from);
      std::int64_t last = to;
      if (!(here == end)) {
        std::int64_t beyond = to;
        last = from;
        while (beyond - last > kElement) {
          const std::int64_t middle = last + (beyond - last) / (2 * kElement) * kElement;
          (key(middle) == here ? last : beyond) = middle;
        }
      }
      if (!ranges_.empty() && keys_.back() == here) {
        ranges_.back().to = last;
      } else {
        ranges_.push_back({from, last, {}, {}, {}});
        keys_.push_back(here);
      }
      from = last + kElement;
    }
  }

  void fill(ChoiceRange& range) const {
    range.first = at(range.from);
    range.last = at(range.to);
    std::int64_t power = kSmallestCall;
    std::vector<std::int64_t> inside;
    for (; power <= range.to; power *= 2) {
      if (power >= range.from)
        inside.push_back(power);
    }
    range.middle = at(inside.empty() ? range.from : inside[inside.size() / 2]);
  }

  const Tuning& tuning_;
  const Communicator& comm_;
  const Switches& switches_;
  Collective collective_;
  std::vector<ChoiceRange> ranges_;
  std::vector<Key> keys_;  // of the ranges
};

}  // namespace

std::vector<ChoiceRange> choice_ranges(const Tuning& tuning, const Communicator& comm,
                                       const Switches& switches, Collective collective) {
  return Walker(tuning, comm, switches, collective).run();
}

}  // namespace busbw::nccl::graph
