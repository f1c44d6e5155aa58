// NCCL's topology XML, whole or an excerpt, as facts.
//
// An excerpt is no document, so elements are taken line by line, as NCCL dumps them; a whole file
// is also given to the reader of models/nccl, whose problems become notes.
//
// Facts (fields):
//   topology.link {device, speed, width, class}   PCI elements that declare a link; GT/s, lanes
//   topology.net {name, speed}                    Mb/s
//   topology.gpu {dev}
#pragma once
#include <string>
#include <string_view>

#include "models/facts/fact.h"
#include "models/facts/line_reader.h"

namespace busbw::facts {

class TopologyReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "NCCL topology XML"; }
  bool read(const SourceLine& line, FactStore& facts) override;
  void finish(FactStore& facts) override;

 private:
  std::string file_;
  std::string text_;    // of a whole document, with the line numbers of the file
  int lines_ = 0;       // in text_
  bool whole_ = false;  // begins with <system>
};

}  // namespace busbw::facts
