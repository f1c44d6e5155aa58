// Sentences about a wrong command line, without the library that parses it.
#pragma once
#include <string>
#include <vector>

namespace busbw::tools {

/// About a word that `command` does not take; `known`: its subcommands, if it has any.
std::string unknown_word(const std::string& word, const std::string& command,
                         const std::vector<std::string>& known);

/// CLI11's own sentences in the form of ours: lower case, no full stop.
std::string house_style(std::string message);

}  // namespace busbw::tools
