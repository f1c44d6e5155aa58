// Machines of the repository's catalogue, for the tests of this folder.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "topologies/machine.h"

namespace busbw::nccl::testing {

inline const topologies::Catalog& catalog() {
  static const topologies::Catalog read = [] {
    Problems problems;
    topologies::Catalog result =
        topologies::load_catalog(std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog", problems);
    problems.throw_if_any();
    return result;
  }();
  return read;
}

inline const std::vector<topologies::Machine>& machines() {
  static const std::vector<topologies::Machine> read = [] {
    Problems problems;
    std::vector<topologies::Machine> result = topologies::load_machines(
        std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog/machines", catalog(), problems);
    problems.throw_if_any();
    return result;
  }();
  return read;
}

inline topologies::Machine machine_called(const std::string& name) {
  const auto found = std::find_if(machines().begin(), machines().end(),
                                  [&](const topologies::Machine& m) { return m.name == name; });
  EXPECT_NE(found, machines().end()) << name;
  return found == machines().end() ? topologies::Machine{} : *found;
}

}  // namespace busbw::nccl::testing
