// See fix.h.
#include "models/diagnosis/fix.h"

#include "sim/core/text.h"

namespace busbw::diagnosis {

bool apply_fix(const std::vector<std::string>& fix,
               std::map<std::string, std::string>& environment) {
  for (const std::string& line : fix) {
    const std::string command = line.substr(0, line.find('#'));
    const std::vector<std::string_view> words = split_blanks(command);
    const bool sets = !words.empty() && words.front() == "export";
    const bool unsets = !words.empty() && words.front() == "unset";
    if ((!sets && !unsets) || command.find('<') != std::string::npos) {
      continue;
    }
    for (std::size_t i = 1; i < words.size(); i++) {
      const std::string_view word = words[i].substr(0, words[i].find(';'));
      const std::size_t sign = word.find('=');
      const std::string name(word.substr(0, sign));
      if (unsets) {
        environment.erase(name);
      } else if (sign != std::string_view::npos) {
        environment[name] = std::string(word.substr(sign + 1));
      }
    }
    return true;
  }
  return false;
}

}  // namespace busbw::diagnosis
