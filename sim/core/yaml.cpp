// Text -> located tree, over the event interface of yaml-cpp 0.7 (its YAML::Node drops duplicate
// keys and the places of empty values). Measured there: marks count from 0 in bytes, a scalar's tag
// is "?" when it is plain and "!" when it is quoted or a block, and an empty value's mark is the
// next token's.
//
// Leaves out: tags, merge keys, several documents, keys that are lists or mappings, UTF-16.
#include "sim/core/yaml.h"

#include <algorithm>
#include <istream>
#include <map>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "sim/core/check.h"
#include "sim/core/text.h"

namespace busbw {

struct YamlNode::Data {
  Kind kind = Kind::kNull;
  Location where;
  std::string text;
  bool quoted = false;
  std::vector<YamlNode> elements;
  std::vector<Entry> entries;
  // While parsing:
  bool open = false;      // its end has not been read yet
  int height = 1;         // levels below and including this one
  std::int64_t size = 1;  // values in it, aliases expanded
};

namespace {

constexpr std::size_t kMaxBytes = std::size_t{16} << 20U;
constexpr int kMaxDepth = 64;
constexpr std::int64_t kMaxExpandedValues = 1'000'000;

/// Ends the parse after a problem beyond which nothing sensible can be read.
struct StopParsing {};

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, std::string file, Problems& problems)
      : text_(text), file_(std::move(file)), problems_(problems) {}

  [[nodiscard]] YamlNode root() const { return root_; }
  [[nodiscard]] Location place(const YAML::Mark& mark) const {
    return {file_, mark.line + 1, mark.column + 1};
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) {
      return;
    }
    const bool marked = rest(mark).substr(0, 3) == "---";
    problems_.add(place(mark),
                  marked ? "a second document starts here; a file holds one document"
                         : "this does not belong to the value before it; check the indentation");
    throw StopParsing{};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto data = std::make_shared<YamlNode::Data>();
    data->where = null_place(mark);
    remember(anchor, data);
    attach(YamlNode(data), *data);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    auto data = std::make_shared<YamlNode::Data>();
    data->kind = YamlNode::Kind::kScalar;
    data->where = place(mark);
    data->text = value;
    data->quoted = tag == "!";
    remember(anchor, data);
    attach(YamlNode(data), *data);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    CHECK(found != anchors_.end(), "anchor {}", anchor);
    const YamlNode::Data& data = *found->second;
    if (data.open) {
      problems_.add(place(mark), "an alias may not stand inside the value that it refers to");
      throw StopParsing{};
    }
    if (static_cast<int>(stack_.size()) + data.height > kMaxDepth) {
      too_deep(mark);
    }
    expanded_ += data.size;
    if (expanded_ > kMaxExpandedValues) {
      problems_.add(place(mark), fmt::format("the aliases up to here stand for more than {} values",
                                             kMaxExpandedValues));
      throw StopParsing{};
    }
    attach(YamlNode(found->second), data);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(YamlNode::Kind::kSequence, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(YamlNode::Kind::kMapping, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  /// A list or mapping whose end has not been read yet.
  struct Frame {
    std::shared_ptr<YamlNode::Data> data;
    std::optional<std::string> key;  // of the value that comes next; empty: the key comes next
    Location key_where;
    bool drop = false;                 // the key is wrong, reported: leave its value out
    std::map<std::string, int> lines;  // of the keys so far
  };

  [[nodiscard]] std::string_view rest(const YAML::Mark& mark) const {
    return text_.substr(std::min(text_.size(), static_cast<std::size_t>(mark.pos)));
  }

  /// A null that is not written down gets the place of its key, or of the dash before it.
  [[nodiscard]] Location null_place(const YAML::Mark& mark) const {
    const std::string_view here = rest(mark);
    const bool written = here.substr(0, 1) == "~" || lower(here.substr(0, 4)) == "null";
    if (written || stack_.empty()) {
      return place(mark);
    }
    if (stack_.back().key) {
      return stack_.back().key_where;
    }
    const std::string_view before = trim(text_.substr(0, text_.size() - here.size()));
    if (before.empty() || before.back() != '-') {
      return place(mark);
    }
    const auto dash = static_cast<std::size_t>(&before.back() - text_.data());
    const std::string_view lines = text_.substr(0, dash);
    const std::size_t line_start = lines.rfind('\n') + 1;  // npos + 1 is 0
    const auto line = std::count(lines.begin(), lines.end(), '\n');
    return {file_, static_cast<int>(line) + 1, static_cast<int>(dash - line_start) + 1};
  }

  [[noreturn]] void too_deep(const YAML::Mark& mark) {
    problems_.add(place(mark), fmt::format("nested deeper than {} levels", kMaxDepth));
    throw StopParsing{};
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag != "?" && tag != "!" && !tag.empty()) {
      problems_.add(place(mark), fmt::format("tags are not allowed, found '{}'", tag));
    }
  }

  void remember(YAML::anchor_t anchor, const std::shared_ptr<YamlNode::Data>& data) {
    if (anchor != 0) {
      anchors_[anchor] = data;
    }
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    check_tag(mark, tag);
    if (static_cast<int>(stack_.size()) >= kMaxDepth) {
      too_deep(mark);
    }
    auto data = std::make_shared<YamlNode::Data>();
    data->kind = kind;
    data->where = place(mark);
    data->open = true;
    remember(anchor, data);
    stack_.push_back({data, std::nullopt, {}, false, {}});
  }

  void close() {
    const std::shared_ptr<YamlNode::Data> data = stack_.back().data;
    stack_.pop_back();
    data->open = false;
    attach(YamlNode(data), *data);
  }

  void attach(const YamlNode& node, const YamlNode::Data& data) {
    if (stack_.empty()) {
      root_ = node;
      return;
    }
    Frame& frame = stack_.back();
    frame.data->height = std::max(frame.data->height, data.height + 1);
    frame.data->size = std::min(frame.data->size + data.size, kMaxExpandedValues);
    if (frame.data->kind == YamlNode::Kind::kSequence) {
      frame.data->elements.push_back(node);
    } else if (!frame.key) {
      take_key(frame, node);
    } else {
      if (!frame.drop) {
        frame.data->entries.push_back({*frame.key, frame.key_where, node});
      }
      frame.key.reset();
      frame.drop = false;
    }
  }

  void take_key(Frame& frame, const YamlNode& node) {
    frame.key = "";
    frame.key_where = node.where();
    frame.drop = true;
    if (!node.is_scalar()) {
      problems_.add(node.where(), fmt::format("a key must be a text, found {}", node.describe()));
      return;
    }
    frame.key = node.text();
    if (node.text() == "<<" && !node.quoted()) {
      problems_.add(node.where(), "merge keys ('<<') are not allowed; write the keys out");
      return;
    }
    const auto [first, added] = frame.lines.try_emplace(node.text(), frame.key_where.line);
    if (!added) {
      problems_.add(node.where(), fmt::format("duplicate key '{}'; it stands on line {} already",
                                              first->first, first->second));
      return;
    }
    frame.drop = false;
  }

  std::string_view text_;
  std::string file_;
  Problems& problems_;
  int documents_ = 0;
  std::int64_t expanded_ = 0;
  YamlNode root_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, std::shared_ptr<YamlNode::Data>> anchors_;
};

/// Whether the bytes are text at all; the first that is not is a problem.
bool check_text(std::string_view text, const std::string& file, Problems& problems) {
  if (text.size() > kMaxBytes) {
    problems.add({file, 0, 0}, fmt::format("larger than {} MiB", kMaxBytes >> 20U));
    return false;
  }
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const Location here = {file, line, static_cast<int>(at - line_start) + 1};
    const bool alone = byte == '\r' && text.substr(at + 1, 1) != "\n";
    if ((byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || alone) {
      problems.add(here, fmt::format("control character 0x{:02x} is not allowed", byte));
      return false;
    }
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) {
      problems.add(here, fmt::format("byte 0x{:02x} is not UTF-8 text", byte));
      return false;
    }
    at += length;
    if (byte == '\n') {
      line++;
      line_start = at;
    }
  }
  return true;
}

/// yaml-cpp's words for a syntax error, with the usual cause where it is plain to see.
std::string explain(const YAML::Exception& error, std::string_view text) {
  const std::vector<std::string_view> lines = split_lines(text);
  const auto line = static_cast<std::size_t>(std::max(error.mark.line, 0));
  if (line < lines.size()) {
    const std::string_view indentation =
        lines[line].substr(0, lines[line].find_first_not_of(" \t"));
    if (indentation.find('\t') != std::string_view::npos) {
      return "tabs are not allowed in the indentation";
    }
  }
  const std::string_view escape = "unknown escape character: ";  // the character comes last
  if (error.msg.rfind(escape, 0) == 0) {
    return fmt::format("bad YAML: unknown escape '\\{}'", error.msg.substr(escape.size()));
  }
  return fmt::format("bad YAML: {}", error.msg);
}

}  // namespace

YamlNode::Kind YamlNode::kind() const {
  return data_ ? data_->kind : Kind::kNull;
}

std::string YamlNode::describe() const {
  switch (kind()) {
    case Kind::kNull:
      return "nothing";
    case Kind::kSequence:
      return "a list";
    case Kind::kMapping:
      return "a mapping";
    case Kind::kScalar:
      break;
  }
  return fmt::format("the text '{}'", text());
}

Location YamlNode::where() const {
  return data_ ? data_->where : Location{};
}

const std::string& YamlNode::text() const {
  CHECK(is_scalar());
  return data_->text;
}

bool YamlNode::quoted() const {
  return is_scalar() && data_->quoted;
}

const std::vector<YamlNode>& YamlNode::elements() const {
  CHECK(is_sequence());
  return data_->elements;
}

const std::vector<YamlNode::Entry>& YamlNode::entries() const {
  CHECK(is_mapping());
  return data_->entries;
}

const YamlNode* YamlNode::find(std::string_view key) const {
  if (!is_mapping()) {
    return nullptr;
  }
  for (const Entry& entry : data_->entries) {
    if (entry.key == key) {
      return &entry.value;
    }
  }
  return nullptr;
}

YamlNode YamlNode::empty(Kind kind) {
  auto data = std::make_shared<Data>();
  data->kind = kind;
  return YamlNode(std::move(data));
}

YamlNode parse_yaml(std::string_view text, const std::string& file, Problems& problems) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") {
    text.remove_prefix(3);  // byte order mark
  }
  if (!check_text(text, file, problems)) {
    return {};
  }
  TreeBuilder builder(text, file, problems);
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const StopParsing&) {
    return {};
  } catch (const YAML::Exception& error) {
    problems.add(builder.place(error.mark), explain(error, text));
    return {};
  }
  if (builder.root().where().line == 0) {  // not even an empty document
    auto data = std::make_shared<YamlNode::Data>();
    data->where = {file, 1, 1};
    return YamlNode(std::move(data));
  }
  return builder.root();
}

YamlNode load_yaml(const std::string& path, Problems& problems) {
  std::string text;
  try {
    text = read_file(path, kMaxBytes + 1);
  } catch (const SystemError& error) {
    problems.add({path, 0, 0}, fmt::format("cannot be read: {}", error.details().reason));
    return {};
  }
  return parse_yaml(text, path, problems);
}

}  // namespace busbw
