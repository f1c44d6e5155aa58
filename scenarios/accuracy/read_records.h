// Reads measurement records and their comparison groups from JSON.
#pragma once
#include <string>
#include <vector>

#include "scenarios/accuracy/record.h"
#include "sim/core/value.h"

namespace busbw::scenarios::accuracy {

/// Reads an array of records (or an object with a member `records`). Everything wrong is added to
/// `problems` with its place; a record with problems is left out.
std::vector<Record> read_records(const Value& file, Problems& problems);

/// Records that belong together: the same system misconfigured and fixed, say.
struct Group {
  std::string name;
  std::string type;  // "misconfiguration"
  struct Member {
    std::string id;
    std::string role;
  };
  std::vector<Member> members;
  bool judged = false;
  std::string why_not;  // when not judged
  Location where;
};

/// Reads an array of groups (or an object with a member `groups`): {pair, type, members[{id,
/// role}], judged, why_not}.
std::vector<Group> read_groups(const Value& file, Problems& problems);

}  // namespace busbw::scenarios::accuracy
