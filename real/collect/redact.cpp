// See redact.h. An allow-list for names, patterns for values: a value of an allowed variable may
// still hold a secret that somebody put there.
#include "real/collect/redact.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw::real::collect {
namespace {

constexpr std::array<std::string_view, 17> kPrefixes = {
    "NCCL_", "RCCL_",  "UCX_", "UCC_",  "OMPI_",  "FI_",  "TORCH_NCCL_", "TORCH_DISTRIBUTED_",
    "HSA_",  "RDMAV_", "IBV_", "MLX5_", "I_MPI_", "MV2_", "NVSHMEM_",    "GLOO_",
    "SHARP_"};

constexpr std::array<std::string_view, 49> kNames = {"CUDA_VISIBLE_DEVICES",
                                                     "CUDA_DEVICE_ORDER",
                                                     "CUDA_DEVICE_MAX_CONNECTIONS",
                                                     "CUDA_LAUNCH_BLOCKING",
                                                     "NVIDIA_VISIBLE_DEVICES",
                                                     "NVIDIA_DRIVER_CAPABILITIES",
                                                     "ROCR_VISIBLE_DEVICES",
                                                     "HIP_VISIBLE_DEVICES",
                                                     "TP_SOCKET_IFNAME",
                                                     "MASTER_ADDR",
                                                     "MASTER_PORT",
                                                     "RANK",
                                                     "WORLD_SIZE",
                                                     "LOCAL_RANK",
                                                     "LOCAL_WORLD_SIZE",
                                                     "GROUP_RANK",
                                                     "NODE_RANK",
                                                     "OMP_NUM_THREADS",
                                                     "LD_LIBRARY_PATH",
                                                     "SLURM_PROCID",
                                                     "SLURM_LOCALID",
                                                     "SLURM_NODEID",
                                                     "SLURM_NNODES",
                                                     "SLURM_JOB_NUM_NODES",
                                                     "SLURM_NTASKS",
                                                     "SLURM_NPROCS",
                                                     "SLURM_NTASKS_PER_NODE",
                                                     "SLURM_TASKS_PER_NODE",
                                                     "SLURM_STEP_NUM_TASKS",
                                                     "SLURM_STEP_NUM_NODES",
                                                     "SLURM_STEP_TASKS_PER_NODE",
                                                     "SLURM_JOB_NODELIST",
                                                     "SLURM_STEP_NODELIST",
                                                     "SLURM_NODELIST",
                                                     "SLURMD_NODENAME",
                                                     "SLURM_TOPOLOGY_ADDR",
                                                     "SLURM_TOPOLOGY_ADDR_PATTERN",
                                                     "SLURM_GPUS",
                                                     "SLURM_GPUS_ON_NODE",
                                                     "SLURM_GPUS_PER_NODE",
                                                     "SLURM_GPUS_PER_TASK",
                                                     "SLURM_STEP_GPUS",
                                                     "SLURM_JOB_GPUS",
                                                     "SLURM_CPU_BIND",
                                                     "SLURM_CPUS_PER_TASK",
                                                     "SLURM_CPUS_ON_NODE",
                                                     "SLURM_GPU_BIND",
                                                     "SLURM_MPI_TYPE",
                                                     "SLURM_DISTRIBUTION"};

constexpr std::array<std::string_view, 9> kSecretWords = {
    "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "API_KEY", "APIKEY", "PRIVATE", "USER", "COOKIE"};

constexpr const char* kRemoved = "<removed>";

/// Digits, small and large letters together, and long: nothing that the network stack prints looks
/// so but GUIDs and hashes, which have hexadecimal digits alone.
bool looks_like_token(std::string_view word) {
  constexpr std::size_t kShortest = 24;
  if (word.size() < kShortest)
    return false;
  const auto has = [&](int (*kind)(int)) {
    return std::any_of(word.begin(), word.end(),
                       [&](char c) { return kind(static_cast<unsigned char>(c)) != 0; });
  };
  const bool hexadecimal = word.find_first_not_of("0123456789abcdefABCDEF") == word.npos;
  return hexadecimal || (has(std::isdigit) && has(std::islower) && has(std::isupper));
}

bool of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '+';
}

bool ends_value(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("'\",;&").find(c) != std::string_view::npos;
}

/// Prefixes by which well-known services mark their tokens.
bool marked_as_token(std::string_view word) {
  constexpr std::array<std::string_view, 12> kMarks = {"hf_",    "ghp_",  "gho_",  "ghs_",
                                                       "glpat-", "xoxa-", "xoxb-", "xoxp-",
                                                       "sk-",    "AKIA",  "ASIA",  "eyJ"};
  constexpr std::size_t kShortest = 16;
  return word.size() >= kShortest &&
         std::any_of(kMarks.begin(), kMarks.end(),
                     [&](std::string_view mark) { return word.starts_with(mark); });
}

/// Replaces words of token letters that look like one.
std::string without_tokens(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && of_word(text[end]))
      ++end;
    const std::string_view word = std::string_view(text).substr(at, end - at);
    if (looks_like_token(word) || marked_as_token(word)) {
      result += kRemoved;
    } else {
      result += word;
    }
    if (end < text.size())
      result += text[end];
    at = end + 1;
  }
  return result;
}

/// "/home/somebody/lib" -> "~/lib".
std::string without_homes(std::string line) {
  struct Place {
    std::string_view start;
    bool named;  // a name follows
  };
  for (const Place& place :
       {Place{"/home/", true}, Place{"/Users/", true}, Place{"/root", false}}) {
    for (std::size_t at = line.find(place.start); at != std::string::npos;
         at = line.find(place.start, at + 1)) {
      std::size_t end = at + place.start.size();
      while (place.named && end < line.size() && line[end] != '/' && line[end] != ':' &&
             !ends_value(line[end]))
        ++end;
      const bool whole =
          end == line.size() || line[end] == '/' || line[end] == ':' || ends_value(line[end]);
      const bool begins = at == 0 || !of_word(line[at - 1]);
      if (whole && begins)
        line.replace(at, end - at, "~");
    }
  }
  return line;
}

/// "password: x" and "API_KEY=x" -> with "<removed>" in the place of x.
std::string without_settings(std::string line) {
  for (const char* key : {"passw", "passphrase", "secret", "token", "api_key", "apikey"}) {
    for (std::size_t at = lower(line).find(key); at != std::string::npos;
         at = lower(line).find(key, at + 1)) {
      std::size_t value = at;
      while (value < line.size() && of_word(line[value]))
        ++value;
      while (value < line.size() && line[value] == ' ')
        ++value;
      if (value >= line.size() || (line[value] != '=' && line[value] != ':'))
        continue;
      ++value;
      while (value < line.size() && line[value] == ' ')
        ++value;
      std::size_t end = value;
      while (end < line.size() && !ends_value(line[end]))
        ++end;
      if (end > value)
        line.replace(value, end - value, kRemoved);
    }
  }
  return line;
}

/// "https://me:secret@host" -> "https://<removed>@host".
std::string without_credentials(std::string line) {
  for (std::size_t at = line.find("://"); at != std::string::npos; at = line.find("://", at + 1)) {
    const std::size_t start = at + 3;
    std::size_t end = start;
    while (end < line.size() && line[end] != '/' && !ends_value(line[end]))
      ++end;
    const std::size_t sign = line.rfind('@', end);
    const std::size_t colon = line.find(':', start);
    if (sign != std::string::npos && sign > start && colon < sign)
      line.replace(start, sign - start, kRemoved);
  }
  return line;
}

}  // namespace

bool may_leave(const std::string& variable) {
  const bool listed = std::find(kNames.begin(), kNames.end(), variable) != kNames.end() ||
                      std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](std::string_view prefix) {
                        return variable.starts_with(prefix);
                      });
  return listed && std::none_of(kSecretWords.begin(), kSecretWords.end(), [&](auto word) {
           return variable.find(word) != std::string::npos;
         });
}

std::string environment_text(const std::map<std::string, std::string>& environment) {
  std::string text;
  for (const auto& [name, value] : environment) {
    if (!may_leave(name))
      continue;
    std::string line = value;
    std::replace(line.begin(), line.end(), '\n', ' ');
    text += fmt::format("{}={}\n", name, line);
  }
  return redacted(text);
}

std::string redacted(const std::string& text) {
  constexpr std::size_t kLongest = 8192;  // of a line; no tool prints a longer one
  std::string result;
  for (const std::string_view line : split_lines(text)) {
    result += without_tokens(without_settings(
        without_credentials(without_homes(std::string(line.substr(0, kLongest))))));
    result += '\n';
  }
  return result;
}

std::string without_serials(const std::string& text) {
  std::string result;
  constexpr std::size_t kNone = std::string_view::npos;
  std::size_t processes = kNone;  // indentation of the heading under which they stand
  for (const std::string_view line : split_lines(text)) {
    const std::string_view words = trim(line);
    const std::size_t indent = line.find_first_not_of(" \t");
    if (indent <= processes)
      processes = kNone;
    if (words.starts_with("Processes"))
      processes = indent;
    const std::string small = lower(words);
    const bool identity = small.find("serial") != std::string::npos ||
                          small.find("uuid") != std::string::npos ||
                          small.find("board id") != std::string::npos || small.starts_with("[v");
    if (processes == kNone && !identity)
      result += std::string(line) + "\n";
  }
  return result;
}

}  // namespace busbw::real::collect
