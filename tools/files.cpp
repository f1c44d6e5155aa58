// See files.h.
#include "tools/files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <unistd.h>

#include "sim/core/errors.h"
#include "sim/core/text.h"

namespace busbw::tools {

std::string read_user_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw InputError(path + ": cannot be read: it is a folder");
  }
  if (::access(path.c_str(), R_OK) != 0) {
    throw InputError(path + ": cannot be read: " + std::strerror(errno));
  }
  return read_file(path);
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) {
    throw SystemError({"write", std::strerror(errno), path, ""});
  }
}

}  // namespace busbw::tools
