// `nvidia-smi topo -m`: tabs or blanks, with and without NIC legend, CPU columns and colour codes.
#include "models/facts/topo_text.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "sim/core/text.h"

namespace busbw::facts {
namespace {

TEST(TopoText, ReadsTabsColoursAndTheNicLegend) {
  Problems problems;
  const TopoMatrix matrix = parse_topo(
      "\x1b[4m\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
      "GPU0\t X \tNV12\tPXB\t0-23\t0\t\tN/A\n"
      "GPU1\tNV12\t X \tSYS\t24-47\t1\t\tN/A\n"
      "NIC0\tPXB\tSYS\t X \n"
      "\nLegend:\n\n  X    = Self\n  PXB  = Connection\n\nNIC Legend:\n\n  NIC0: mlx5_0\n",
      "topo.txt", problems);
  ASSERT_TRUE(problems.empty());
  EXPECT_EQ(matrix.devices, (std::vector<std::string>{"GPU0", "GPU1", "mlx5_0"}));
  EXPECT_EQ(matrix.gpus(), (std::vector<int>{0, 1}));
  EXPECT_EQ(matrix.nics(), (std::vector<int>{2}));
  EXPECT_EQ(to_string(matrix.cells[0][1]), "NV12");
  EXPECT_EQ(to_string(matrix.cells[2][0]), "PXB");
  EXPECT_EQ(to_string(matrix.cells[1][2]), "SYS");
  EXPECT_EQ(matrix.numa, (std::vector<std::string>{"0", "1", ""}));
}

TEST(TopoText, ReadsAHeadingWhoseColourCodeLostItsEscape) {
  Problems problems;
  const TopoMatrix matrix =
      parse_topo("\t[4mGPU0\tGPU1\tCPU Affinity[0m\nGPU0\t X \tNODE\t0-7\nGPU1\tNODE\t X \t0-7\n",
                 "topo.txt", problems);
  ASSERT_TRUE(problems.empty());
  EXPECT_EQ(matrix.devices, (std::vector<std::string>{"GPU0", "GPU1"}));
  EXPECT_EQ(to_string(matrix.cells[0][1]), "NODE");
}

TEST(TopoText, NamesUnknownWordsShortRowsAndMissingRows) {
  Problems problems;
  parse_topo("     GPU0 GPU1 GPU2\nGPU0  X  NVX PIX\nGPU1 PIX  X\n", "topo.txt", problems);
  std::vector<std::string> lines;
  for (const InputProblem& problem : problems.all()) {
    lines.push_back(to_string(problem));
  }
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                "topo.txt:2:1: error: unknown link 'NVX' in the row of GPU0; allowed: X, NV#, PIX, "
                "PXB, PHB, NODE, SYS",
                "topo.txt:3:1: error: row of GPU1 has 2 cells, its heading has 3",
                "topo.txt:1:1: error: topology matrix has 3 columns and 2 rows"}));
}

TEST(TopoText, OtherTextHoldsNoMatrix) {
  Problems problems;
  EXPECT_TRUE(parse_topo("nvidia-smi: command not found\n", "x", problems).devices.empty());
  EXPECT_TRUE(problems.empty());
}

// Every real matrix at hand is square, symmetric in kind, and has the self cell on its diagonal.
TEST(TopoText, ReadsEveryRecordedMatrix) {
  const std::filesystem::path folder = std::string(BUSBW_SHARED_DIR) + "/tool-outputs";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "recorded tool outputs are not at hand";
  }
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().rfind("topo_", 0) == 0) {
      files.push_back(entry.path().string());
    }
  }
  ASSERT_GE(files.size(), 15U);
  for (const std::string& file : files) {
    Problems problems;
    const TopoMatrix matrix = parse_topo(read_file(file), file, problems);
    ASSERT_TRUE(problems.empty()) << to_string(problems.all().front());
    ASSERT_FALSE(matrix.gpus().empty()) << file;
    for (std::size_t a = 0; a < matrix.devices.size(); a++) {
      for (std::size_t b = 0; b < matrix.devices.size(); b++) {
        EXPECT_EQ(to_string(matrix.cells[a][b]), to_string(matrix.cells[b][a])) << file;
        EXPECT_EQ(matrix.cells[a][b].link == TopoLink::kSelf, a == b) << file;
      }
    }
  }
}

}  // namespace
}  // namespace busbw::facts
