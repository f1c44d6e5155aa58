// See diagnosis_report.h.
#include "tools/diagnosis_report.h"

#include <fmt/format.h>

#include "models/diagnosis/rule.h"
#include "sim/core/text.h"
#include "tools/console.h"
#include "tools/table.h"

namespace busbw::tools {
namespace {

using diagnosis::Confidence;
using diagnosis::Evidence;
using diagnosis::Finding;

std::string place(const Location& where) {
  return where.line > 0 ? fmt::format("{}:{}", where.file, where.line) : where.file;
}

/// Breaks a sentence at blanks; lines behind the first are indented.
std::string wrapped(const std::string& first, const std::string& text) {
  constexpr std::size_t kWidth = 100;
  std::string result = first;
  std::size_t width = first.size();
  for (const std::string_view word : split_blanks(text)) {
    if (width + word.size() + 1 > kWidth && width > first.size()) {
      result += '\n' + std::string(first.size(), ' ');
      width = first.size();
    }
    if (width > first.size()) {
      result += ' ';
      width++;
    }
    result += word;
    width += word.size();
  }
  return result + '\n';
}

std::string kinds_of(const Finding& finding) {
  std::vector<std::string> kinds{finding.kind};
  for (const diagnosis::Alternative& other : finding.alternatives) {
    kinds.push_back(other.kind);
  }
  return join(kinds, ", ");
}

std::string verdict(const std::vector<Finding>& findings, const FactFiles& files, bool colour) {
  if (findings.empty() || findings.front().confidence == Confidence::kLow) {
    const std::string what =
        findings.empty() ? "nothing" : "nothing certain; " + findings.front().kind + " is possible";
    return fmt::format(
        "{} {}\n{} {} files, {} of them of no known kind\n{} {}\n", bold("found:", colour), what,
        bold("read: ", colour), files.read.size() + files.unread.size(), files.unread.size(),
        bold("next: ", colour),
        findings.empty() ? "logs with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH "
                           "of all ranks, ibstat, ip addr, nvidia-smi topo -m"
                         : findings.front().next_check);
  }
  const Finding& first = findings.front();
  const bool open = !first.alternatives.empty() && first.confidence != Confidence::kHigh;
  std::string text = fmt::format(
      "{} {}, {} confidence, {} layer{}\n", bold("found:", colour), first.kind,
      to_string(first.confidence), to_string(first.layer),
      open ? "; the files do not tell it from " + kinds_of(first).substr(first.kind.size() + 2)
           : "");
  text += bold("cause:", colour) + ' ' + first.root_cause + '\n';
  text += bold("fix:  ", colour) + ' ' + (first.fix.empty() ? "" : first.fix.front()) + '\n';
  return text;
}

std::string finding_text(const Finding& finding, std::size_t number, bool colour) {
  std::string text = fmt::format(
      "\n{}\n", bold(fmt::format("{}. {} ({} confidence, {} layer)", number, finding.kind,
                                 to_string(finding.confidence), to_string(finding.layer)),
                     colour));
  text += wrapped("  cause     ", finding.root_cause);
  for (const Evidence& evidence : finding.evidence) {
    text += wrapped(evidence.points > 0 ? "  for       " : "  against   ", evidence.says);
    text += fmt::format("            {}: {}\n", place(evidence.where), evidence.text);
  }
  for (const std::string& step : finding.fix) {
    text += wrapped("  fix       ", step);
  }
  for (const diagnosis::Worth& worth : finding.expected) {
    text += fmt::format("  expected  {:.2f} GB/s ({}) -> {:.2f} GB/s ({})\n", worth.before,
                        worth.from_before, worth.after, worth.from_after);
  }
  text += wrapped("  check     ", finding.next_check);
  for (const diagnosis::Alternative& other : finding.alternatives) {
    text += wrapped("  or        ", other.kind + ": decided by " + other.decides);
  }
  if (!finding.versions.empty() && finding.versions != "all") {
    text += wrapped("  releases  ", finding.versions);
  }
  text += wrapped("  source    ", finding.source);
  return text;
}

Value place_value(const Evidence& evidence) {
  Value value = Value::object();
  value.set("file", evidence.where.file)
      .set("line", evidence.where.line)
      .set("text", evidence.text)
      .set("says", evidence.says)
      .set("points", evidence.points);
  return value;
}

Value strings(const std::vector<std::string>& texts) {
  Value array = Value::array();
  for (const std::string& text : texts) {
    array.push(text);
  }
  return array;
}

Value finding_value(const Finding& finding) {
  Value evidence = Value::array();
  for (const Evidence& one : finding.evidence) {
    evidence.push(place_value(one));
  }
  Value alternatives = Value::array();
  for (const diagnosis::Alternative& other : finding.alternatives) {
    Value value = Value::object();
    value.set("kind", other.kind)
        .set("confidence", to_string(other.confidence))
        .set("root_cause", other.cause)
        .set("decided_by", other.decides);
    alternatives.push(std::move(value));
  }
  Value expected;
  for (const diagnosis::Worth& worth : finding.expected) {
    expected = Value::object();
    expected.set("before", worth.before)
        .set("after", worth.after)
        .set("unit", "GB/s")
        .set("before_is", worth.from_before)
        .set("after_is", worth.from_after);
  }
  Value value = Value::object();
  value.set("kind", finding.kind)
      .set("confidence", to_string(finding.confidence))
      .set("layer", to_string(finding.layer))
      .set("points", finding.points)
      .set("root_cause", finding.root_cause)
      .set("fix", strings(finding.fix))
      .set("evidence", std::move(evidence))
      .set("alternatives", std::move(alternatives))
      .set("next_check", finding.next_check)
      .set("expected", std::move(expected))
      .set("versions", finding.versions)
      .set("source", finding.source);
  return value;
}

Value fact_value(const facts::Fact& fact) {
  Value fields = Value::object();
  for (const facts::Fact::Field& field : fact.fields) {
    fields.set(field.first, field.second);
  }
  Value value = Value::object();
  value.set("name", fact.name)
      .set("host", fact.host)
      .set("fields", std::move(fields))
      .set("file", fact.where.file)
      .set("line", fact.where.line)
      .set("count", fact.count)
      .set("last_line", fact.last_line);
  return value;
}

}  // namespace

std::string findings_text(const std::vector<Finding>& findings, bool colour) {
  std::string text;
  for (std::size_t i = 0; i < findings.size(); i++) {
    text += finding_text(findings[i], i + 1, colour);
  }
  return text;
}

Value findings_value(const std::vector<Finding>& findings) {
  Value list = Value::array();
  for (const Finding& finding : findings) {
    list.push(finding_value(finding));
  }
  return list;
}

std::string diagnosis_text(const std::vector<Finding>& findings, const FactFiles& files,
                           bool colour) {
  std::string text = verdict(findings, files, colour);
  text += findings_text(findings, colour);
  text += '\n' + bold("checked", colour) + '\n';
  for (const std::string& topic : diagnosis::checked(files.store)) {
    text += "  " + topic + '\n';
  }
  text += bold("read", colour) + '\n';
  for (const facts::FileReport& report : files.read) {
    text +=
        fmt::format("  {}: {} ({} lines)\n", report.file, join(report.kinds, ", "), report.lines);
  }
  for (const UnreadFile& unread : files.unread) {
    text += fmt::format("  {}: not read: {}\n", unread.file, unread.reason);
  }
  for (const InputProblem& note : files.store.notes()) {
    text += fmt::format("  {}: {}\n", place(note.where), note.message);
  }
  return text;
}

Value diagnosis_value(const std::vector<Finding>& findings, const FactFiles& files) {
  Value known = Value::array();
  for (const facts::Fact& fact : files.store.all()) {
    known.push(fact_value(fact));
  }
  Value read = Value::array();
  for (const facts::FileReport& report : files.read) {
    Value value = Value::object();
    value.set("file", report.file)
        .set("host", report.host)
        .set("kinds", strings(report.kinds))
        .set("lines", report.lines);
    read.push(std::move(value));
  }
  Value unread = Value::array();
  for (const UnreadFile& file : files.unread) {
    Value value = Value::object();
    value.set("file", file.file).set("line", 0).set("reason", file.reason);
    unread.push(std::move(value));
  }
  for (const InputProblem& note : files.store.notes()) {
    Value value = Value::object();
    value.set("file", note.where.file).set("line", note.where.line).set("reason", note.message);
    unread.push(std::move(value));
  }
  Value report = Value::object();
  report.set("schema", "busbw.diagnosis/1")
      .set("findings", findings_value(findings))
      .set("facts", std::move(known))
      .set("checked", strings(diagnosis::checked(files.store)))
      .set("read", std::move(read))
      .set("unread", std::move(unread));
  return report;
}

std::string kinds_table(bool colour) {
  std::vector<std::vector<std::string>> rows;
  for (const diagnosis::Rule& rule : diagnosis::rules()) {
    rows.push_back({rule.kind, to_string(rule.layer), rule.decides});
  }
  return format_table({{"kind"}, {"layer"}, {"decided by"}}, rows, colour);
}

Value kinds_value() {
  Value list = Value::array();
  for (const diagnosis::Rule& rule : diagnosis::rules()) {
    Value signals = Value::array();
    for (const diagnosis::Signal& signal : rule.signals) {
      Value value = Value::object();
      value.set("points", signal.points).set("when", signal.when).set("says", signal.says);
      signals.push(std::move(value));
    }
    Value fix = Value::array();
    Value fix_when = Value::array();
    for (const diagnosis::Step& step : rule.fix) {
      fix.push(step.text);
      fix_when.push(step.when);
    }
    Value value = Value::object();
    value.set("kind", rule.kind)
        .set("layer", to_string(rule.layer))
        .set("cause", rule.cause)
        .set("fix", std::move(fix))
        .set("fix_when", std::move(fix_when))
        .set("decided_by", rule.decides)
        .set("proof", rule.proof == diagnosis::Proof::kInFiles     ? "in files"
                      : rule.proof == diagnosis::Proof::kElsewhere ? "elsewhere"
                                                                   : "symptom")
        .set("versions", rule.versions)
        .set("source", rule.source)
        .set("signals", std::move(signals));
    list.push(std::move(value));
  }
  Value report = Value::object();
  report.set("schema", "busbw.diagnosis-kinds/1").set("kinds", std::move(list));
  return report;
}

}  // namespace busbw::tools
