// Tests of the search for the data folder: each place, their order, and what is said when there is
// none.
#include "tools/data_path.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/core/errors.h"

namespace busbw::tools {
namespace {

namespace fs = std::filesystem;

/// A temporary folder with a build tree, an install prefix, a scenario and a BUSBW_DATA folder,
/// none of which is a data folder yet.
class DataPathTest : public ::testing::Test {
 protected:
  DataPathTest() {
    for (const char* folder : {"source", "build", "prefix/bin", "user", "data"}) {
      fs::create_directories(root_ / folder);
    }
    std::ofstream(root_ / "build/CMakeCache.txt")
        << "# a comment\nCMAKE_HOME_DIRECTORY:INTERNAL=" << (root_ / "source").string() << "\n";
  }
  ~DataPathTest() override { fs::remove_all(root_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (root_ / name).string(); }
  void add_catalog(const std::string& folder) const {
    fs::create_directories(root_ / folder / "topologies/catalog");
  }

  /// Message of the InputError that `query` leads to.
  static std::string message(const DataQuery& query) {
    try {
      return "found " + find_data(query).root;
    } catch (const InputError& error) {
      return error.what();
    }
  }

 private:
  fs::path root_ = fs::temp_directory_path() / fmt::format("busbw_data_path_{}", getpid());
};

TEST_F(DataPathTest, OrderIsScenarioThenVariableThenBuildTree) {
  add_catalog("user");
  add_catalog("data");
  add_catalog("source");
  DataQuery query{path("user/job.yaml"), path("data"), path("build/busbw")};
  EXPECT_EQ(find_data(query).root, path("user"));
  fs::remove_all(path("user/topologies"));
  EXPECT_EQ(find_data(query).root, path("data"));
  query.busbw_data.reset();
  EXPECT_EQ(find_data(query).root, path("source"));
  EXPECT_EQ(find_data(query).catalog(), path("source/topologies/catalog"));
  EXPECT_EQ(find_data(query).scenarios(), path("source/scenarios/catalog"));
}

TEST_F(DataPathTest, InstallPrefixComesLast) {
  add_catalog("prefix/share/busbw");
  EXPECT_EQ(find_data({std::nullopt, std::nullopt, path("prefix/bin/busbw")}).root,
            path("prefix/share/busbw"));
}

TEST_F(DataPathTest, EmptyVariableCountsAsUnset) {
  add_catalog("source");
  EXPECT_EQ(find_data({std::nullopt, "", path("build/busbw")}).root, path("source"));
}

TEST_F(DataPathTest, WrongVariableIsAnErrorAndNoFallback) {
  add_catalog("source");
  EXPECT_EQ(message({std::nullopt, path("data"), path("build/busbw")}),
            "error: BUSBW_DATA is '" + path("data") + "', but there is no folder '" +
                path("data/topologies/catalog") + "'");
}

TEST_F(DataPathTest, NothingFoundListsEveryPlace) {
  EXPECT_EQ(message({path("user/job.yaml"), std::nullopt, path("prefix/bin/busbw")}),
            "error: no hardware catalogue found; looked for '" + path("user/topologies/catalog") +
                "' or '" + path("prefix/share/busbw/topologies/catalog") +
                "'; set BUSBW_DATA to a folder that has topologies/catalog");
}

TEST(ProcessQuery, NamesThisProgram) {
  EXPECT_EQ(fs::path(process_query().program).filename(), "tools_test");
}

}  // namespace
}  // namespace busbw::tools
