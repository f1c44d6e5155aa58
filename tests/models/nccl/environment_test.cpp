// NCCL's reading of numbers, and the warnings about what it passes over in silence.
#include "models/nccl/environment.h"

#include <gtest/gtest.h>

#include "models/nccl/variables.h"

namespace busbw::nccl {
namespace {

TEST(Environment, NumbersAsStrtollReadsThem) {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"1", 1},   {"0", 0},        {"true", 0}, {"yes", 0}, {"auto", 0},  {"0x10", 16},
      {"010", 8}, {"1 second", 1}, {" 7", 7},   {"-2", -2}, {"12abc", 12}};
  for (const auto& [value, number] : cases) {
    EXPECT_EQ(numeric({{"NCCL_IB_DISABLE", value}}, "NCCL_IB_DISABLE", 5), number) << value;
  }
  EXPECT_EQ(numeric({}, "NCCL_IB_DISABLE", 5), 5);
  EXPECT_EQ(numeric({{"NCCL_IB_DISABLE", ""}}, "NCCL_IB_DISABLE", 5), 5);
  EXPECT_EQ(numeric({{"NCCL_IB_DISABLE", "99999999999999999999"}}, "NCCL_IB_DISABLE", 5), 5);
  EXPECT_EQ(text({{"NCCL_NET", ""}}, "NCCL_NET"), "");
  EXPECT_EQ(text({}, "NCCL_NET"), std::nullopt);
}

std::vector<std::string> warnings(const Environment& environment, Version version = kNewest) {
  return environment_warnings(environment, version);
}

TEST(Environment, WarnsWholeSentences) {
  using List = std::vector<std::string>;
  EXPECT_EQ(warnings({{"NCCL_SOCKET_IFNMAE", "eth0"}}),
            List{"NCCL_SOCKET_IFNMAE is no variable of NCCL; did you mean 'NCCL_SOCKET_IFNAME'?"});
  EXPECT_EQ(warnings({{"NCCL_TIMEOUT", "60"}}),
            List{"NCCL_TIMEOUT is no variable of NCCL: PyTorch's process-group time-out is meant "
                 "(timeout= of "
                 "init_process_group), or NCCL_IB_TIMEOUT"});
  EXPECT_EQ(warnings({{"NCCL_IB_DISABLE", "true"}}),
            List{"NCCL_IB_DISABLE='true' is no number: NCCL reads 0"});
  EXPECT_EQ(warnings({{"NCCL_IB_TIMEOUT", "22s"}}),
            List{"NCCL_IB_TIMEOUT='22s' is read as 22: 's' is dropped"});
  EXPECT_EQ(warnings({{"NCCL_IB_TIMEOUT", "022"}}),
            List{"NCCL_IB_TIMEOUT=022 is read as octal: 18"});
  EXPECT_EQ(warnings({{"NCCL_BUFFSIZE", "99999999999999999999"}}),
            List{"NCCL_BUFFSIZE=99999999999999999999 is out of range: NCCL takes the default"});
  EXPECT_EQ(warnings({{"NCCL_P2P_LEVEL", "sys"}}),
            List{"NCCL_P2P_LEVEL='sys' is ignored: upper case is required, 'SYS'"});
  EXPECT_EQ(warnings({{"NCCL_NET_GDR_LEVEL", "near"}}).front().substr(0, 57),
            "NCCL_NET_GDR_LEVEL='near' is ignored: expected 'LOC', 'PO");
  EXPECT_EQ(warnings({{"NCCL_SOCKET_IFNAME", "e"}}),
            List{"NCCL_SOCKET_IFNAME='e' has fewer than two characters and counts as unset"});
  EXPECT_EQ(warnings({{"NCCL_SOCKET_IFNAME", "eth0, lo"}}),
            List{"NCCL_SOCKET_IFNAME: the item ' lo' holds a blank and can match nothing"});
  EXPECT_EQ(warnings({{"NCCL_IB_HCA", "mlx5_0,^mlx5_1"}}),
            List{"NCCL_IB_HCA: '^' in the item '^mlx5_1' is part of the name, marks count only at "
                 "the start of the "
                 "list"});
  EXPECT_EQ(warnings({{"NCCL_SOCKET_FAMILY", "inet"}}),
            List{"NCCL_SOCKET_FAMILY='inet' restricts nothing: only AF_INET and AF_INET6 count"});
  EXPECT_EQ(warnings({{"NCCL_NETDEVS_POLICY", "ALL"}}, Version{2, 18, 6}),
            List{"NCCL_NETDEVS_POLICY exists from 2.28.3 on; 2.18.6 does not read it"});
  EXPECT_EQ(warnings({{"NCCL_WORK_FIFO_DEPTH", "1024"}}, Version{2, 22, 3}),
            List{"NCCL_WORK_FIFO_DEPTH exists up to 2.21.5; 2.22.3 does not read it"});
  EXPECT_TRUE(warnings({{"NCCL_WORK_FIFO_DEPTH", "1024"}}, Version{2, 21, 5}).empty());
}

TEST(Environment, KeepsQuietAboutGoodOnes) {
  EXPECT_TRUE(warnings({{"NCCL_SOCKET_IFNAME", "^=lo,docker0"},
                        {"NCCL_IB_HCA", "=mlx5_0:1"},
                        {"NCCL_P2P_LEVEL", "SYS"},
                        {"NCCL_NET_GDR_LEVEL", "3"},
                        {"NCCL_IB_DISABLE", "0x1"},
                        {"NCCL_DEBUG", "INFO"},
                        {"PATH", "/bin"},
                        {"TORCH_NCCL_BLOCKING_WAIT", "yes"}})
                  .empty());
}

TEST(Variables, TableIsSortedAndComplete) {
  const std::vector<Variable>& all = variables();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) {
      EXPECT_LT(all[i - 1].name, all[i].name);
    }
    EXPECT_EQ(all[i].name.rfind("NCCL_", 0), 0U) << all[i].name;
    EXPECT_FALSE(all[i].meaning.empty()) << all[i].name;
    EXPECT_FALSE(all[i].initial.empty()) << all[i].name;
    EXPECT_EQ(find_variable(all[i].name), &all[i]);
  }
  EXPECT_EQ(find_variable("NCCL_NOTHING"), nullptr);
}

}  // namespace
}  // namespace busbw::nccl
