// Reading with pugixml, checking NCCL's limits, printing. Source of the format: NCCL 2.18 to 2.30,
// src/graph/xml.cc.
#include "models/nccl/graph/xml.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <pugixml.hpp>
#include <set>

#include <fmt/format.h>

#include "sim/core/xml_text.h"

namespace busbw::nccl::graph {
namespace {

constexpr long long kMostDevice = 65'535;
constexpr float kMostLatency = 1e6F;  // us

/// Elements of a tag and where they may stand.
struct Known {
  std::string_view tag;
  std::array<std::string_view, 2> parents;
};
constexpr std::array<Known, 12> kTopology{{{"cpu", {"system", ""}},
                                           {"pci", {"cpu", "pci"}},
                                           {"gpu", {"pci", ""}},
                                           {"nvlink", {"gpu", ""}},
                                           {"c2c", {"gpu", ""}},
                                           {"pcilink", {"pci", ""}},
                                           {"nic", {"pci", "cpu"}},
                                           {"net", {"nic", ""}},
                                           {"gin", {"nic", ""}},
                                           {"rma", {"nic", ""}},
                                           {"nvs", {"system", ""}},
                                           {"sys", {"", ""}}}};

constexpr std::array<Known, 4> kGraphs{{{"graph", {"graphs", ""}},
                                        {"channel", {"graph", ""}},
                                        {"net", {"channel", ""}},
                                        {"gpu", {"channel", ""}}}};

/// What a file of one kind may hold.
struct Format {
  const char* root;
  const Known* first;
  const Known* last;
  std::size_t most_elements;
};
constexpr Format kTopologyFormat{"system", kTopology.data(), kTopology.data() + kTopology.size(),
                                 kMostElements};
constexpr Format kGraphFormat{"graphs", kGraphs.data(), kGraphs.data() + kGraphs.size(),
                              kMostGraphElements};

bool known(const Format& format, std::string_view tag, std::string_view parent) {
  return std::any_of(format.first, format.last, [&](const Known& entry) {
    return entry.tag == tag && (entry.parents[0] == parent || entry.parents[1] == parent);
  });
}

class Reader {
 public:
  Reader(const Format& format, std::string_view text, const std::string& file, Problems& problems)
      : format_(format), text_(text), file_(file), problems_(problems) {}

  Element run() {
    if (text_.size() > kMostBytes) {
      problems_.add(place(0), fmt::format("the file has more than {} bytes, so it is no topology",
                                          kMostBytes));
      return {};
    }
    if (text_.find('\0') != std::string_view::npos || text_.substr(0, 2) == "\xff\xfe" ||
        text_.substr(0, 2) == "\xfe\xff") {
      problems_.add(place(0), "the file is UTF-16, UTF-32 or no text, expected UTF-8");
      return {};
    }
    for (std::size_t i = 0; i < text_.size(); i++) {
      if (text_[i] == '\n')
        line_starts_.push_back(i + 1);
    }
    pugi::xml_document document;
    const pugi::xml_parse_result result =
        document.load_buffer(text_.data(), text_.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!result) {
      std::string what = result.description();
      std::transform(what.begin(), what.begin() + 1, what.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
      problems_.add(place(result.offset), "not readable as XML: " + what);
      return {};
    }
    const pugi::xml_node root = document.child(format_.root);
    if (!root) {
      const pugi::xml_node first = document.first_child();
      problems_.add(place(first ? first.offset_debug() : 0),
                    first
                        ? fmt::format("the root is '{}', expected '{}'", first.name(), format_.root)
                        : fmt::format("no element, expected '{}'", format_.root));
      return {};
    }
    Element top = read(root);
    if (count_ <= format_.most_elements)
      check_version(top);
    return top;
  }

 private:
  [[nodiscard]] Location place(std::ptrdiff_t offset) const {
    const auto at =
        std::min(static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)), text_.size());
    const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), at);
    const std::size_t start = *(next - 1);
    return {file_, static_cast<int>(next - line_starts_.begin()), static_cast<int>(at - start) + 1};
  }

  Element read(const pugi::xml_node& node) {
    Element element;
    element.tag = node.name();
    element.where = place(node.offset_debug());
    count_++;
    if (count_ == format_.most_elements + 1) {
      problems_.add(element.where, fmt::format("more than {} elements: NCCL's parser stops here",
                                               format_.most_elements));
    }
    if (count_ > format_.most_elements)
      return element;
    for (const pugi::xml_attribute& attribute : node.attributes()) {
      add_attribute(element, attribute.name(), attribute.value());
    }
    for (const pugi::xml_node& child : node.children()) {
      if (count_ <= format_.most_elements && child.type() == pugi::node_element &&
          known(format_, child.name(), element.tag))
        element.children.push_back(read(child));
    }
    return element;
  }

  void add_attribute(Element& element, const std::string& name, const std::string& value) {
    if (element.find(name) != nullptr)
      problems_.add(element.where, fmt::format("'{}' has two attributes '{}'", element.tag, name));
    if (value.size() > kMostLetters) {
      problems_.add(element.where, fmt::format("attribute '{}' of '{}' has {} letters, NCCL reads "
                                               "at most {}",
                                               name, element.tag, value.size(), kMostLetters));
    }
    element.attributes.emplace_back(name, value);
    if (element.attributes.size() == kMostAttributes + 1) {
      problems_.add(element.where,
                    fmt::format("'{}' has more than {} attributes", element.tag, kMostAttributes));
    }
  }

  void check_version(const Element& system) {
    const std::string* version = system.find("version");
    if (version == nullptr) {
      problems_.add(system.where,
                    fmt::format("'{}' has no attribute 'version', expected '1'", system.tag));
    } else if (*version != "1") {
      problems_.add(system.where, fmt::format("version is '{}', NCCL reads '1'", *version));
    }
  }

  const Format& format_;
  std::string_view text_;
  const std::string& file_;
  Problems& problems_;
  std::vector<std::size_t> line_starts_{0};
  std::size_t count_ = 0;
};

/// What NCCL reads as a number and uses as an index or in sums.
void check_numbers(const Element& element, Problems& problems) {
  if (element.tag == "gpu") {
    const long long dev = element.number("dev", 0);
    if (dev < 0 || dev > kMostDevice) {
      problems.add(element.where, fmt::format("device number '{}' of 'gpu', expected 0 to {}",
                                              element.text("dev"), kMostDevice));
    }
  }
  if (element.tag == "net") {
    const std::string latency = element.text("latency");
    const float value = std::strtof(latency.c_str(), nullptr);
    if (!(std::abs(value) <= kMostLatency)) {
      problems.add(element.where, fmt::format("latency '{}' of 'net', expected at most {} us",
                                              latency, static_cast<int>(kMostLatency)));
    }
  }
  for (const Element& child : element.children)
    check_numbers(child, problems);
}

/// The digits of a bus id, which are what NCCL compares.
std::string digits(const std::string& id) {
  std::string result;
  for (const char c : id) {
    if (c != ':' && c != '.' && !(c == '0' && result.empty()))
      result += c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

/// Every pci has a bus id of the form dddd:bb:dd.f, and a function is there once.
void check_bus_ids(const Element& element, std::set<std::string>& seen, Problems& problems) {
  if (element.tag == "pci") {
    const std::string* id = element.find("busid");
    if (id == nullptr) {
      problems.add(element.where, "'pci' has no attribute 'busid'");
    } else if (id->empty() ||
               id->find_first_not_of("0123456789abcdefABCDEF:.") != std::string::npos) {
      problems.add(element.where,
                   fmt::format("bus id '{}' is not of the form 'dddd:bb:dd.f'", *id));
    } else if (!seen.insert(digits(*id)).second) {
      problems.add(element.where, fmt::format("bus id '{}' is there twice", *id));
    }
  }
  for (const Element& child : element.children)
    check_bus_ids(child, seen, problems);
}

std::size_t count_elements(const Element& element) {
  std::size_t count = 1;
  for (const Element& child : element.children)
    count += count_elements(child);
  return count;
}

void print(const Element& element, int depth, std::string& out) {
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  out += indent + "<" + element.tag;
  for (const auto& [name, value] : element.attributes)
    out += fmt::format(" {}=\"{}\"", name, xml_text(value));
  if (element.children.empty()) {
    out += "/>\n";
    return;
  }
  out += ">\n";
  for (const Element& child : element.children)
    print(child, depth + 1, out);
  out += indent + "</" + element.tag + ">\n";
}

}  // namespace

const std::string* Element::find(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name)
      return &value;
  }
  return nullptr;
}

long long Element::number(std::string_view name, long long fallback) const {
  const std::string* value = find(name);
  return value == nullptr ? fallback : std::strtoll(value->c_str(), nullptr, 0);
}

std::string Element::text(std::string_view name) const {
  const std::string* value = find(name);
  return value == nullptr ? "" : *value;
}

void Element::set(std::string_view name, std::string value) {
  for (auto& [key, old] : attributes) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  attributes.emplace_back(name, std::move(value));
}

const Element* Element::child(std::string_view wanted) const {
  for (const Element& candidate : children) {
    if (candidate.tag == wanted)
      return &candidate;
  }
  return nullptr;
}

Element parse_topology(std::string_view text, const std::string& file, Problems& problems) {
  Element system = Reader(kTopologyFormat, text, file, problems).run();
  if (system.tag.empty() || count_elements(system) > kMostElements)
    return system;
  std::set<std::string> bus_ids;
  check_bus_ids(system, bus_ids, problems);
  check_numbers(system, problems);
  if (system.child("cpu") == nullptr)
    problems.add(system.where, "the system has no 'cpu'");
  return system;
}

Element parse_graphs(std::string_view text, const std::string& file, Problems& problems) {
  return Reader(kGraphFormat, text, file, problems).run();
}

std::string print_topology(const Element& root) {
  std::string out;
  print(root, 0, out);
  return out;
}

}  // namespace busbw::nccl::graph
