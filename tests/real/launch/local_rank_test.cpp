// The number of a process on its host, by the variables of launchers.
#include "real/launch/local_rank.h"

#include <gtest/gtest.h>

namespace busbw::real {
namespace {

TEST(LocalRank, ByAnyLauncher) {
  EXPECT_EQ(local_rank({{"OMPI_COMM_WORLD_LOCAL_RANK", "3"}}), 3);
  EXPECT_EQ(local_rank({{"SLURM_LOCALID", "0"}}), 0);
  EXPECT_EQ(local_rank({{"LOCAL_RANK", "1"}, {"SLURM_LOCALID", "0"}}), 1);
  EXPECT_EQ(local_rank({{"MPI_LOCALRANKID", "-1"}}), std::nullopt);
  EXPECT_EQ(local_rank({{"LOCAL_RANK", ""}}), std::nullopt);
  EXPECT_TRUE(is_launched({{"SLURM_LOCALID", "2"}}));
  EXPECT_TRUE(is_launched({{"PMI_RANK", "7"}}));
  EXPECT_FALSE(is_launched({{"SLURM_JOB_ID", "7"}}));
}

}  // namespace
}  // namespace busbw::real
