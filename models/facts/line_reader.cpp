// See line_reader.h.
#include "models/facts/line_reader.h"

#include "sim/core/text.h"

namespace busbw::facts {

void LineReader::finish(FactStore& /*facts*/) {}

void put(FactStore& facts, const SourceLine& line, std::string_view name,
         std::vector<Fact::Field> fields) {
  Fact fact;
  fact.name = std::string(name);
  fact.host = line.host;
  fact.fields = std::move(fields);
  fact.where = {line.file, line.number, 1};
  facts.add(std::move(fact), line.text);
}

bool key_and_value(std::string_view line, std::string_view& key, std::string_view& value) {
  const std::size_t sign = line.find_first_of(":=");
  if (sign == std::string_view::npos || sign == 0) {
    return false;
  }
  key = trim(line.substr(0, sign));
  value = trim(line.substr(sign + 1));
  return true;
}

}  // namespace busbw::facts
