// Interfaces and routes as `ip` would print them: sysfs for the links (the kernel itself where
// sysfs is another network namespace's), getifaddrs() for the addresses, /proc/net/route for the
// routes.
//
// Under another root there is no kernel to ask: addresses are the IPv6 ones of
// /proc/net/if_inet6, the only ones that procfs tells with their interface.
#pragma once
#include <string>
#include <vector>

#include "models/facts/print/ip_print.h"
#include "real/collect/root.h"

namespace busbw::real::collect {

std::vector<facts::PrintedInterface> read_interfaces(const Root& root);

/// As `ip route`: IPv4, the main table. "" when the file is absent.
std::string read_routes(const Root& root);

}  // namespace busbw::real::collect
