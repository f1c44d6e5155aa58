// See fact.h.
#include "models/facts/fact.h"

#include <algorithm>

#include "sim/core/text.h"

namespace busbw::facts {
namespace {

/// Length without a character of UTF-8 cut in two at the end.
std::size_t whole_characters(std::string_view text, std::size_t most) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text.substr(at)), 1);
    if (at + length > most) {
      break;
    }
    at += length;
  }
  return at;
}

std::string key_of(const Fact& fact) {
  std::string key;
  key.reserve(128);
  key += fact.name + '\n' + fact.host;
  for (const Fact::Field& field : fact.fields) {
    key += '\n';
    key += field.first;
    key += '=';
    key += field.second;
  }
  return key;
}

}  // namespace

std::string_view Fact::get(std::string_view field) const {
  for (const Field& one : fields) {
    if (one.first == field) {
      return one.second;
    }
  }
  return {};
}

std::string quote(std::string_view line) {
  const std::string_view text = trim(line);
  const std::size_t most = whole_characters(text, kLongestQuote);
  std::string result;
  for (std::size_t at = 0; at < most;) {
    const std::size_t length = utf8_length(text.substr(at));
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0 || byte == 0x7f || (byte < 0x20 && byte != '\t')) {
      result += '?';
    } else if (byte == '\t') {
      result += ' ';
    } else {
      result += text.substr(at, length);
    }
    at += std::max<std::size_t>(length, 1);
  }
  if (most < text.size()) {
    result += "...";
  }
  return result;
}

void FactStore::add(Fact fact) {
  const std::string line = std::move(fact.line);
  add(std::move(fact), line);
}

void FactStore::add(Fact fact, std::string_view line) {
  std::vector<std::size_t>& same_name = by_name_[fact.name];
  std::string key = key_of(fact);
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) {
    facts_[known->second].count++;
    facts_[known->second].last_line = fact.where.line;
    return;
  }
  if (same_name.size() >= kMostOfOneName) {
    return;
  }
  fact.last_line = fact.where.line;
  fact.line = quote(line);
  by_key_.emplace(std::move(key), facts_.size());
  same_name.push_back(facts_.size());
  facts_.push_back(std::move(fact));
}

void FactStore::note(Location where, std::string message) {
  const int number = ++notes_of_file_[where.file];
  if (number < kMostNotes) {
    notes_.push_back({std::move(where), std::move(message)});
  } else if (number == kMostNotes) {
    notes_.push_back({std::move(where), "further lines that could not be read are not listed"});
  }
}

std::vector<const Fact*> FactStore::named(std::string_view name) const {
  std::vector<const Fact*> found;
  const auto places = by_name_.find(name);
  if (places != by_name_.end()) {
    for (const std::size_t place : places->second) {
      found.push_back(&facts_[place]);
    }
  }
  return found;
}

bool FactStore::has(std::string_view name) const {
  const auto places = by_name_.find(name);
  return places != by_name_.end() && !places->second.empty();
}

}  // namespace busbw::facts
