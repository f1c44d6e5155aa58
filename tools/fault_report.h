// Parts of the report of `busbw run`: what went wrong during a call, and the busiest links.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "scenarios/result.h"

namespace busbw::tools {

/// Text in lines of at most 118 columns: the first after `lead`, the others after `indent` blanks.
std::string wrap(const std::string& lead, const std::string& text, std::size_t indent);

/// How the call ended, its bytes, and in order of time what happened and who printed what. Empty
/// for a size without events.
std::string faults_text(const scenarios::SizeResult& size);

/// A line a link, with the connections that share it; empty when none were asked for. Each line
/// after `lead`.
std::string hottest_text(const scenarios::SizeResult& size, const std::string& lead);

/// The number of --hottest. Throws InputError beyond 0 to 10000.
std::optional<std::int32_t> checked_hottest(const std::optional<std::int64_t>& asked);

}  // namespace busbw::tools
