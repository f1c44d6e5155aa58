// What a fix does to an environment, against lines written by hand.
#include "models/diagnosis/fix.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace busbw::diagnosis {
namespace {

using Environment = std::map<std::string, std::string>;

TEST(Fix, SetsWhatALineExports) {
  Environment environment{{"NCCL_DEBUG", "INFO"}, {"NCCL_NSOCKS_PERTHREAD", "1"}};
  EXPECT_TRUE(apply_fix({"export NCCL_SOCKET_NTHREADS=4 NCCL_NSOCKS_PERTHREAD=4"}, environment));
  EXPECT_EQ(environment, (Environment{{"NCCL_DEBUG", "INFO"},
                                      {"NCCL_NSOCKS_PERTHREAD", "4"},
                                      {"NCCL_SOCKET_NTHREADS", "4"}}));
}

TEST(Fix, KeepsASignInTheValueAndLeavesTheRemarkOut) {
  Environment environment;
  EXPECT_TRUE(apply_fix({"  export NCCL_IB_HCA==mlx5_0   # a leading '=' asks for whole names"},
                        environment));
  EXPECT_EQ(environment, (Environment{{"NCCL_IB_HCA", "=mlx5_0"}}));
}

TEST(Fix, UnsetsEveryName) {
  Environment environment{{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "LL"}, {"NCCL_NET", "IB"}};
  EXPECT_TRUE(apply_fix({"unset NCCL_ALGO NCCL_PROTO NCCL_P2P_DISABLE"}, environment));
  EXPECT_EQ(environment, (Environment{{"NCCL_NET", "IB"}}));
}

TEST(Fix, TakesTheFirstLineThatSaysAValue) {
  Environment environment;
  EXPECT_TRUE(apply_fix({"systemctl start opensm", "export NCCL_SOCKET_IFNAME=<an interface>",
                         "export NCCL_NVLS_ENABLE=0", "export NCCL_CROSS_NIC=0"},
                        environment));
  EXPECT_EQ(environment, (Environment{{"NCCL_NVLS_ENABLE", "0"}}));
}

TEST(Fix, ChangesNothingWithoutSuchALine) {
  Environment environment{{"NCCL_ALGO", "Ring"}};
  EXPECT_FALSE(apply_fix({}, environment));
  EXPECT_FALSE(apply_fix({"", "# export NCCL_ALGO=Tree", "exports NCCL_ALGO=Tree",
                          "export NCCL_IB_TC=<DSCP of the lossless priority x 4>"},
                         environment));
  EXPECT_EQ(environment, (Environment{{"NCCL_ALGO", "Ring"}}));
}

}  // namespace
}  // namespace busbw::diagnosis
