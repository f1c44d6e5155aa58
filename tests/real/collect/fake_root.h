// A small tree of sysfs and procfs in a temporary folder.
#pragma once
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "real/collect/root.h"

namespace busbw::real::collect {

class FakeRoot : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("root-") + test->test_suite_name() + "-" + test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  /// A link as sysfs has them: relative to its own place.
  void link(const std::string& path, const std::string& target) {
    const std::filesystem::path file = folder_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::create_directories(folder_.string() + target);
    std::filesystem::create_symlink(
        std::filesystem::relative(folder_.string() + target, file.parent_path()), file);
  }
  [[nodiscard]] Root root() const { return Root(folder_.string()); }

  /// An HCA of one port as mlx5 shows it, with its PCI device.
  void add_hca(const std::string& name, const std::string& address) {
    const std::string device = "/sys/devices/pci0000:00/" + address;
    write(device + "/vendor", "0x15b3\n");
    write(device + "/device", "0x1021\n");
    link("/sys/class/infiniband/" + name + "/device", device);
    const std::string folder = "/sys/class/infiniband/" + name;
    write(folder + "/hca_type", "MT4129\n");
    write(folder + "/fw_ver", "28.43.2026\n");
    write(folder + "/hw_rev", "0\n");
    write(folder + "/board_id", "MT_0000000838\n");
    write(folder + "/node_guid", "9803:9b03:00ab:cd10\n");
    write(folder + "/sys_image_guid", "9803:9b03:00ab:cd10\n");
    const std::string port = folder + "/ports/1";
    write(port + "/state", "4: ACTIVE\n");
    write(port + "/phys_state", "5: LinkUp\n");
    write(port + "/rate", "400 Gb/sec (4X NDR)\n");
    write(port + "/lid", "0x1c\n");
    write(port + "/lid_mask_count", "0\n");
    write(port + "/sm_lid", "0x1\n");
    write(port + "/cap_mask", "0xa751e848\n");
    write(port + "/link_layer", "InfiniBand\n");
    write(port + "/gids/0", "fe80:0000:0000:0000:9803:9b03:00ab:cd10\n");
    write(port + "/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000\n");
    write(port + "/gid_attrs/types/0", "IB/RoCE v1\n");
    write(port + "/pkeys/0", "0xffff\n");
    write(port + "/pkeys/1", "0x0000\n");
  }

  std::filesystem::path folder_;
};

}  // namespace busbw::real::collect
