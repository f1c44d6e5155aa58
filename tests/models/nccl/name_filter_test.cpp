// The list syntax of NCCL_SOCKET_IFNAME and NCCL_IB_HCA, with its traps.
#include "models/nccl/name_filter.h"

#include <gtest/gtest.h>

namespace busbw::nccl {
namespace {

struct Case {
  const char* filter;
  std::vector<std::string> names;
  std::vector<std::string> admitted;
};

TEST(NameFilter, AdmitsAsNcclDoes) {
  const std::vector<std::string> eth{"eth0", "eth1", "eth10", "lo"};
  const std::vector<Case> cases = {
      {"", eth, eth},
      {"eth", eth, {"eth0", "eth1", "eth10"}},
      {"eth1", eth, {"eth1", "eth10"}},  // a prefix, not a name
      {"=eth1", eth, {"eth1"}},
      {"=eth", eth, {}},
      {"^eth1", eth, {"eth0", "lo"}},
      {"^=eth1", eth, {"eth0", "eth10", "lo"}},
      {"lo,eth0", eth, {"eth0", "lo"}},  // kernel order decides, not the list's
      {"ETH", eth, {}},                  // case counts
      {"eth0,^lo", {"eth0", "lo", "^lo0"}, {"eth0", "^lo0"}},  // a mark inside is part of the name
      {"=^eth1", eth, {"eth1"}},  // exact, and the parser skips the '^'
      {"==eth1", eth, {"eth1"}},
      {"^^eth1", eth, {"eth0", "lo"}},
      {"eth0, lo", eth, {"eth0"}},  // the blank belongs to the name
      {",,eth0,", eth, {"eth0"}},
      {"eth0:7", eth, {"eth0"}},  // interfaces have no port
      {"^", eth, {}},             // an empty list matches everything, and is then negated
      {":7", eth, eth},
  };
  for (const Case& c : cases) {
    const NameFilter filter(c.filter, 16);
    std::vector<std::string> admitted;
    for (const std::string& name : c.names) {
      if (filter.admits(name))
        admitted.push_back(name);
    }
    EXPECT_EQ(admitted, c.admitted) << "filter '" << c.filter << "': " << filter.describe();
  }
}

TEST(NameFilter, PortsOfHcas) {
  EXPECT_TRUE(NameFilter("mlx5_0:1", 32).admits("mlx5_0", 1));
  EXPECT_FALSE(NameFilter("mlx5_0:1", 32).admits("mlx5_0", 2));
  EXPECT_TRUE(NameFilter("mlx5_0:", 32).admits("mlx5_0", 2));
  EXPECT_TRUE(
      NameFilter("mlx5_0:1:3:0", 32).admits("mlx5_0", 1));     // rail and plane are not filters
  EXPECT_TRUE(NameFilter("mlx5_1", 32).admits("mlx5_10", 1));  // the classic trap
  EXPECT_FALSE(NameFilter("^mlx5_1", 32).admits("mlx5_11", 1));
  EXPECT_TRUE(NameFilter("^mlx5_0:1", 32).admits("mlx5_0", 2));
}

TEST(NameFilter, ReadsOnlySoManyItems) {
  std::string text;
  for (int i = 0; i < 17; ++i)
    text += (i == 0 ? "x" : ",x") + std::to_string(100 + i);
  const NameFilter filter(text, 16);
  EXPECT_TRUE(filter.truncated());
  EXPECT_TRUE(filter.admits("x115"));
  EXPECT_FALSE(filter.admits("x116"));
  EXPECT_FALSE(NameFilter("a,b", 2).truncated());
}

TEST(NameFilter, DescribesItself) {
  EXPECT_EQ(NameFilter("eth0,rdma", 16).describe(), "only those that start with 'eth0' or 'rdma'");
  EXPECT_EQ(NameFilter("^=lo", 16).describe(), "every name but exactly 'lo'");
  EXPECT_EQ(NameFilter("mlx5_0:2", 16).describe(), "only those that start with 'mlx5_0' port 2");
  EXPECT_EQ(NameFilter("", 16).describe(), "every name");
}

}  // namespace
}  // namespace busbw::nccl
