// Fields of catalogue records, see the header. Ranges are wide: they catch a slipped digit, not a
// wrong data sheet.
#include "topologies/catalog_fields.h"

#include <charconv>

#include <fmt/format.h>

#include "sim/core/quantity.h"
#include "sim/core/text.h"

namespace busbw::topologies::fields {
namespace {

constexpr std::int64_t kFirstYear = 1980;
constexpr std::int64_t kLastYear = 2100;
// Far above any hardware, and small enough that rate x lanes and sums of latencies fit in 64 bits.
constexpr Bandwidth kLargestRate = Bandwidth::gigabits_per_second(1'000'000);
constexpr Duration kLongestLatency = Duration::seconds(1);
constexpr std::int64_t kLargestTerm = 1'000'000;  // of a fraction

/// A required text of `key` that is not blank.
std::string filled_text(MappingReader& reader, std::string_view key) {
  if (!reader.has(key)) {
    return reader.required_text(key);
  }
  const std::optional<std::string> text = reader.text(key);
  if (text && trim(*text).empty()) {
    reader.problem(key, fmt::format("'{}' in {} is empty", key, reader.what()));
  }
  return text.value_or("");
}

}  // namespace

void wrong(MappingReader& reader, std::string_view key, const std::string& must_be,
           const std::string& found, const std::string& hint) {
  reader.problem(key, fmt::format("'{}' in {} must be {}, found '{}'{}", key, reader.what(),
                                  must_be, found, hint));
}

std::int32_t whole(MappingReader& reader, std::string_view key, std::int64_t min,
                   std::int64_t max) {
  return static_cast<std::int32_t>(reader.required_integer(key, min, max));
}

std::int32_t year(MappingReader& reader) {
  return whole(reader, "year", kFirstYear, kLastYear);
}

Bandwidth positive_bandwidth(MappingReader& reader, std::string_view key) {
  if (!reader.has(key)) {
    return reader.required_bandwidth(key);  // says that it is missing
  }
  const std::optional<Bandwidth> rate = reader.bandwidth(key);
  if (rate && (rate->bps() <= 0 || *rate > kLargestRate)) {
    wrong(reader, key, "more than 0 and at most " + to_string(kLargestRate), to_string(*rate));
    return Bandwidth();
  }
  return rate.value_or(Bandwidth());
}

Duration positive_duration(MappingReader& reader, std::string_view key) {
  if (!reader.has(key)) {
    return reader.required_duration(key);
  }
  const std::optional<Duration> time = reader.duration(key);
  if (time && (time->ps() <= 0 || *time > kLongestLatency)) {
    wrong(reader, key, "more than 0 and at most " + to_string(kLongestLatency), to_string(*time));
    return Duration();
  }
  return time.value_or(Duration());
}

Bytes positive_bytes(MappingReader& reader, std::string_view key) {
  if (!reader.has(key)) {
    return reader.required_bytes(key);
  }
  const std::optional<Bytes> size = reader.bytes(key);
  if (size && size->count() <= 0) {
    wrong(reader, key, "more than 0", to_string(*size));
  }
  return size.value_or(Bytes());
}

std::optional<Ratio> share(MappingReader& reader, std::string_view key) {
  if (!reader.has(key)) {
    reader.required_text(key);
    return std::nullopt;
  }
  const std::optional<std::string> text = reader.text(key);
  if (!text) {
    return std::nullopt;
  }
  const std::vector<std::string_view> parts = split(*text, '/');
  if (parts.size() == 2) {
    const std::optional<std::int64_t> numerator = parse_integer(parts[0]);
    const std::optional<std::int64_t> denominator = parse_integer(parts[1]);
    if (numerator && denominator && *numerator > 0 && *numerator <= *denominator &&
        *denominator <= kLargestTerm) {
      return Ratio{*numerator, *denominator};
    }
  }
  wrong(reader, key,
        fmt::format("a fraction such as 64/66, above 0 and at most 1, its terms at most {}",
                    kLargestTerm),
        *text);
  return std::nullopt;
}

std::optional<std::int64_t> pci_id(MappingReader& reader, std::string_view key) {
  const std::optional<std::string> text = reader.text(key);
  if (!text) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const char* end = text->data() + text->size();
  if (text->size() == 6 && text->substr(0, 2) == "0x") {
    const auto [stop, error] = std::from_chars(text->data() + 2, end, value, 16);
    if (error == std::errc() && stop == end && value >= 0) {
      return value;
    }
  }
  wrong(reader, key, "four hexadecimal digits such as 0x15b3", *text);
  return std::nullopt;
}

std::string source(MappingReader& reader) {
  const std::optional<YamlNode> sources = reader.mapping("sources");
  if (sources) {
    MappingReader texts(*sources, "'sources' of " + reader.what(), reader.problems());
    for (const YamlNode::Entry& entry : sources->entries()) {
      filled_text(texts, entry.key);
      if (!reader.has(entry.key)) {
        reader.problems().add(entry.key_where,
                              fmt::format("'sources' of {} explains key '{}', which is not there",
                                          reader.what(), entry.key));
      }
    }
  }
  return filled_text(reader, "source");
}

std::vector<std::string> aliases(MappingReader& reader) {
  return reader.texts("aliases").value_or(std::vector<std::string>());
}

std::vector<std::int32_t> lanes(MappingReader& reader) {
  std::vector<std::int32_t> result;
  for (const std::string& text : reader.required_texts("lanes")) {
    const std::optional<std::int64_t> width = parse_integer(text);
    const std::int64_t previous = result.empty() ? 0 : result.back();
    if (!width || *width <= previous || *width > kMostLanes) {
      wrong(reader, "lanes", fmt::format("whole numbers from 1 to {}, ascending", kMostLanes),
            text);
      break;
    }
    result.push_back(static_cast<std::int32_t>(*width));
  }
  return result;
}

void check_coding(MappingReader& reader, std::string_view key, Bandwidth signalling, Ratio coding,
                  std::int32_t lanes) {
  const std::optional<Bandwidth> stated = reader.bandwidth(key);
  if (!stated || stated->bps() <= 0 || signalling.bps() <= 0 || lanes <= 0) {
    return;  // reported already
  }
  const Bandwidth expected = signalling * coding * lanes;
  if (expected != *stated) {
    wrong(reader, key,
          fmt::format("signalling x coding{} = {}", lanes == 1 ? "" : " x lanes",
                      to_string(expected)),
          to_string(*stated));
  }
}

}  // namespace busbw::topologies::fields
