// Launchers' variables.
#include "real/launch/place.h"

#include <gtest/gtest.h>

#include "sim/core/errors.h"

namespace busbw::real {
namespace {

using Environment = std::map<std::string, std::string>;

std::string problems(const Environment& environment) {
  try {
    static_cast<void>(place_from_environment(environment));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Place, NoneWithoutALauncher) {
  EXPECT_FALSE(place_from_environment({{"HOME", "/"}, {"RANK", "3"}}));
}

TEST(Place, Torchrun) {
  const auto place = place_from_environment({{"RANK", "3"},
                                             {"WORLD_SIZE", "8"},
                                             {"LOCAL_RANK", "1"},
                                             {"MASTER_ADDR", "node1"},
                                             {"MASTER_PORT", "29500"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 3);
  EXPECT_EQ(place->size, 8);
  EXPECT_EQ(place->master_address, "node1");
  EXPECT_EQ(place->master_port, 29500);
  EXPECT_EQ(place->listening, -1);
  EXPECT_EQ(place->launcher, "torchrun's variables");
}

TEST(Place, EveryProblemAtOnce) {
  EXPECT_EQ(problems({{"RANK", "8"}, {"WORLD_SIZE", "8"}, {"MASTER_PORT", "x"}}),
            "error: RANK=8 with WORLD_SIZE=8 (started by torchrun's variables)\n"
            "error: MASTER_ADDR is not set: the host of rank 0 (started by torchrun's variables)\n"
            "error: MASTER_PORT='x'; allowed: 1 to 65535 (started by torchrun's variables)");
}

TEST(Place, OpenMpiOnOneHost) {
  Environment environment = {{"OMPI_COMM_WORLD_RANK", "1"},
                             {"OMPI_COMM_WORLD_SIZE", "4"},
                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                             {"OMPI_MCA_ess_base_jobid", "1234567"}};
  const auto place = place_from_environment(environment);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 1);
  EXPECT_EQ(place->master_address, "127.0.0.1");
  EXPECT_GE(place->master_port, 10000);
  EXPECT_LT(place->master_port, 30000);
  // All ranks of a job agree, another job meets elsewhere.
  environment["OMPI_COMM_WORLD_RANK"] = "3";
  EXPECT_EQ(place_from_environment(environment)->master_port, place->master_port);
  environment["OMPI_MCA_ess_base_jobid"] = "1234568";
  EXPECT_NE(place_from_environment(environment)->master_port, place->master_port);
}

TEST(Place, OpenMpiOnSeveralHostsNeedsAnAddress) {
  EXPECT_EQ(problems({{"OMPI_COMM_WORLD_RANK", "1"},
                      {"OMPI_COMM_WORLD_SIZE", "4"},
                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                      {"PMIX_NAMESPACE", "a"}}),
            "error: MASTER_ADDR is not set: the host of rank 0, as in mpirun -x MASTER_ADDR=HOST "
            "(started by Open MPI)");
}

TEST(Place, SlurmStep) {
  const auto place = place_from_environment({{"SLURM_PROCID", "5"},
                                             {"SLURM_STEP_NUM_TASKS", "16"},
                                             {"SLURM_STEP_NODELIST", "gpu[07-08]"},
                                             {"SLURM_JOB_ID", "42"},
                                             {"SLURM_STEP_ID", "1"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 5);
  EXPECT_EQ(place->size, 16);
  EXPECT_EQ(place->master_address, "gpu07");
  EXPECT_EQ(place->launcher, "Slurm");
}

TEST(Place, ABatchScriptIsNoRank) {
  EXPECT_FALSE(place_from_environment({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}}));
}

TEST(FirstHost, OfSlurmLists) {
  EXPECT_EQ(first_host("node1"), "node1");
  EXPECT_EQ(first_host("node1,node2"), "node1");
  EXPECT_EQ(first_host("node[03-05,9],gpu1"), "node03");
  EXPECT_EQ(first_host("node[7]"), "node7");
  EXPECT_EQ(first_host("rack[1-2]n0,x[3-4]"), "rack1n0");
}

}  // namespace
}  // namespace busbw::real
