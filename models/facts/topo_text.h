// Reads the matrix of `nvidia-smi topo -m`: how GPUs and NICs of a host reach each other.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.h"

namespace busbw::facts {

/// What a cell says. Order = distance, nearest first, as nvidia-smi's legend has it.
enum class TopoLink { kSelf, kNvLink, kPix, kPxb, kPhb, kNode, kSys };

struct TopoCell {
  TopoLink link = TopoLink::kSelf;
  int nvlinks = 0;  // kNvLink: how many are bonded (NV12 -> 12)
};

struct TopoMatrix {
  std::vector<std::string>
      devices;  // "GPU0", "mlx5_0": NICn is replaced by its name when the NIC legend says it
  std::vector<std::vector<TopoCell>> cells;     // [row][column], square
  std::vector<std::string> numa;                // NUMA affinity of each row, empty: not said or N/A
  Location where;                               // of the heading
  [[nodiscard]] std::vector<int> gpus() const;  // rows that are GPUs
  [[nodiscard]] std::vector<int> nics() const;  // rows that are not
};

/// Reads the first matrix of the text: columns separated by tabs or blanks, colour codes removed. A
/// text without a matrix gives no devices; a matrix with a row of wrong length or an unknown word
/// is a problem at its place.
TopoMatrix parse_topo(std::string_view text, const std::string& file, Problems& problems);

/// One word of the matrix: "X", "NV12", "PIX" ...; nothing for other words.
std::optional<TopoCell> parse_topo_cell(std::string_view word);
/// The devices of a heading line, up to the columns on CPUs; nothing when it is no heading.
std::optional<std::vector<std::string>> parse_topo_heading(std::string_view line);

std::string to_string(const TopoCell& cell);  // "X", "NV12", "PIX" ...

}  // namespace busbw::facts
