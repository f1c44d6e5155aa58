// The time of a candidate on two levels: every message played, or the steady state of a large job.
//
// Steady state in bytes. Once the pipelines are full, every further byte takes as long as the one
// before: the same cut, with fewer loops, is played for B/2 and for B bytes, and the rest takes as
// much longer. Steady state in hosts. A ring, a chain or a pair-wise exchange on n equal hosts does
// on each rank, one after the other, n times what it does for one rank's share; a tree is deeper.
// The cut of the whole job, with as many bytes for each share, is played on two smaller numbers of
// hosts, and the time grows on in the number of ranks, or in the height of the trees.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "scenarios/play_candidate.h"

namespace busbw::scenarios {

/// Ranks of the largest job that `auto` plays for one of this plan, where the candidate has a
/// steady state.
std::int32_t played_ranks(const Plan& plan);

class CandidateRuns {
 public:
  /// Refers to all but `engine`.
  CandidateRuns(const Variant& variant, const Plan& plan, const Context& context,
                EngineChoice engine);
  ~CandidateRuns();
  CandidateRuns(const CandidateRuns&) = delete;
  CandidateRuns& operator=(const CandidateRuns&) = delete;

  /// `bytes` is S of nccl-tests, as rounded_bytes() makes it. Run::steady says from what it was
  /// extrapolated, Run::level_why why it was or was not. Throws InputError as play_candidate()
  /// does.
  Run run(Candidate candidate, Bytes bytes, Fingerprint& fingerprint);

 private:
  struct Smaller;
  struct Pair;
  Run on_level(Candidate candidate, const Cut& cut, Fingerprint& fingerprint);
  [[nodiscard]] std::string why_played(Candidate candidate) const;
  [[nodiscard]] std::string why_steady(Bytes bytes) const;
  Run in_bytes(const Stage& stage, Candidate candidate, const Cut& cut, Fingerprint& fingerprint);
  std::optional<Run> in_hosts(Candidate candidate, const Cut& cut, Fingerprint& fingerprint);
  const Smaller* on_hosts(std::int32_t hosts);
  std::optional<Pair> pair_for(Candidate candidate);

  EngineChoice choice_;
  Stage stage_;
  std::map<std::int32_t, std::unique_ptr<Smaller>> smaller_;  // by number of hosts; null: none
};

}  // namespace busbw::scenarios
