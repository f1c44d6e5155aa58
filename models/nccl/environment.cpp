// NCCL's reading of variables, and what it silently passes over. Source: NCCL 2.18 to 2.30,
// src/misc/param.cc.
#include "models/nccl/environment.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include "models/nccl/variables.h"
#include "sim/core/text.h"

namespace busbw::nccl {
namespace {

/// How strtoll(text, base 0) sees the text.
struct ParsedNumber {
  std::int64_t value = 0;
  bool overflow = false;
  std::string rest;  // what follows the number; the whole text if there is none
};

ParsedNumber parse(const std::string& text) {
  ParsedNumber parsed;
  errno = 0;
  char* end = nullptr;
  parsed.value = std::strtoll(text.c_str(), &end, 0);
  parsed.overflow = errno == ERANGE;
  parsed.rest = end;
  return parsed;
}

/// Names that people set although they belong to something else.
struct Foreign {
  const char* name;
  const char* advice;
};
constexpr Foreign kForeign[] = {
    {"NCCL_TIMEOUT",
     "PyTorch's process-group time-out is meant (timeout= of init_process_group), or "
     "NCCL_IB_TIMEOUT"},
    {"NCCL_BLOCKING_WAIT", "it is PyTorch's, today TORCH_NCCL_BLOCKING_WAIT"},
    {"NCCL_ASYNC_ERROR_HANDLING", "it is PyTorch's, today TORCH_NCCL_ASYNC_ERROR_HANDLING"},
    {"NCCL_DESYNC_DEBUG", "it is PyTorch's, today TORCH_NCCL_DESYNC_DEBUG"},
    {"NCCL_HEARTBEAT_TIMEOUT_SEC", "it is PyTorch's, today TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"},
    {"NCCL_HOME", "builds use it to find NCCL, the library does not"},
    {"NCCL_VERSION", "container images set it as a label, the library does not read it"},
};

class Checker {
 public:
  Checker(const Environment& environment, Version version)
      : environment_(environment), version_(version) {}

  std::vector<std::string> run() {
    for (const auto& [name, value] : environment_) {
      if (name.rfind("NCCL_", 0) != 0)
        continue;
      const Variable* variable = find_variable(name);
      if (variable == nullptr) {
        unknown(name);
        continue;
      }
      if (version_ < variable->since) {
        add(fmt::format("{} exists from {} on; {} does not read it", name,
                        to_string(variable->since), to_string(version_)));
        continue;
      }
      if (variable->until < version_) {
        add(fmt::format("{} exists up to {}; {} does not read it", name, to_string(variable->until),
                        to_string(version_)));
        continue;
      }
      if (variable->kind == VariableKind::kNumber)
        number(name, value);
      if (variable->kind == VariableKind::kPathLevel)
        path_level(name, value);
      if (name == "NCCL_SOCKET_IFNAME")
        list(name, value, true);
      if (name == "NCCL_IB_HCA")
        list(name, value, false);
      if (name == "NCCL_SOCKET_FAMILY" && value != "AF_INET" && value != "AF_INET6") {
        add(fmt::format(
            "NCCL_SOCKET_FAMILY='{}' restricts nothing: only AF_INET and AF_INET6 count", value));
      }
    }
    return std::move(warnings_);
  }

 private:
  void add(std::string text) { warnings_.push_back(std::move(text)); }

  void unknown(const std::string& name) {
    for (const Foreign& foreign : kForeign) {
      if (name == foreign.name) {
        add(fmt::format("{} is no variable of NCCL: {}", name, foreign.advice));
        return;
      }
    }
    std::vector<std::string> names;
    for (const Variable& variable : variables())
      names.push_back(variable.name);
    add(fmt::format("{} is no variable of NCCL{}", name, did_you_mean(name, names)));
  }

  void number(const std::string& name, const std::string& value) {
    if (value.empty())
      return;
    const ParsedNumber parsed = parse(value);
    if (parsed.overflow) {
      add(fmt::format("{}={} is out of range: NCCL takes the default", name, value));
    } else if (parsed.rest == value) {
      add(fmt::format("{}='{}' is no number: NCCL reads 0", name, value));
    } else if (!trim(parsed.rest).empty()) {
      add(fmt::format("{}='{}' is read as {}: '{}' is dropped", name, value, parsed.value,
                      parsed.rest));
    } else if (value.size() > 1 && value.front() == '0' &&
               value.find_first_of("xX") == value.npos) {
      add(fmt::format("{}={} is read as octal: {}", name, value, parsed.value));
    }
  }

  void path_level(const std::string& name, const std::string& value) {
    static const std::vector<std::string> kWords{"LOC", "PORT", "NVL", "NVB", "PIX",
                                                 "PXB", "P2C",  "PXN", "PHB", "SYS"};
    if (value.empty() || std::find(kWords.begin(), kWords.end(), value) != kWords.end())
      return;
    if (value.find_first_not_of("0123456789") == std::string::npos)
      return;
    std::string upper = value;
    for (char& c : upper)
      c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    const bool known = std::find(kWords.begin(), kWords.end(), upper) != kWords.end();
    add(fmt::format(
        "{}='{}' is ignored: {}", name, value,
        known ? "upper case is required, '" + upper + "'" : "expected " + quoted_list(kWords)));
  }

  void list(const std::string& name, const std::string& value, bool needs_two) {
    if (needs_two && value.size() < 2) {
      add(fmt::format("{}='{}' has fewer than two characters and counts as unset", name, value));
      return;
    }
    std::size_t start = 0;
    while (start < value.size() && start < 2 && (value[start] == '^' || value[start] == '='))
      ++start;
    bool first = true;
    for (const std::string_view item : split(std::string_view(value).substr(start), ',')) {
      if (item != trim(item)) {
        add(fmt::format("{}: the item '{}' holds a blank and can match nothing", name, item));
      }
      const std::string_view bare = trim(item);
      if (!first && !bare.empty() && (bare.front() == '^' || bare.front() == '=')) {
        add(
            fmt::format("{}: '{}' in the item '{}' is part of the name, marks count only at the "
                        "start of the list",
                        name, bare.substr(0, 1), bare));
      }
      first = false;
    }
  }

  const Environment& environment_;
  Version version_;
  std::vector<std::string> warnings_;
};

}  // namespace

std::int64_t numeric(const Environment& environment, const std::string& name,
                     std::int64_t fallback) {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty())
    return fallback;
  const ParsedNumber parsed = parse(found->second);
  return parsed.overflow ? fallback : parsed.value;
}

std::optional<std::string> text(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  if (found == environment.end())
    return std::nullopt;
  return found->second;
}

std::vector<std::string> environment_warnings(const Environment& environment, Version version) {
  return Checker(environment, version).run();
}

}  // namespace busbw::nccl
