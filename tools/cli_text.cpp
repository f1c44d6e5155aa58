// See cli_text.h.
#include "tools/cli_text.h"

#include <cctype>

#include "sim/core/text.h"

namespace busbw::tools {

std::string unknown_word(const std::string& word, const std::string& command,
                         const std::vector<std::string>& known) {
  if (known.empty()) {
    return "unexpected argument '" + word + "' of '" + command + "'";
  }
  const std::string meant = did_you_mean(word, known);
  return "unknown command '" + word + "'" +
         (meant.empty() ? "; allowed: " + quoted_list(known) : meant);
}

std::string house_style(std::string message) {
  if (message.size() > 1 && std::islower(static_cast<unsigned char>(message[1])) != 0) {
    message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  }
  while (!message.empty() && (message.back() == '.' || message.back() == '\n')) {
    message.pop_back();
  }
  return message;
}

}  // namespace busbw::tools
