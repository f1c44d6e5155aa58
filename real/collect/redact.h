// What leaves the machine: which variables, and texts without what is private.
#pragma once
#include <map>
#include <string>

namespace busbw::real::collect {

/// The variable says something about the job's communication and nothing about its user: of an
/// allow-list, and its name tells of no secret.
bool may_leave(const std::string& variable);

/// "NAME=value" lines of the variables that may leave, sorted, redacted.
std::string environment_text(const std::map<std::string, std::string>& environment);

/// The text with "~" in place of home directories and "<removed>" in place of what looks like a
/// token, a password or credentials of an address. GUIDs, addresses and hashes of up to 16 digits
/// stay.
std::string redacted(const std::string& text);

/// Of the output of `nvidia-smi -q` and `lspci -vvv`: without serial numbers and processes.
std::string without_serials(const std::string& text);

}  // namespace busbw::real::collect
