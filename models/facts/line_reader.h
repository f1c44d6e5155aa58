// Readers of tool output, fed line by line, so that one file may hold several outputs pasted one
// after the other and a large one need not be kept.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/facts/fact.h"
#include "sim/core/text.h"

namespace busbw::facts {

struct SourceLine {
  const std::string& file;
  int number = 0;           // from 1
  std::string_view text;    // without colour codes
  std::string_view bare;    // trimmed, without the signs of a paste in front ("# ", "$ ")
  const std::string& host;  // that the file is about; empty: not known
  std::vector<std::string_view> words = split_blanks(bare);  // of `bare`
};

class LineReader {
 public:
  LineReader() = default;
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;
  virtual ~LineReader() = default;
  /// What it reads, for people: "ibstat".
  [[nodiscard]] virtual std::string kind() const = 0;
  /// True when the line is one of its kind; its facts were taken, or will be by finish().
  virtual bool read(const SourceLine& line, FactStore& facts) = 0;
  /// The file ends.
  virtual void finish(FactStore& facts);
};

using LineReaders = std::vector<std::unique_ptr<LineReader>>;

/// Adds a fact that was read from this line.
void put(FactStore& facts, const SourceLine& line, std::string_view name,
         std::vector<Fact::Field> fields);

/// "key: value" or "key = value", both trimmed. False when there is neither sign.
bool key_and_value(std::string_view line, std::string_view& key, std::string_view& value);

// Each reader's facts are listed in its file.
void add_rdma_readers(LineReaders& readers);
void add_fabric_readers(LineReaders& readers);
void add_interface_readers(LineReaders& readers);
void add_host_readers(LineReaders& readers);
void add_pci_readers(LineReaders& readers);
void add_gpu_readers(LineReaders& readers);
void add_test_readers(LineReaders& readers);
void add_environment_readers(LineReaders& readers);

}  // namespace busbw::facts
