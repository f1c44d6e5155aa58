// See calibrate.h.
#include "real/measure/calibrate.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <map>
#include <numeric>
#include <sys/utsname.h>

#include <fmt/format.h>

#include "models/params/loggp.h"
#include "real/base/system.h"
#include "real/base/wire.h"
#include "real/measure/measure.h"
#include "real/measure/network.h"
#include "real/measure/pair.h"
#include "sim/core/check.h"

namespace busbw::real {
namespace {

using params::Measured;
using params::MeasuredLink;

/// Runs of a stream or a load, of which the quickest counts: what disturbs a machine only delays.
constexpr std::int32_t kRuns = 3;
/// Messages of a stream that may wait at the receiver, as in the collectives.
constexpr std::int32_t kSlots = 8;
/// Least computation of a load.
constexpr std::int32_t kLeastPieces = 4;
/// Computation by which the processors are counted, and how often.
constexpr std::int32_t kCountPieces = 100;
constexpr std::int32_t kCounts = 3;

Duration duration_of(double us) {
  return Duration::picoseconds(std::llround(us * 1e6));
}

/// Where and when this was measured.
std::string source_of(const Session& session, const Task& task) {
  utsname system{};
  if (::uname(&system) != 0)
    fail_call("uname", errno);
  const std::time_t now = std::time(nullptr);
  std::tm date{};
  ::gmtime_r(&now, &date);
  const bool polls = task.calibration->networks.front().completion == Completion::kPoll;
  return fmt::format("busbw calibrate, {} ranks, completion by {}, {} ({} {}), {}-{:02}-{:02}",
                     session.size(), polls ? "polling" : "events", host_name(), system.sysname,
                     system.release, date.tm_year + 1900, date.tm_mon + 1, date.tm_mday);
}

/// One rank as the others see it.
struct RankPlace {
  std::string kernel;   // differs between machines
  std::string machine;  // for people: the host's name, "name#2" for another machine of that name
  std::string device;
};

std::vector<RankPlace> places_of(Session& session, const NetworkOrder& order,
                                 const std::shared_ptr<verbs::Api>& api) {
  const std::vector<std::string> kernels = session.exchange(boot_identity());
  const std::vector<std::string> names = session.exchange(host_name());
  const std::vector<std::string> devices = session.exchange(device_name(session, order, api));
  std::vector<RankPlace> places;
  std::map<std::string, std::vector<std::string>> kernels_of;  // by name, in order of the ranks
  for (std::size_t rank = 0; rank < kernels.size(); ++rank) {
    std::vector<std::string>& same = kernels_of[names[rank]];
    if (std::find(same.begin(), same.end(), kernels[rank]) == same.end())
      same.push_back(kernels[rank]);
    const auto number = std::find(same.begin(), same.end(), kernels[rank]) - same.begin() + 1;
    places.push_back({kernels[rank],
                      number == 1 ? names[rank] : fmt::format("{}#{}", names[rank], number),
                      devices[rank]});
  }
  return places;
}

/// Name of each rank's end: the device, with the machine before it where another machine has a
/// device of that name too.
std::vector<std::string> ends_of(const std::vector<RankPlace>& places) {
  std::vector<std::string> ends;
  for (const RankPlace& place : places) {
    const bool elsewhere = std::any_of(places.begin(), places.end(), [&](const RankPlace& other) {
      return other.device == place.device && other.kernel != place.kernel;
    });
    ends.push_back(elsewhere ? place.machine + ":" + place.device : place.device);
  }
  return ends;
}

/// The measurements of one pair, and their fit.
class PairCalibration {
 public:
  PairCalibration(const Task& task, Pair& pair) : task_(task), pair_(pair) {}

  MeasuredLink run(bool shared_processor) {
    params::LogGpFigures figures;
    figures.small = kSmall;
    figures.medium = kMedium;
    figures.large = kLarge;
    figures.shared_processor = shared_processor;
    figures.half_round_trip.small = ping_pong(kSmall, task_.iterations);
    figures.half_round_trip.large = ping_pong(kLarge, few());
    figures.interval.small = interval(kSmall, task_.iterations, task_.iterations);
    figures.interval.medium = interval(kMedium, kSlots, several());
    figures.interval.large = interval(kLarge, kSlots, several());
    const double piece = piece_us();
    const auto load = [&](Pair::Side side, Bytes size, Duration interval, std::int32_t messages) {
      const double pieces = std::ceil(kLoadFactor * interval.as_us() / piece);
      return load_of(side, size, std::max(kLeastPieces, static_cast<std::int32_t>(pieces)),
                     messages);
    };
    for (const Pair::Side side : {Pair::Side::kFirst, Pair::Side::kSecond}) {
      params::BySize& loads =
          side == Pair::Side::kFirst ? figures.sender_load : figures.receiver_load;
      loads.small = load(side, kSmall, figures.interval.small, several());
      loads.medium = load(side, kMedium, figures.interval.medium, few());
    }
    MeasuredLink link = fit_loggp(figures);
    link.samples = std::move(samples_);
    return link;
  }

 private:
  [[nodiscard]] std::int32_t several() const { return std::max(8, task_.iterations / 10); }
  [[nodiscard]] std::int32_t few() const { return std::max(4, task_.iterations / 20); }

  /// Adds the samples and returns their median.
  Duration note(const char* benchmark, Bytes bytes, const std::vector<double>& times_us) {
    params::Samples samples;
    samples.benchmark = benchmark;
    samples.bytes = bytes;
    samples.count = static_cast<std::int64_t>(times_us.size());
    // What a message adds to a computation may come out below nothing by noise.
    const auto at = [&](double share) {
      return std::max(Duration(), duration_of(quantile(times_us, share)));
    };
    samples.min = at(0);
    samples.median = at(0.5);
    samples.p99 = at(0.99);
    samples_.push_back(samples);
    return duration_of(quantile(times_us, 0.5));
  }

  Duration ping_pong(Bytes size, std::int32_t count) {
    return note("ping-pong", size, pair_.ping_pong(size, {std::max(2, count / 10), count}));
  }

  /// Messages of the warm-up fill every queue on the way and empty the bucket of a shaper.
  Duration interval(Bytes size, std::int32_t warmup, std::int32_t count) {
    std::vector<double> means;
    std::vector<double> times;
    for (std::int32_t i = 0; i < kRuns; ++i) {
      const Pair::Stream stream = pair_.stream(size, {warmup, count});
      means.push_back(stream.total_us / count);
      times.insert(times.end(), stream.times_us.begin(), stream.times_us.end());
    }
    static_cast<void>(note("stream", size, times));
    return std::max(Duration::picoseconds(1), duration_of(quantile(means, 0)));
  }

  /// How long a piece of computation takes, the pair's mover included, at the slower of the two.
  double piece_us() {
    double slowest = 0;
    for (const Pair::Side side : {Pair::Side::kFirst, Pair::Side::kSecond}) {
      const std::vector<double> times = pair_.loaded({side, kLeastPieces, false}, kSmall, {2, 9});
      slowest = std::max(slowest, quantile(times, 0.5) / kLeastPieces);
    }
    return std::max(slowest, 1e-3);
  }

  /// What a message adds to the computation: the mean of a run, of several runs the least.
  /// Messages come in batches, so single ones say little.
  Duration load_of(Pair::Side side, Bytes size, std::int32_t pieces, std::int32_t count) {
    const Repeats repeats{1, count};
    const double alone = quantile(pair_.loaded({side, pieces, false}, size, repeats), 0.5);
    std::vector<double> added;
    for (std::int32_t i = 0; i < kRuns; ++i) {
      const std::vector<double> times = pair_.loaded({side, pieces, true}, size, repeats);
      const double sum = std::accumulate(times.begin(), times.end(), 0.0);
      added.push_back(sum / static_cast<double>(times.size()) - alone);
    }
    static_cast<void>(
        note(side == Pair::Side::kFirst ? "sender load" : "receiver load", size, added));
    return duration_of(quantile(added, 0));
  }

  const Task& task_;
  Pair& pair_;
  std::vector<params::Samples> samples_;
};

class Calibration {
 public:
  Calibration(Session& session, const Task& task, const std::shared_ptr<verbs::Api>& api,
              const Progress& progress)
      : session_(session), task_(task), api_(api), progress_(progress) {}

  Measured run() {
    result_.source = source_of(session_, task_);
    for (const NetworkOrder& order : task_.calibration->networks) {
      const std::vector<RankPlace> places = places_of(session_, order, api_);
      if (processors_.empty())
        count_all_processors(places);
      add_network(order, places);
    }
    return std::move(result_);
  }

 private:
  void say(const std::string& text) const {
    if (session_.rank() == RankId(0) && progress_)
      progress_(text);
  }

  /// How long this rank takes for a fixed computation. The slowest of `ranks`, told to all.
  double computation_us(const std::vector<bool>& ranks) {
    session_.barrier();
    double own = 0;
    if (ranks[session_.rank().index()]) {
      const Clock::time_point start = Clock::now();
      for (std::int32_t piece = 0; piece < kCountPieces; ++piece)
        computed_ = compute_piece(computed_);
      own = us_since(start);
    }
    WireWriter writer;
    writer.number(std::bit_cast<std::uint64_t>(own));
    const std::vector<std::string> all = session_.exchange(writer.take());
    double slowest = 0;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      WireReader reader(all[rank], session_.group().names[rank]);
      slowest = std::max(slowest, std::bit_cast<double>(reader.number<std::uint64_t>()));
    }
    return slowest;
  }

  /// Of each machine: the ranks of it compute alone and together. The quickest of a few counts.
  void count_all_processors(const std::vector<RankPlace>& places) {
    say("counting the processors");
    std::map<std::string, std::vector<std::size_t>> machines;
    for (std::size_t rank = 0; rank < places.size(); ++rank)
      machines[places[rank].kernel].push_back(rank);
    for (const auto& [machine, ranks] : machines) {
      std::vector<bool> one(places.size(), false);
      std::vector<bool> all(places.size(), false);
      one[ranks.front()] = true;
      for (const std::size_t rank : ranks)
        all[rank] = true;
      std::vector<double> alone;
      std::vector<double> together;
      for (std::int32_t i = 0; i < kCounts; ++i) {
        alone.push_back(computation_us(one));
        together.push_back(computation_us(all));
      }
      const auto positive = [](double us) {
        return std::max(Duration::picoseconds(1), duration_of(us));
      };
      processors_[machine] =
          params::count_processors(static_cast<std::int32_t>(ranks.size()),
                                   positive(quantile(alone, 0)), positive(quantile(together, 0)));
    }
  }

  void add_end(const RankPlace& place, const std::string& end) {
    params::MeasuredMachine* machine = nullptr;
    for (std::size_t i = 0; i < identities_.size(); ++i) {
      if (identities_[i] == place.kernel)
        machine = &result_.machines[i];
    }
    if (machine == nullptr) {
      identities_.push_back(place.kernel);
      machine = &result_.machines.emplace_back();
      machine->name = place.machine;
      machine->processors = processors_.at(place.kernel);
    }
    if (std::find(machine->ends.begin(), machine->ends.end(), end) == machine->ends.end())
      machine->ends.push_back(end);
  }

  /// An end and the rank that stands for it.
  struct End {
    std::string name;
    std::size_t rank = 0;
  };

  /// Each end once; of a single end two ranks, when there are two.
  [[nodiscard]] static std::vector<End> distinct(const std::vector<std::string>& names) {
    std::vector<End> ends;
    for (std::size_t rank = 0; rank < names.size(); ++rank) {
      const bool known = std::any_of(ends.begin(), ends.end(),
                                     [&](const End& end) { return end.name == names[rank]; });
      if (!known)
        ends.push_back({names[rank], rank});
    }
    if (ends.size() == 1)
      ends.push_back({names[1], 1});
    return ends;
  }

  void add_network(const NetworkOrder& order, const std::vector<RankPlace>& places) {
    const std::vector<std::string> names = ends_of(places);
    for (std::size_t rank = 0; rank < names.size(); ++rank)
      add_end(places[rank], names[rank]);
    const std::vector<End> ends = distinct(names);
    auto pairs =
        calibrated_pairs(static_cast<std::int32_t>(ends.size()), task_.calibration->all_pairs);
    if (ends[0].name == ends[1].name)
      pairs.resize(1);  // the way from an end to itself
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const End& from = ends[static_cast<std::size_t>(pairs[i].first)];
      const End& to = ends[static_cast<std::size_t>(pairs[i].second)];
      say(fmt::format("calibrating {} {} -> {}, {} of {}", to_string(mover_of(order)), from.name,
                      to.name, i + 1, pairs.size()));
      add_pair(order, places, from, to);
    }
  }

  void add_pair(const NetworkOrder& order, const std::vector<RankPlace>& places, const End& from,
                const End& to) {
    PairOptions options;
    options.network = order;
    options.first = RankId(static_cast<std::int32_t>(from.rank));
    options.second = RankId(static_cast<std::int32_t>(to.rank));
    options.largest = kLarge;
    options.slots = kSlots;
    options.timeout_ms = task_.timeout_ms;
    Pair pair(session_, options, api_);
    const std::string& kernel = places[from.rank].kernel;
    const bool shared = kernel == places[to.rank].kernel && processors_.at(kernel) == 1;
    MeasuredLink link;
    tell_others(session_, [&] { link = PairCalibration(task_, pair).run(shared); });
    link.from = from.name;
    link.to = to.name;
    link.mover = mover_of(order);
    result_.links.push_back(std::move(link));
    session_.barrier();  // before the mover goes
  }

  Session& session_;
  const Task& task_;
  const std::shared_ptr<verbs::Api>& api_;
  const Progress& progress_;
  std::map<std::string, std::int32_t> processors_;  // by machine
  std::vector<std::string> identities_;             // of result_.machines
  std::uint64_t computed_ = 1;
  Measured result_;
};

}  // namespace

params::MoverKind mover_of(const NetworkOrder& order) {
  switch (order.kind) {
    case NetworkKind::kSocket:
      return params::MoverKind::kTcp;
    case NetworkKind::kShared:
      return params::MoverKind::kShared;
    case NetworkKind::kVerbs:
      return order.method == VerbsMethod::kWrite  ? params::MoverKind::kWrite
             : order.method == VerbsMethod::kRead ? params::MoverKind::kRead
                                                  : params::MoverKind::kSend;
    case NetworkKind::kAuto:
      break;
  }
  CHECK(false, "a calibration names its network");
}

std::vector<std::pair<std::int32_t, std::int32_t>> calibrated_pairs(std::int32_t ends,
                                                                    bool all_pairs) {
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  for (std::int32_t from = 0; from < ends; ++from) {
    for (std::int32_t to = 0; to < ends; ++to) {
      const bool next = to == (from + 1) % ends;
      if (from != to && (all_pairs || ends <= kAllPairs || next))
        pairs.emplace_back(from, to);
    }
  }
  return pairs;
}

params::Measured calibrate(Session& session, const Task& order,
                           const std::shared_ptr<verbs::Api>& api, const Progress& progress) {
  const Task task = settle_completion(session, order);
  CHECK(task.calibration.has_value() && !task.calibration->networks.empty(), "no calibration");
  if (session.size() < 2)
    throw InputError("a calibration needs at least 2 ranks");
  return Calibration(session, task, api, progress).run();
}

}  // namespace busbw::real
