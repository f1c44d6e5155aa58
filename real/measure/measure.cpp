// See measure.h.
#include "real/measure/measure.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "real/executor/executor.h"
#include "real/executor/verify.h"
#include "real/measure/network.h"
#include "sim/core/check.h"
#include "sim/core/errors.h"
#include "sim/core/quantity.h"

namespace busbw::real {
namespace {

using collectives::Collective;
using collectives::Schedule;

bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce ||
         collective == Collective::kGather || collective == Collective::kScatter;
}

/// What a rank saw of one point.
struct Seen {
  std::vector<double> times_us;
  Difference difference;
};

std::string to_wire(const Seen& seen) {
  WireWriter writer;
  writer.number(static_cast<std::uint32_t>(seen.times_us.size()));
  for (const double time : seen.times_us)
    writer.number(std::bit_cast<std::uint64_t>(time));
  writer.number(seen.difference.wrong).text(seen.difference.text);
  return writer.take();
}

Seen from_wire(const std::string& bytes, const std::string& from) {
  WireReader reader(bytes, from);
  Seen seen;
  const auto count = reader.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i)
    seen.times_us.push_back(std::bit_cast<double>(reader.number<std::uint64_t>()));
  seen.difference.wrong = reader.number<std::int64_t>();
  seen.difference.text = reader.text();
  reader.end();
  return seen;
}

/// Of all ranks, what the one that took longest has registered.
verbs::Registration longest_registration(Session& session, const verbs::Registration& own) {
  WireWriter writer;
  writer.number(own.regions).number(own.bytes).number(std::bit_cast<std::uint64_t>(own.us));
  const std::vector<std::string> all = session.exchange(writer.take());
  verbs::Registration longest;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    WireReader reader(all[rank], session.group().names[rank]);
    verbs::Registration one;
    one.regions = reader.number<std::int64_t>();
    one.bytes = reader.number<std::int64_t>();
    one.us = std::bit_cast<double>(reader.number<std::uint64_t>());
    reader.end();
    if (one.us > longest.us)
      longest = one;
  }
  return longest;
}

/// One section as one rank.
class SectionRun {
 public:
  SectionRun(Session& session, const Task& task, const Section& section, const Progress& progress)
      : session_(session), task_(task), section_(section), progress_(progress) {}

  SectionResult run(const std::shared_ptr<verbs::Api>& api) {
    prepare();
    std::vector<std::unique_ptr<HostBuffers>> buffers;  // outlive their registration
    const std::unique_ptr<Mover> mover = make_mover(session_, section_.network, api);
    SectionResult result;
    tell_others(session_, [&] { result = run_on(mover, buffers); });
    return result;
  }

 private:
  SectionResult run_on(const std::unique_ptr<Mover>& mover,
                       std::vector<std::unique_ptr<HostBuffers>>& buffers) {
    for (const Schedule& schedule : schedules_) {
      buffers.push_back(std::make_unique<HostBuffers>(schedule, session_.rank(), task_.in_place));
      buffers.back()->add_to(*mover);
    }
    session_.connect(*mover, links());
    Waiter waiter(*mover, session_, section_.network.completion, Milliseconds(task_.timeout_ms));
    SectionResult result;
    result.title = section_.title;
    result.network = describe_movers(session_, *mover, section_.network.completion);
    result.collective = section_.collective;
    result.type = section_.type;
    result.reduction = section_.reduction;
    result.ranks = session_.size();
    result.registration = longest_registration(session_, mover->registration());
    for (std::size_t point = 0; point < schedules_.size(); ++point) {
      if (session_.rank() == RankId(0) && progress_) {
        progress_(fmt::format("measuring {}, {} ranks, {}", section_.title, session_.size(),
                              to_string(schedules_[point].bytes)));
      }
      Executor executor(schedules_[point], session_.rank(), *mover, *buffers[point]);
      const Seen seen = run_point(executor, *buffers[point], schedules_[point], waiter);
      result.points.push_back(merge(section_.points[point], schedules_[point], seen));
    }
    session_.barrier();  // before the mover goes
    return result;
  }

  void prepare() {
    if (section_.shape.ranks != session_.size()) {
      throw InputError(fmt::format("{}: {} ranks are needed, {} were started", section_.title,
                                   section_.shape.ranks, session_.size()));
    }
    for (const MeasurePoint& point : section_.points)
      schedules_.push_back(make_schedule(request_of(section_, point)));
  }

  [[nodiscard]] std::int32_t iterations() const {
    return section_.iterations.value_or(task_.iterations);
  }

  /// Points may differ in slots: the fewest serve all of them.
  [[nodiscard]] std::vector<Link> links() const {
    std::vector<const Schedule*> list;
    std::int32_t slots = section_.points.empty() ? 1 : section_.points.front().slots;
    for (std::size_t point = 0; point < schedules_.size(); ++point) {
      list.push_back(&schedules_[point]);
      slots = std::min(slots, section_.points[point].slots);
    }
    return links_of(list, slots);
  }

  [[nodiscard]] CheckedCollective checked(const Schedule& schedule, std::uint64_t salt) const {
    return {section_.collective, session_.size(),    schedule.root,
            section_.type,       section_.reduction, salt};
  }

  /// A run whose result is compared. Out of place, the output is spoilt before.
  Difference check(Executor& executor, HostBuffers& buffers, const Schedule& schedule,
                   Waiter& waiter, std::uint64_t salt) {
    const CheckedCollective what = checked(schedule, salt);
    if (!task_.in_place) {
      const std::span<std::byte> output = buffers.output();
      std::fill(output.begin(), output.end(), std::byte{0x7e});
    }
    fill_input(what, session_.rank(), buffers.input());
    session_.barrier();
    waiter.moved();
    static_cast<void>(executor.run({section_.type, section_.reduction}, waiter));
    return compare_output(what, session_.rank(), buffers.output());
  }

  Seen run_point(Executor& executor, HostBuffers& buffers, const Schedule& schedule,
                 Waiter& waiter) {
    Seen seen;
    // Another salt for each point: the result of one is never the result of the next.
    const std::uint64_t salt = salt_ += 2;
    seen.difference = check(executor, buffers, schedule, waiter, salt);
    for (std::int32_t i = 0; i < section_.warmup.value_or(task_.warmup); ++i)
      static_cast<void>(executor.run({section_.type, section_.reduction}, waiter));
    session_.barrier();
    waiter.moved();
    for (std::int32_t i = 0; i < iterations(); ++i) {
      if (task_.barrier) {
        session_.barrier();
        waiter.moved();
      }
      const Clock::time_point start = Clock::now();
      static_cast<void>(executor.run({section_.type, section_.reduction}, waiter));
      seen.times_us.push_back(
          std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
    const Difference after = check(executor, buffers, schedule, waiter, salt + 1);
    seen.difference.wrong += after.wrong;
    if (seen.difference.text.empty())
      seen.difference.text = after.text;
    return seen;
  }

  PointResult merge(const MeasurePoint& point, const Schedule& schedule, const Seen& own) {
    const std::vector<std::string> all = session_.exchange(to_wire(own));
    PointResult result;
    result.algorithm = point.algorithm;
    result.bytes = schedule.bytes;
    result.count = schedule.bytes / schedule.element;
    result.channels = schedule.channels;
    if (has_root(section_.collective))
      result.root = schedule.root.value();
    std::vector<double> slowest(static_cast<std::size_t>(iterations()), 0.0);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const Seen seen = from_wire(all[rank], session_.group().names[rank]);
      CHECK(seen.times_us.size() == slowest.size(), "{} times", seen.times_us.size());
      for (std::size_t i = 0; i < slowest.size(); ++i)
        slowest[i] = std::max(slowest[i], seen.times_us[i]);
      result.wrong += seen.difference.wrong;
      if (result.first_wrong.empty())
        result.first_wrong = seen.difference.text;
    }
    result.min_us = quantile(slowest, 0);
    result.median_us = quantile(slowest, 0.5);
    result.max_us = quantile(slowest, 1);
    const Ratio factor = collectives::busbw_factor(section_.collective, session_.size());
    if (result.median_us > 0)
      result.algbw_GBps = static_cast<double>(result.bytes.count()) / result.median_us / 1e3;
    result.busbw_GBps = result.algbw_GBps * static_cast<double>(factor.numerator) /
                        static_cast<double>(factor.denominator);
    return result;
  }

  Session& session_;
  const Task& task_;
  const Section& section_;
  const Progress& progress_;
  std::vector<Schedule> schedules_;
  std::uint64_t salt_ = 0;
};

}  // namespace

double quantile(std::vector<double> values, double share) {
  CHECK(!values.empty(), "no values");
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  const auto at = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return values[std::min(at, values.size() - 1)];
}

std::vector<SectionResult> measure(Session& session, const Task& order,
                                   const std::shared_ptr<verbs::Api>& api,
                                   const Progress& progress) {
  const Task task = settle_completion(session, order);
  std::vector<SectionResult> results;
  results.reserve(task.sections.size());
  for (const Section& section : task.sections)
    results.push_back(SectionRun(session, task, section, progress).run(api));
  return results;
}

}  // namespace busbw::real
