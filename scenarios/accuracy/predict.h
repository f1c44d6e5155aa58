// Predicts the sizes of a record's system, each distinct system and size once.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/accuracy/build_system.h"
#include "scenarios/simulate.h"

namespace busbw::scenarios::accuracy {

/// A size of a system: the answer, or why there is none.
struct Prediction {
  std::optional<SizeResult> result;
  std::string reason;
};

class Predictor {
 public:
  /// Keeps references: library and context must outlive it.
  Predictor(const Library& library, const Context& context, EngineChoice engine)
      : library_(library), context_(context), engine_(engine) {}

  /// The system of `record`, built and decided once for equal systems. `modelled` is false also
  /// when NCCL refuses the job or its plan cannot be played.
  const BuiltSystem& system(const Record& record);
  /// The same system at one size. `record` must have been given to system() with success.
  const Prediction& predict(const Record& record, Bytes bytes);

 private:
  struct Known {
    BuiltSystem built;
    std::optional<Plan> plan;
    std::optional<ChoiceRuns> runs;  // refers to both
    std::map<Bytes, Prediction> sizes;
  };
  Known& known(const Record& record);
  void make_ready(Known& known) const;
  static Prediction simulate_one(Known& known, Bytes bytes);

  const Library& library_;
  const Context& context_;
  EngineChoice engine_;
  std::map<std::string, Known> systems_;
};

/// Payload rate of one card between two hosts, in GB/s, as ib_write_bw measures it with large
/// messages: the wire less what packets add, or the slot if that is slower; nothing when the card
/// is unknown. `reason` says why.
std::optional<double> card_rate(const Record& record, const Context& context, std::string& reason);

}  // namespace busbw::scenarios::accuracy
