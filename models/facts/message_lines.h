// Single lines of other programs that say what happened: PyTorch, launchers, CUDA, UCX, perftest,
// the kernel's log, and NCCL's own text where it stands without its frame ("Last error: ...").
//
// The shapes are a table. Facts are named for what the line says: pytorch.watchdog, process.signal,
// gpu.xid, verbs.completion, dmesg.iommu ...
#pragma once
#include <memory>
#include <string_view>

#include "models/facts/fact.h"

namespace busbw::facts {

class MessageReader {
 public:
  MessageReader();
  ~MessageReader();
  MessageReader(const MessageReader&) = delete;
  MessageReader& operator=(const MessageReader&) = delete;

  /// The kind of text that such a line belongs to ("PyTorch", "kernel log"); "" for other lines.
  std::string_view read(std::string_view line, const std::string& host, const Location& where,
                        FactStore& facts);

 private:
  struct Table;
  std::unique_ptr<const Table> table_;
};

}  // namespace busbw::facts
