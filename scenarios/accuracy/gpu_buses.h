// What the bus numbers of GPUs tell of a host that says nothing of its PCIe.
//
// Firmware numbers the buses below the root ports of some CPUs alike in most hosts: cards on 1a, 1b
// and b2 stand behind switches of a two-socket Xeon of the first or second generation, whose PCIe
// is of generation 3, whatever the cards could do.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/accuracy/record.h"
#include "topologies/catalog.h"

namespace busbw::scenarios::accuracy {

/// Numbers of a list in parentheses: 0x1a and 0xb2 of "GPUs on different sockets (1a,b2)". Empty
/// where no list holds bus numbers alone.
std::vector<std::int32_t> buses_in(const std::string& text);

/// Gives records without bus numbers, PCIe and CPU those of the first record of the same document
/// with the same GPU. A document is what `source` names before its lines; a source without a path
/// is none.
void share_buses(std::vector<Record>& records);

/// The first CPU of the catalogue whose root buses explain all of `buses`, two at least: a card
/// right on the root port has the next number, cards behind one switch the third and the fourth
/// after it (the switch takes two). nullptr: none.
const topologies::CpuModel* cpu_with_buses(const std::vector<std::int32_t>& buses,
                                           const topologies::Catalog& catalog);

}  // namespace busbw::scenarios::accuracy
