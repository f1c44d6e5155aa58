// The NCCL_* variables known to NCCL 2.18 to 2.30: name, default, first release, kind and meaning.
//
// Source: NCCL source 2.18.1 to 2.30.7 (NCCL_PARAM declarations and getenv calls) and NVIDIA's list
// of environment variables (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html).
// Meanings are in our own words.
#pragma once
#include <string>
#include <vector>

#include "models/nccl/version.h"

namespace busbw::nccl {

enum class VariableKind {
  kNumber,     // read by strtoll: other text counts as 0
  kText,       // names, lists, paths, words without a fixed set
  kPathLevel,  // LOC NVL NVB PIX PXB PXN PHB SYS in upper case, or an old digit
};

enum class VariableGroup { kStartUp, kInfiniBand, kPaths, kAlgorithms, kLogging };

/// The first decision that a variable changes; what follows from it may change as well.
enum class VariableChange {
  kNothing,  // nothing that this model decides
  kLog,      // what is logged
  kBootstrap,
  kNetwork,    // IB, Socket or a plugin
  kDevices,    // of the network: which, in which order, fused or not
  kPathTypes,  // between GPUs and NICs, and so what counts as a node
  kGraphs,     // rings, trees, heads
  kChannels,   // how many
  kAlgorithm,
  kProtocol,
  kChunk,    // sizes of buffers and chunks
  kThreads,  // of a block, and the data that a channel is worth
};
/// "nothing in this model", "log only", "bootstrap", "paths" ...
const char* to_string(VariableChange change);

struct Variable {
  std::string name;  // with NCCL_
  VariableGroup group = VariableGroup::kStartUp;
  VariableKind kind = VariableKind::kNumber;
  VariableChange changes = VariableChange::kNothing;
  Version since = kOldest;
  std::string initial;  // default, with its history: "20 (18 up to 2.22)"; "unset"
  std::string meaning;
  Version until = kNewest;  // last release that reads it
};

/// All of them, sorted by name.
const std::vector<Variable>& variables();
/// Nothing if unknown.
const Variable* find_variable(const std::string& name);

}  // namespace busbw::nccl
