// Predictions beside measurements: every record, classes of them, all, comparison groups, folds.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/accuracy/predict.h"
#include "scenarios/accuracy/read_records.h"
#include "scenarios/accuracy/statistics.h"

namespace busbw::scenarios::accuracy {

struct PointResult {
  Bytes bytes;
  double measured_GBps = 0;
  std::optional<double> predicted_GBps;
  bool noisy = false;
  std::string choice;  // "Ring/Simple"
  std::int32_t channels = 0;
  std::string bottleneck;  // link and share of its payload rate
  std::string stands_for;  // what NCCL takes when that is not played: "NVLS/Simple"
  std::string reason;      // why there is no prediction

  /// predicted / measured - 1; nothing without a prediction.
  [[nodiscard]] std::optional<double> error() const {
    return predicted_GBps ? std::optional(*predicted_GBps / measured_GBps - 1) : std::nullopt;
  }
};

using BandFigures = std::array<ErrorFigures, kBands>;

struct RecordResult {
  std::string id;
  std::string source;
  std::string file;  // name of the file it was read from, without folder
  std::string site;
  std::string kind;
  std::string collective;
  std::string quality;
  std::string machine;  // of the built system
  std::int32_t nodes = 0;
  std::int32_t ranks = 0;
  std::string nccl_version;  // assumed or given
  std::string took;          // the algorithm that NCCL took, as the record says
  bool is_collective = false;
  bool judged = false;  // a collective of high or medium quality
  bool modelled = false;
  std::string reason;
  std::vector<std::string> assumptions;
  std::vector<PointResult> points;
  std::int32_t rounding_only = 0;
  std::int32_t without_size = 0;
  BandFigures figures;  // of all points that are not noisy, judged or not
};

/// Records of one machine, collective and number of nodes, judged points only.
struct ClassResult {
  std::string machine;
  std::string collective;
  std::int32_t nodes = 0;
  std::vector<std::string> records;
  BandFigures figures;
};

/// One member of a group against the group's first member that has a size in common.
struct MemberRatio {
  std::string id;
  std::string against;
  Bytes bytes;
  double measured = 0;  // busbw of id over that of against
  double predicted = 0;
  bool direction_right = false;  // both above 1, both below, or both within 3 % of it
  double error = 0;              // predicted / measured - 1
};

struct GroupResult {
  std::string name;
  std::string type;
  bool judged = false;
  std::string why_not;
  std::vector<MemberRatio> ratios;
  std::vector<std::string> without;  // "ID: why it is not compared"
  /// All directions right; nothing without a ratio.
  [[nodiscard]] std::optional<bool> directions_right() const;
  /// All ratios within `share`; nothing without a ratio.
  [[nodiscard]] std::optional<bool> within(double share) const;
};

/// Judged points of one file of records.
struct FileResult {
  std::string file;
  std::size_t records = 0;  // judged and modelled
  BandFigures figures;
  ErrorFigures from_4_mib;
  ErrorFigures below_4_mib;
};

struct FoldResult {
  std::int32_t fold = 0;
  std::vector<std::string> sites;
  std::vector<std::string> records;
  BandFigures figures;  // judged points of these records
};

/// A fold whose sites were left out when the parameters were fitted (refit.h).
struct RefitResult {
  std::optional<std::int32_t> fold;  // nothing: all folds together
  // Parameters that came out elsewhere; of all folds together: fitted on all of them.
  std::vector<std::pair<std::string, double>> moved;
  std::vector<std::string> unknown;  // that concern no other site
  BandFigures in_sample;             // with the parameters of the catalogue
  BandFigures left_out;              // with those fitted on the other folds
};

struct Counts {
  std::size_t records = 0;
  std::size_t collectives = 0;
  std::size_t collectives_modelled = 0;
  std::size_t judged_records = 0;  // collectives of high and medium quality
  std::size_t judged_modelled = 0;
  std::size_t rounding_only = 0;  // rows
  std::size_t noisy = 0;          // sizes
  std::size_t standing_in = 0;    // judged sizes predicted with another algorithm than NCCL's
};

struct Report {
  Counts counts;
  BandFigures overall;
  ErrorFigures from_4_mib;  // the same points by another limit
  ErrorFigures below_4_mib;
  std::vector<FileResult> files;
  std::vector<ClassResult> classes;
  std::vector<RecordResult> records;
  std::vector<GroupResult> groups;
  std::vector<FoldResult> folds;      // empty unless asked for
  std::vector<RefitResult> refitted;  // the same; all folds together last
};

struct AssessOptions {
  EngineChoice engine;
  std::int32_t folds = 0;  // by site; 0: none
  bool refit = false;      // with folds: fit parameters on the other folds, see refit.h
  /// Called before each record.
  std::function<void(std::size_t done, std::size_t all, const std::string& id)> progress;
};

/// Predicts every record and compares. The same input gives the same report.
Report assess(const std::vector<Record>& records, const std::vector<Group>& groups,
              const Library& library, const Context& context, const AssessOptions& options);

/// Compares the members of groups among finished records.
std::vector<GroupResult> compare_groups(const std::vector<Group>& groups,
                                        const std::vector<RecordResult>& records);

}  // namespace busbw::scenarios::accuracy
