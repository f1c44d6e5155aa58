// What may leave the machine.
#include "real/collect/redact.h"

#include <gtest/gtest.h>

#include "sim/core/random.h"

namespace busbw::real::collect {
namespace {

const std::string kRoot = "/root";  // the home of root

TEST(MayLeave, AnAllowListAndNoSecrets) {
  for (const char* name : {"NCCL_DEBUG", "NCCL_IB_HCA", "UCX_TLS", "OMPI_COMM_WORLD_RANK",
                           "SLURM_PROCID", "CUDA_VISIBLE_DEVICES",
                           "TORCH_NCCL_ASYNC_ERROR_HANDLING", "LD_LIBRARY_PATH", "FI_PROVIDER"})
    EXPECT_TRUE(may_leave(name)) << name;
  for (const char* name : {"HOME", "USER", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY",
                           "SLURM_JOB_USER", "SLURM_JOB_ACCOUNT", "NCCL_SECRET_TOKEN", "PATH",
                           "OMPI_MCA_x_password_PASSWORD", "SSH_CONNECTION", "nccl_debug", ""})
    EXPECT_FALSE(may_leave(name)) << name;
}

TEST(EnvironmentText, SortedAndRedacted) {
  EXPECT_EQ(environment_text({{"NCCL_DEBUG", "INFO"},
                              {"HF_TOKEN", "hf_abcdefghijklmnopqrstuvwxyz"},
                              {"LD_LIBRARY_PATH", "/home/alice/lib:/usr/lib:" + kRoot + "/x"},
                              {"NCCL_TOPO_FILE", "two\nlines"},
                              {"NCCL_NET_PLUGIN", "Zk3x9QwLp2Vb7Nm4Rt6Ys8Df1"}}),
            "LD_LIBRARY_PATH=~/lib:/usr/lib:~/x\n"
            "NCCL_DEBUG=INFO\n"
            "NCCL_NET_PLUGIN=<removed>\n"
            "NCCL_TOPO_FILE=two lines\n");
}

TEST(Redacted, HomesTokensAndPasswords) {
  const auto check = [](const std::string& before, const std::string& after) {
    EXPECT_EQ(redacted(before), after + "\n");
  };
  check("open /home/bob/.nccl.conf failed", "open ~/.nccl.conf failed");
  check("/Users/eve", "~");
  check("'" + kRoot + "/run.sh' /rootfs/x", "'~/run.sh' /rootfs/x");
  check("login password: hunter2, next", "login password: <removed>, next");
  check("api_key=abc&x=1", "api_key=<removed>&x=1");
  check("MY_SECRET_THING = value", "MY_SECRET_THING = <removed>");
  check("https://me:pw@host/path", "https://<removed>@host/path");
  check("hf_0123456789abcdefghij", "<removed>");
  check("key AKIAIOSFODNN7EXAMPLE end", "key <removed> end");
  check("0123456789abcdef0123456789abcdef", "<removed>");
}

// What the network stack prints stays: GUIDs, GIDs, hardware addresses, host names, versions.
TEST(Redacted, FactsStay) {
  for (const char* line :
       {"\tNode GUID: 0x98039b0300abcd10",
        "\tdefault gid:\t fe80:0000:0000:0000:9803:9b03:00ab:cd10",
        "    link/infiniband 00:00:10:29:fe:80:00:00:00:00:00:00:98:03:9b:03:00:ab:cd:10 brd 00:ff",
        "MASTER_ADDR=nccl-test-worker-7d9f8b6c5d-x2x4z.default.svc",
        "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1", "GPU0\t X \tNV18\tPIX\t0-55,112-167\t0\t\tN/A",
        "SLURM_JOB_NODELIST=node[001-128],gpu07", "NCCL_SOCKET_IFNAME=^docker,lo,virbr",
        "pcieport 0000:17:01.0: AER: Corrected error received",
        "LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu:/opt/amazon/efa/lib64"})
    EXPECT_EQ(redacted(line), line + std::string("\n"));
}

TEST(Redacted, LongAndOddTextsEndSoon) {
  EXPECT_LE(redacted(std::string(1'000'000, 'a')).size(), 8193U);
  EXPECT_LE(redacted("token=" + std::string(100'000, 'b')).size(), 8193U);
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    static const std::string kParts[] = {
        "/home/", "/root", "://", "@",    ":", "token", "=",
        " ",      "\n",    "hf_", "\xff", "a", "9Z",    std::string(1, '\0')};
    const std::uint64_t count = random.below(40);
    for (std::uint64_t part = 0; part < count; ++part)
      text += kParts[random.below(std::size(kParts))];
    const std::string once = redacted(text);
    EXPECT_LE(once.size(), text.size() * 9 + 10);
  }
}

TEST(WithoutSerials, OfNvidiaSmiAndLspci) {
  EXPECT_EQ(without_serials("GPU 00000000:17:00.0\n"
                            "    Product Name                          : NVIDIA H100\n"
                            "    Serial Number                         : 1650000000000\n"
                            "    GPU UUID                              : GPU-01234567\n"
                            "    Processes\n"
                            "        GPU instance ID                   : N/A\n"
                            "        Name                              : python\n"
                            "GPU 00000000:18:00.0\n"
                            "\tCapabilities: [100 v1] Device Serial Number 48-b0-2d\n"
                            "\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x16\n"
                            "\t\t\t[SN] Serial number: MT2233\n"),
            "GPU 00000000:17:00.0\n"
            "    Product Name                          : NVIDIA H100\n"
            "GPU 00000000:18:00.0\n"
            "\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x16\n");
}

}  // namespace
}  // namespace busbw::real::collect
