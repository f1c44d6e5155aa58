// Parts of the report of `busbw run`: what went wrong during a call, and the busiest links.
#pragma once
#include <string>

#include "scenarios/result.h"

namespace busbw::tools {

/// Text in lines of at most 118 columns: the first after `lead`, the others after `indent` blanks.
std::string wrap(const std::string& lead, const std::string& text, std::size_t indent);

/// How the call ended, its bytes, and in order of time what happened and who printed what. Empty
/// for a size without events.
std::string faults_text(const scenarios::SizeResult& size);

/// A line a link, with the connections that share it; empty when none were asked for.
std::string hottest_text(const scenarios::SizeResult& size);

}  // namespace busbw::tools
