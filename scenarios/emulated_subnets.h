// The InfiniBand subnets that join the hosts of a variant, as a subnet manager would find them.
#pragma once
#include <vector>

#include "scenarios/spec/scenario.h"
#include "topologies/catalog.h"
#include "topologies/networks/subnet.h"

namespace busbw::scenarios {

/// Subnets of the networks with a fabric file as that says; of other networks their leaves and
/// spines, with the HCA ports that the hosts show (models/facts/print/emulated.h) and made-up,
/// locally administered GUIDs of the switches. Throws InputError when the variant has no
/// InfiniBand: no port of that link layer hangs on a network.
std::vector<networks::Subnet> emulated_subnets(const Variant& variant,
                                               const topologies::Catalog& catalog);

}  // namespace busbw::scenarios
