// Addresses and release numbers.
#include "models/nccl/inventory.h"

#include <gtest/gtest.h>

#include "models/nccl/version.h"
#include "tests/models/nccl/build_input.h"

namespace busbw::nccl {
namespace {

using testing::address;

TEST(Address, ParsesAndPrints) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"10.0.0.1/24", "10.0.0.1"},
      {"127.0.0.1/8", "127.0.0.1"},
      {"::1/128", "::1"},
      {"::", "::"},
      {"fe80::1%eth0", "fe80::1%eth0"},
      {"2001:0db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},  // first of equal runs (RFC 5952)
      {"1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"},          // one zero group is not shortened
      {"::ffff:10.0.0.1", "::ffff:a00:1"},
      {"1::", "1::"},
  };
  for (const auto& [text, printed] : cases) {
    EXPECT_EQ(to_string(address(text)), printed) << text;
  }
  EXPECT_EQ(address("10.0.0.1/24").prefix_length, 24);
  EXPECT_EQ(address("10.0.0.1").prefix_length, 32);
  EXPECT_EQ(address("fd00::1").prefix_length, 128);
  EXPECT_TRUE(address("fe80::1/64").link_local);
  EXPECT_TRUE(address("127.1.2.3").loopback);
  EXPECT_TRUE(address("::1").loopback);
  EXPECT_FALSE(address("::2").loopback);
}

TEST(Address, RefusesOtherText) {
  for (const char* text :
       {"", "10.0.0", "10.0.0.256", "10.0.0.1/33", "10.0.0.1/", "10.0.0.1/x", "1.2.3.4.5",
        "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::1::2", ":::", "g::1", "12345::", "fe80::1/129",
        "fe80::1%", "10.0.0.1%eth0", "1:2:3:4:5:6:7:8::", "eth0"}) {
    EXPECT_FALSE(parse_address(text).has_value()) << text;
  }
}

TEST(Address, Subnets) {
  EXPECT_TRUE(same_subnet(address("10.0.0.1/24"), address("10.0.0.200")));
  EXPECT_FALSE(same_subnet(address("10.0.0.1/24"), address("10.0.1.1")));
  EXPECT_TRUE(same_subnet(address("10.0.0.1/23"), address("10.0.1.1")));
  EXPECT_TRUE(same_subnet(address("10.0.0.1/31"), address("10.0.0.0")));
  EXPECT_FALSE(same_subnet(address("10.0.0.1/32"), address("10.0.0.0")));
  EXPECT_TRUE(same_subnet(address("10.0.0.1/0"), address("192.168.0.1")));
  EXPECT_TRUE(same_subnet(address("fd00::1/64"), address("fd00::ffff")));
  EXPECT_FALSE(same_subnet(address("fd00::1/64"), address("10.0.0.1")));
}

TEST(Version, ParsesReleases) {
  EXPECT_EQ(parse_version("2.28.9"), (Version{2, 28, 9}));
  EXPECT_EQ(parse_version("2.28.9+cuda12.9"), (Version{2, 28, 9}));
  EXPECT_EQ(parse_version("2.18.1-1"), (Version{2, 18, 1}));
  EXPECT_EQ(parse_version("2.18"), (Version{2, 18, 6}));  // the newest of its series
  EXPECT_EQ(parse_version("2.99"), (Version{2, 99, 0}));
  for (const char* text : {"", "2", "2.x", "2.18.", "2.18.1.1", "v2.18", "2.-1", "2.18.1000"}) {
    EXPECT_FALSE(parse_version(text).has_value()) << text;
  }
  EXPECT_EQ(to_string(Version{2, 18, 1}), "2.18.1");
  EXPECT_LT((Version{2, 9, 9}), (Version{2, 18, 1}));
}

}  // namespace
}  // namespace busbw::nccl
