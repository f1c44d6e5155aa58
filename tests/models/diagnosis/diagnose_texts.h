// What tests of the diagnosis share: texts read as files, and what is found in them.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "models/diagnosis/finding.h"
#include "models/facts/read_facts.h"

namespace busbw::diagnosis {

using Files = std::vector<std::pair<std::string, std::string>>;  // name, text

struct Diagnosed {
  facts::FactStore store;
  std::vector<Finding> findings;

  /// Kind of the first finding; "(none)" without one.
  [[nodiscard]] std::string first() const {
    return findings.empty() ? "(none)" : findings.front().kind;
  }
  [[nodiscard]] const Finding* of_kind(const std::string& kind) const {
    for (const Finding& finding : findings)
      if (finding.kind == kind)
        return &finding;
    return nullptr;
  }
  /// "kind confidence" of every finding, for messages.
  [[nodiscard]] std::string all() const {
    std::string text;
    for (const Finding& finding : findings)
      text += finding.kind + ' ' + to_string(finding.confidence) + ' ' +
              std::to_string(finding.points) + "; ";
    return text;
  }
};

inline Diagnosed diagnose(const Files& files) {
  Diagnosed result;
  for (const auto& [name, text] : files) {
    facts::FileReader reader(name, facts::host_of_file(name), result.store);
    reader.text(text);
    reader.finish();
  }
  result.findings = find(result.store);
  return result;
}

/// A log with these lines, each in the frame "HOST:77:78 [0] NCCL LEVEL text"; a text that begins
/// with "!" is a WARN.
inline std::string log_of(const std::string& host, const std::vector<std::string>& texts) {
  std::string log;
  for (const std::string& text : texts)
    log += text.front() == '!'
               ? "\n" + host + ":77:78 [0] file.cc:9 NCCL WARN " + text.substr(1) + '\n'
               : host + ":77:78 [0] NCCL INFO " + text + '\n';
  return log;
}

}  // namespace busbw::diagnosis
