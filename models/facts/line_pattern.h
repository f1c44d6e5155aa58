// Shapes of lines that programs print, as data: "Bootstrap : Using {list}".
//
// Text of a shape is matched without regard to letter case, a blank of it to any number of blanks,
// none included: releases spell "NET/IB :" and "NET/IB:". {name} takes what stands up to the next
// piece of text, or the rest. A shape that starts with "..." may begin anywhere in the line.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/facts/fact.h"

namespace busbw::facts {

class LinePattern {
 public:
  /// CHECKs that no {name} follows another without text between them, and that braces close.
  explicit LinePattern(std::string_view shape);
  /// The fields, trimmed; nothing when the line has another shape.
  [[nodiscard]] std::optional<std::vector<Fact::Field>> match(std::string_view line) const;
  /// First letter of the shape, in lower case; 0 when it may begin anywhere.
  [[nodiscard]] char first() const { return first_; }
  /// kSample letters in a row, in lower case, that every line of the shape has. CHECKs that the
  /// first piece of text has a word that long.
  [[nodiscard]] std::string_view sample() const;
  static constexpr std::size_t kSample = 4;

 private:
  struct Piece {
    std::string text;   // in lower case; empty: a field
    std::string field;  // its name
  };
  std::vector<Piece> pieces_;
  char first_ = 0;
};

}  // namespace busbw::facts
