// The links of this process's network namespace as the kernel tells them. sysfs shows those of the
// namespace that it was mounted in, which is another one after `unshare --net` and in containers
// that share the host's /sys.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "models/facts/print/ip_print.h"
#include "real/collect/root.h"

namespace busbw::real::collect {

/// Whether /sys/class/net has the interfaces of this process. True where the kernel does not say.
bool sysfs_is_of_this_namespace(const Root& root);

/// Without addresses; what only sysfs knows, the other end of a pair, is not said.
std::vector<facts::PrintedInterface> links_of_kernel();

/// As `ip` names the flags; `carrier`: whether there is one.
std::vector<std::string> flags_of(std::uint64_t flags, bool carrier);
/// As `ip` names the type of a link: "1" is "ether".
std::string type_of(const std::string& number);

}  // namespace busbw::real::collect
