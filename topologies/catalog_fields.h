// Typed fields of catalogue records: MappingReader's accessors with the checks that hardware
// numbers need.
//
// Every function reads one key of the record; what is missing or wrong is added to the reader's
// problems once, and a default-constructed value is returned, so that reading goes on.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/units.h"
#include "sim/core/yaml.h"

namespace busbw::topologies::fields {

/// Adds "'key' in RECORD must be MUST_BE, found 'FOUND'HINT" at the value of `key`.
void wrong(MappingReader& reader, std::string_view key, const std::string& must_be,
           const std::string& found, const std::string& hint = "");

std::int32_t whole(MappingReader& reader, std::string_view key, std::int64_t min, std::int64_t max);
std::int32_t year(MappingReader& reader);

// Required and more than 0; rates up to 1 Pb/s, latencies up to 1 s.
Bandwidth positive_bandwidth(MappingReader& reader, std::string_view key);
Duration positive_duration(MappingReader& reader, std::string_view key);
Bytes positive_bytes(MappingReader& reader, std::string_view key);

/// A required fraction above 0 and at most 1, written "64/66". Nothing when it is missing or wrong.
std::optional<Ratio> share(MappingReader& reader, std::string_view key);
/// "0x15b3", as lspci -n prints it; nothing when the key is absent.
std::optional<std::int64_t> pci_id(MappingReader& reader, std::string_view key);
/// The required `source`, and the optional mapping `sources` from keys of the record to where their
/// value comes from.
std::string source(MappingReader& reader);
/// `aliases`, empty when absent.
std::vector<std::string> aliases(MappingReader& reader);
/// The required list `lanes` of widths in ascending order.
std::vector<std::int32_t> lanes(MappingReader& reader);
/// The data rate at `key` must be signalling x coding x lanes, to the bit.
void check_coding(MappingReader& reader, std::string_view key, Bandwidth signalling, Ratio coding,
                  std::int32_t lanes);

inline constexpr std::int64_t kMostLanes = 64;

}  // namespace busbw::topologies::fields
