// Located YAML reader: the only user of yaml-cpp.
//
// What it adds to yaml-cpp 0.7, each measured as missing there: file:line:col (from 1) on every
// error, duplicate keys are errors, unknown keys are errors with did-you-mean, `010` is not octal,
// quantities carry units, and all problems of a file are reported at once (Problems). Anchors and
// aliases are followed; tags, merge keys (<<) and several documents in a file are errors.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/quantity.h"
#include "sim/core/units.h"

namespace busbw {

/// A handle to a node of a parsed document: cheap to copy, keeps the document alive.
class YamlNode {
 public:
  enum class Kind { kNull, kScalar, kSequence, kMapping };
  struct Entry;

  /// A null node without a place: what stands for a value whose problem has been reported already.
  YamlNode() = default;
  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool is_null() const { return kind() == Kind::kNull; }
  [[nodiscard]] bool is_scalar() const { return kind() == Kind::kScalar; }
  [[nodiscard]] bool is_sequence() const { return kind() == Kind::kSequence; }
  [[nodiscard]] bool is_mapping() const { return kind() == Kind::kMapping; }
  /// "a mapping", "a list", "the text 'x'", "nothing": for error messages.
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] Location where() const;
  /// Raw text of a scalar (CHECKs the kind).
  [[nodiscard]] const std::string& text() const;
  /// Whether a scalar was quoted in the file (then it is never null, bool or number).
  [[nodiscard]] bool quoted() const;
  /// Elements of a sequence, in order (CHECKs the kind).
  [[nodiscard]] const std::vector<YamlNode>& elements() const;
  /// Entries of a mapping in file order (CHECKs the kind).
  [[nodiscard]] const std::vector<Entry>& entries() const;
  /// Value of `key` of a mapping, or nullptr.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;

  struct Data;  // implementation; public so that the parser can build it
  explicit YamlNode(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  /// An empty list or mapping without a place.
  static YamlNode empty(Kind kind);

 private:
  std::shared_ptr<const Data> data_;
};

struct YamlNode::Entry {
  std::string key;
  Location key_where;
  YamlNode value;
};

/// Parses `text`; `file` is the name used in errors. Syntax errors, duplicate keys, tags and a
/// second document are added to `problems`; after a syntax error the result is a null node without
/// a place. Refused as well: more than 16 MiB, nesting deeper than 64, aliases that contain
/// themselves or expand to more than a million values, text that is not UTF-8. Columns count bytes.
YamlNode parse_yaml(std::string_view text, const std::string& file, Problems& problems);
/// Reads and parses a file. An unreadable file is a problem of that file without a line.
YamlNode load_yaml(const std::string& path, Problems& problems);

/// Reads one mapping key by key. Every accessor marks its key as known; finish() reports the
/// others. A wrong value adds a problem at the value's place and yields nothing (for required_*:
/// the least value in the range, the first choice, an empty list or mapping, else a
/// default-constructed value), so that reading goes on and finds the next problem. A value given as
/// nothing (`key:`) is wrong too.
class MappingReader {
 public:
  /// `what` names the mapping in messages: "link 'nvl0'". A node that is no mapping is a problem,
  /// and the reader then acts as if it were empty (required_* then stay silent). A node without a
  /// place (its problem is reported already) is silent altogether.
  MappingReader(YamlNode node, std::string what, Problems& problems);

  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] Location where() const { return node_.where(); }
  /// Place of the value of `key`, or of the mapping when the key is absent.
  [[nodiscard]] Location where(std::string_view key) const;
  [[nodiscard]] Problems& problems() { return problems_; }
  [[nodiscard]] const std::string& what() const { return what_; }

  std::optional<std::string> text(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t min, std::int64_t max);
  std::optional<double> number(std::string_view key, double min, double max);
  std::optional<bool> boolean(std::string_view key);  // true, false only
  std::optional<Bytes> bytes(std::string_view key);
  std::optional<Bandwidth> bandwidth(std::string_view key);
  std::optional<Duration> duration(std::string_view key);
  /// One of `allowed`, else a problem with the list and did-you-mean.
  std::optional<std::string> choice(std::string_view key, const std::vector<std::string>& allowed);
  /// A list of texts; a single scalar counts as a list of one.
  std::optional<std::vector<std::string>> texts(std::string_view key);
  std::optional<YamlNode> node(std::string_view key);      // anything
  std::optional<YamlNode> mapping(std::string_view key);   // must be a mapping
  std::optional<YamlNode> sequence(std::string_view key);  // must be a list

  // The same, but a missing key is the problem "missing key 'x' in WHAT".
  std::string required_text(std::string_view key);
  std::int64_t required_integer(std::string_view key, std::int64_t min, std::int64_t max);
  double required_number(std::string_view key, double min, double max);
  bool required_boolean(std::string_view key);
  Bytes required_bytes(std::string_view key);
  Bandwidth required_bandwidth(std::string_view key);
  Duration required_duration(std::string_view key);
  std::string required_choice(std::string_view key, const std::vector<std::string>& allowed);
  std::vector<std::string> required_texts(std::string_view key);
  YamlNode required_node(std::string_view key);
  YamlNode required_mapping(std::string_view key);
  YamlNode required_sequence(std::string_view key);

  /// Adds a problem of this mapping's own, at the value of `key`.
  void problem(std::string_view key, const std::string& message);
  /// Reports every key that no accessor asked for: "unknown key 'bandwith' in link 'nvl0'; did you
  /// mean 'bandwidth'?" The candidates are all keys asked for so far. Call it last.
  void finish();

 private:
  const YamlNode* lookup(std::string_view key);
  bool require(std::string_view key);
  void wrong(std::string_view key, const std::string& must_be, const YamlNode& node);
  template <class Quantity>
  std::optional<Quantity> quantity(
      std::string_view key, const char* noun,
      std::variant<Quantity, QuantityError> (*parse)(std::string_view));

  YamlNode node_;
  std::string what_;
  Problems& problems_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace busbw
