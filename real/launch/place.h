// Which rank this process is, from the variables of whoever started it.
//
// Understood, the first that is complete wins: RANK and WORLD_SIZE (torchrun, and busbw's own
// launcher), Open MPI's OMPI_COMM_WORLD_*, Slurm's SLURM_PROCID of a step that srun started. The
// meeting point is MASTER_ADDR and MASTER_PORT; where it is not set it follows from the job: Open
// MPI on one host 127.0.0.1, Slurm the first host of the step, and a port from the job's number.
// Sources: PyTorch torchrun documentation, Open MPI FAQ "running" (environment variables), Slurm
// srun manual (output environment variables).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace busbw::real {

struct Place {
  std::int32_t rank = 0;
  std::int32_t size = 1;
  std::string master_address;  // where rank 0 listens
  std::uint16_t master_port = 0;
  int listening = -1;    // rank 0 of a local launch: a listening socket that it inherits
  std::string launcher;  // "torchrun's variables", "Open MPI", "Slurm"
};

/// Nothing when no launcher's variables are set. Throws InputError with every variable that is
/// missing, no number or out of range.
std::optional<Place> place_from_environment(const std::map<std::string, std::string>& environment);

/// The first host of a Slurm list: "node[03-05,9],gpu1" gives "node03".
std::string first_host(const std::string& list);

/// The environment of this process.
std::map<std::string, std::string> process_environment();

}  // namespace busbw::real
