// The case's machine against NCCL's own graph code, 2.18.1 to 2.30.7: number of channels and NIC of
// each.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "sim/core/text.h"
#include "tests/models/nccl/build_input.h"
#include "tools/json/json.h"

namespace busbw::nccl {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders are this file's
                          // vocabulary

/// The inventory that a file's name stands for: "sockets-eth0-10G-rdma0-100G-2-nccl-2.18.1.json".
SelectionInput input_of(const std::string& file, Version version) {
  SelectionInput input = the_case(version);
  for (Inventory& host : input.hosts) {
    if (file.rfind("hca-", 0) == 0)
      host.hcas = {hca("mlx5_0", file.rfind("hca-100G", 0) == 0 ? 100'000 : 200'000)};
    if (file.rfind("sockets-two-equal-10G", 0) == 0)
      host.interfaces[2].speed_mbit = 10'000;
    if (file.rfind("sockets-eth0-10G-2", 0) == 0)
      host.interfaces.erase(host.interfaces.begin() + 2);
    if (file.rfind("sockets-rdma0-100G-2", 0) == 0)
      host.interfaces.erase(host.interfaces.begin() + 1);
  }
  return input;
}

/// NCCL's channel c sends over the NIC of search channel c mod n.
std::vector<int> measured_map(const Value& run) {
  const Value::Array& search = run.find("graphs")->find("ring")->find("channels")->as_array();
  const std::int64_t count = run.find("comm")->find("collChannels")->as_integer();
  std::vector<int> devices;
  for (std::int64_t c = 0; c < count; ++c) {
    const Value& channel = search[static_cast<std::size_t>(c) % search.size()];
    devices.push_back(static_cast<int>(channel.find("netDev")->as_array()[1].as_integer()));
  }
  return devices;
}

TEST(CaseMachine, ChannelsAsNcclsGraphCode) {
  const std::filesystem::path folder =
      std::filesystem::path(BUSBW_SHARED_DIR) / "oracle" / "case-machine";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "the runs of NCCL's graph code are not beside this tree";
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json")
      files.push_back(entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  ASSERT_GE(files.size(), 16U);
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const std::size_t at = file.rfind("nccl-") + 5;
    const auto version = parse_version(file.substr(at, file.rfind(".json") - at));
    ASSERT_TRUE(version.has_value());
    Problems problems;
    const Value run = json::parse(read_file((folder / file).string()), file, problems);
    ASSERT_TRUE(problems.empty());
    EXPECT_EQ(channel_map(select(input_of(file, *version))), measured_map(run));
  }
}

}  // namespace
}  // namespace busbw::nccl
