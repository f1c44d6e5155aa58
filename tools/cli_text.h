// Sentences about a wrong command line, without the library that parses it.
#pragma once
#include <string>
#include <vector>

namespace busbw::tools {

constexpr const char* kEngineHelp =
    "auto (default: fluid; above 64 ranks or 2 GiB steady), fluid, reference, steady";
constexpr const char* kFooter =
    "Exit codes: 0 done; 1 a bound missed or something found; 2 wrong input or command line;\n"
    "3 the system refused; 70 a bug in busbw.\n"
    "Environment: BUSBW_DATA names a folder with topologies/catalog; NO_COLOR turns colour off.";
constexpr const char* kHottestHelp =
    "Show this many of the busiest links with the ranks that share them (3 on a fabric file)";

/// About a word that `command` does not take; `known`: its subcommands, if it has any.
std::string unknown_word(const std::string& word, const std::string& command,
                         const std::vector<std::string>& known);

/// CLI11's own sentences in the form of ours: lower case, no full stop.
std::string house_style(std::string message);

}  // namespace busbw::tools
