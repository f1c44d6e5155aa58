// Starts the ranks of a task: each is the program busbw-rank beside this one.
//
// Without a launcher they are processes of this host. Under mpirun, srun or torchrun this process
// is one rank among others and becomes busbw-rank (exec), with the launcher's variables as they
// are. The task travels as an anonymous file that the ranks inherit.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "real/base/system.h"
#include "real/launch/place.h"
#include "real/measure/task.h"
#include "tools/console.h"

namespace busbw::tools {

/// This process's place if a launcher started it. Throws InputError for incomplete variables.
std::optional<real::Place> launched_place();

/// Runs `task` on `ranks` processes of this host and returns the exit code: the worst of theirs,
/// 128 + n after signal n. Prints every failure once. Throws SystemError when they cannot start.
int run_here(const real::Task& task, std::int32_t ranks, Console& console);

/// A file without a name that ranks inherit: what they write is read here. Its path names it in
/// this process and in theirs.
class SharedFile {
 public:
  explicit SharedFile(const char* name, const std::string& text = "");
  [[nodiscard]] std::string path() const;

 private:
  real::Descriptor file_;
};

/// Becomes a rank, with `variables` added to the environment. Returns only by throwing.
[[noreturn]] void become_rank(const real::Task& task,
                              const std::map<std::string, std::string>& variables);

}  // namespace busbw::tools
