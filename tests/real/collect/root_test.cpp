// Reading a tree: what is absent, denied, large, or leads outside.
#include "real/collect/root.h"

#include <unistd.h>

#include "tests/real/collect/fake_root.h"

namespace busbw::real::collect {
namespace {

class RootTest : public FakeRoot {};

TEST_F(RootTest, ReadsFilesFoldersAndLinks) {
  write("/sys/class/net/eth0/mtu", "1500\n");
  write("/sys/class/net/eth1/mtu", " 9000 \n");
  link("/sys/class/net/eth0/device", "/sys/devices/pci0000:00/0000:00:02.0");
  const Root tree = root();
  EXPECT_FALSE(tree.is_machine());
  EXPECT_EQ(tree.line("/sys/class/net/eth1/mtu"), "9000");
  EXPECT_EQ(tree.names("/sys/class/net"), (std::vector<std::string>{"eth0", "eth1"}));
  EXPECT_EQ(tree.target("/sys/class/net/eth0/device"), "/sys/devices/pci0000:00/0000:00:02.0");
  EXPECT_TRUE(tree.has("/sys/class"));
}

TEST_F(RootTest, WhatIsAbsentIsEmpty) {
  const Root tree = root();
  EXPECT_FALSE(tree.text("/none").has_value());
  EXPECT_EQ(tree.line("/none"), "");
  EXPECT_TRUE(tree.names("/none").empty());
  EXPECT_FALSE(tree.has("/none"));
  EXPECT_TRUE(tree.denied().empty());
  EXPECT_FALSE(tree.text("/").has_value());  // a folder
}

TEST_F(RootTest, StaysInsideOfTheTree) {
  std::filesystem::create_symlink("/etc", folder_ / "etc");
  std::filesystem::create_symlink("loop", folder_ / "loop");
  const Root tree = root();
  EXPECT_FALSE(tree.text("/etc/passwd").has_value());
  EXPECT_TRUE(tree.names("/etc").empty());
  EXPECT_FALSE(tree.text("/loop").has_value());
  // A sibling whose name only begins like the tree's is outside.
  std::filesystem::create_directories(folder_.string() + "-other");
  std::ofstream(folder_.string() + "-other/file") << "x";
  std::filesystem::create_symlink(folder_.string() + "-other", folder_ / "other");
  EXPECT_FALSE(tree.text("/other/file").has_value());
  std::filesystem::remove_all(folder_.string() + "-other");
}

TEST_F(RootTest, ReadsNoMoreThanAsked) {
  write("/large", std::string(300'000, 'x'));
  EXPECT_EQ(root().text("/large", 100)->size(), 100U);
  EXPECT_EQ(root().text("/large")->size(), 300'000U);
}

TEST_F(RootTest, TellsWhatIsNotAllowed) {
  write("/secret", "x");
  std::filesystem::permissions(folder_, std::filesystem::perms(0755));
  std::filesystem::permissions(folder_ / "secret", std::filesystem::perms::none);
  const Root tree = root();
  constexpr ::uid_t kNobody = 65534;
  const bool privileged = ::geteuid() == 0;  // root may read everything
  if (privileged) {
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  const bool read = tree.text("/secret").has_value() || tree.text("/secret").has_value();
  if (privileged) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_FALSE(read);
  EXPECT_EQ(tree.denied(), std::vector<std::string>{"/secret"});
}

TEST(Root, TheMachineItself) {
  EXPECT_TRUE(Root("").is_machine());
  EXPECT_TRUE(Root("/").is_machine());
  EXPECT_TRUE(Root("").has("/proc/self/limits"));
}

}  // namespace
}  // namespace busbw::real::collect
