// See xml_text.h.
#include "sim/core/xml_text.h"

namespace busbw {

std::string xml_text(std::string_view text) {
  constexpr unsigned char kFirstPrinted = 0x20;
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) < kFirstPrinted) {
          result += "&#" + std::to_string(static_cast<int>(c)) + ";";
        } else {
          result += c;
        }
        break;
    }
  }
  return result;
}

}  // namespace busbw
