// Which of the processes of its host this one is, as any launcher says it.
// Sources: PyTorch torchrun, Open MPI, Slurm, Intel MPI and MVAPICH2 documentation (environment).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace busbw::real {

/// The number of this process among those of its host; nothing when no launcher says it. Of the
/// processes on a host one has 0.
std::optional<std::int32_t> local_rank(const std::map<std::string, std::string>& environment);

/// A launcher started this process; its variables may be incomplete.
bool is_launched(const std::map<std::string, std::string>& environment);

}  // namespace busbw::real
