// Prints a topology matrix as `nvidia-smi topo -m` does (driver 535 and newer): the other
// direction of topo_text.h. The legend's sentences are our own.
#pragma once
#include <string>
#include <vector>

#include "models/facts/topo_text.h"

namespace busbw::facts {

/// `cpus`: CPU affinity of each row ("0-55,112-167"), "N/A" where it is not known; empty: for none.
/// GPUs stand first; the other devices are printed as NIC0, NIC1 ... and named in the legend.
std::string print_topo(const TopoMatrix& matrix, const std::vector<std::string>& cpus);

}  // namespace busbw::facts
