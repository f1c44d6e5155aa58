// HCAs as the InfiniBand tools would print them: /sys/class/infiniband, and what only verbs know.
#pragma once
#include <string>
#include <vector>

#include "models/facts/print/hca_print.h"
#include "real/collect/root.h"
#include "real/verbs/api.h"

namespace busbw::real::collect {

/// In order of name, as the tools list them.
std::vector<facts::PrintedHca> read_hcas(const Root& root);

/// Adds whether a device opens and the MTU of its ports. A device that verbs do not list does not
/// open.
void add_verbs(std::vector<facts::PrintedHca>& hcas, verbs::Api& api);

/// "/sys/class/infiniband/mlx5_0/ports/1/pkeys/0: 0xffff", a line a key that is set.
std::string read_pkeys(const Root& root);

/// Where the device of an HCA is in the tree of PCI devices; "" without one.
std::string device_of(const Root& root, const std::string& hca);

}  // namespace busbw::real::collect
