// Layers of the stack below the framework, and the names of the engine's links that are no links of
// the fabric. The others have the fabric link's own name.
#pragma once
#include <string>

#include "sim/core/ids.h"

namespace busbw::transport {

/// NCCL's own threads, the network's protocol, the wires.
enum class Layer { kCollective, kProtocol, kPhysical };
std::string to_string(Layer layer);  // "collective", "protocol", "physical"

/// The thread by which a rank sends and receives over the network.
std::string proxy_thread_name(RankId rank);
/// What an adapter moves by its driver's code; behind the adapter's name.
extern const char* const kSoftwareVerbs;

/// The layer of a link of the engine, by its name.
Layer layer_of(const std::string& link_name);

}  // namespace busbw::transport
