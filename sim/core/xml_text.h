// Text inside XML, for everything that writes some: SVG drawings, NCCL's topologies.
#pragma once
#include <string>
#include <string_view>

namespace busbw {

/// `text` as it may stand between tags and in attributes: & < > " and control characters are
/// replaced by references.
std::string xml_text(std::string_view text);

}  // namespace busbw
