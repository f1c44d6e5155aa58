// See place.h.
#include "real/launch/place.h"

#include <unistd.h>

#include <fmt/format.h>

#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::real {
namespace {

using Environment = std::map<std::string, std::string>;

/// Ports for jobs without MASTER_PORT: below the range from which Linux takes its own.
constexpr std::uint32_t kFirstPort = 10000;
constexpr std::uint32_t kPorts = 20000;

class Reader {
 public:
  Reader(const Environment& environment, std::string launcher)
      : environment_(environment), launcher_(std::move(launcher)) {}

  [[nodiscard]] std::optional<std::string> text(const std::string& name) const {
    const auto found = environment_.find(name);
    if (found == environment_.end() || found->second.empty())
      return std::nullopt;
    return found->second;
  }
  std::int64_t number(const std::string& name, std::int64_t least, std::int64_t most) {
    const std::optional<std::string> value = text(name);
    if (!value) {
      problem(fmt::format("{} is not set", name));
      return least;
    }
    const std::optional<std::int64_t> parsed = parse_integer(*value);
    if (!parsed || *parsed < least || *parsed > most) {
      problem(fmt::format("{}='{}'; allowed: {} to {}", name, *value, least, most));
      return least;
    }
    return *parsed;
  }
  void problem(const std::string& what) {
    problems_.add({}, fmt::format("{} (started by {})", what, launcher_));
  }
  /// `fallback` text seeds the port where MASTER_PORT is not set.
  void read_master(Place& place, const std::optional<std::string>& address,
                   const std::optional<std::string>& job, const std::string& advice) {
    place.master_address = text("MASTER_ADDR").value_or(address.value_or(""));
    if (place.master_address.empty())
      problem("MASTER_ADDR is not set: " + advice);
    if (text("MASTER_PORT") || !job) {
      place.master_port = static_cast<std::uint16_t>(number("MASTER_PORT", 1, 65535));
    } else {
      std::uint32_t hash = 2166136261U;
      for (const char c : *job)
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
      place.master_port = static_cast<std::uint16_t>(kFirstPort + hash % kPorts);
    }
  }
  Place finish(Place place) {
    problems_.throw_if_any();
    place.launcher = launcher_;
    return place;
  }
  void read_rank(Place& place, const std::string& rank, const std::string& size) {
    place.size = static_cast<std::int32_t>(number(size, 1, 1 << 20));
    place.rank = static_cast<std::int32_t>(number(rank, 0, 1 << 20));
    if (place.rank >= place.size)
      problem(fmt::format("{}={} with {}={}", rank, place.rank, size, place.size));
  }

 private:
  const Environment& environment_;
  std::string launcher_;
  Problems problems_;
};

Place by_torchrun(const Environment& environment) {
  Reader reader(environment, "torchrun's variables");
  Place place;
  reader.read_rank(place, "RANK", "WORLD_SIZE");
  if (reader.text("BUSBW_LISTENING"))
    place.listening = static_cast<int>(reader.number("BUSBW_LISTENING", 0, 1 << 20));
  reader.read_master(place, std::nullopt, std::nullopt, "the host of rank 0");
  return reader.finish(place);
}

Place by_open_mpi(const Environment& environment) {
  Reader reader(environment, "Open MPI");
  Place place;
  reader.read_rank(place, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
  const bool one_host =
      reader.text("OMPI_COMM_WORLD_LOCAL_SIZE") == reader.text("OMPI_COMM_WORLD_SIZE");
  std::optional<std::string> job = reader.text("PMIX_NAMESPACE");
  if (!job)
    job = reader.text("OMPI_MCA_ess_base_jobid");
  reader.read_master(place, one_host ? std::optional<std::string>("127.0.0.1") : std::nullopt, job,
                     "the host of rank 0, as in mpirun -x MASTER_ADDR=HOST");
  return reader.finish(place);
}

Place by_slurm(const Environment& environment) {
  Reader reader(environment, "Slurm");
  Place place;
  reader.read_rank(place, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS");
  std::optional<std::string> hosts = reader.text("SLURM_STEP_NODELIST");
  if (!hosts)
    hosts = reader.text("SLURM_JOB_NODELIST");
  const std::optional<std::string> job = reader.text("SLURM_JOB_ID");
  reader.read_master(
      place, hosts ? std::optional<std::string>(first_host(*hosts)) : std::nullopt,
      job ? std::optional<std::string>(*job + "." + reader.text("SLURM_STEP_ID").value_or("0"))
          : std::nullopt,
      "the host of rank 0");
  return reader.finish(place);
}

}  // namespace

std::string first_host(const std::string& list) {
  const std::size_t bracket = list.find_first_of("[,");
  if (bracket == std::string::npos || list[bracket] == ',')
    return list.substr(0, bracket);
  const std::size_t end = list.find_first_of(",-]", bracket);
  const std::size_t close = list.find(']', bracket);
  if (end == std::string::npos || close == std::string::npos)
    return list;
  // What follows the bracket belongs to the name: "rack[1-2]n0".
  const std::size_t stop = list.find(',', close);
  const std::string tail =
      list.substr(close + 1, stop == std::string::npos ? stop : stop - close - 1);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1) + tail;
}

std::optional<Place> place_from_environment(const Environment& environment) {
  const auto has = [&](const char* name) {
    const auto found = environment.find(name);
    return found != environment.end() && !found->second.empty();
  };
  if (has("RANK") && has("WORLD_SIZE"))
    return by_torchrun(environment);
  if (has("OMPI_COMM_WORLD_RANK"))
    return by_open_mpi(environment);
  // A batch script has SLURM_PROCID too; only steps that srun started have this one.
  if (has("SLURM_PROCID") && has("SLURM_STEP_NUM_TASKS"))
    return by_slurm(environment);
  return std::nullopt;
}

std::map<std::string, std::string> process_environment() {
  std::map<std::string, std::string> environment;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos)
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

}  // namespace busbw::real
