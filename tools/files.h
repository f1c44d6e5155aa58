// Files that a user names: what is read, and where answers go.
#pragma once
#include <string>

namespace busbw::tools {

/// The text of a file that the user names. Throws InputError when it is a folder, is not there or
/// cannot be read.
std::string read_user_file(const std::string& path);

/// Writes `text`, replacing what is there. Throws SystemError.
void write_file(const std::string& path, const std::string& text);

}  // namespace busbw::tools
