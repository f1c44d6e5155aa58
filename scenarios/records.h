// Selection records (models/nccl/select_records.h) as variants: predicted busbw of each measured
// point.
#pragma once
#include <optional>

#include "models/nccl/select_records.h"
#include "scenarios/simulate.h"
#include "scenarios/spec/load.h"
#include "scenarios/spec/scenario.h"

namespace busbw::scenarios {

/// The hosts of a record: the catalogue's virtual machine with as many H200 as it says, its NICs
/// replaced by one virtual NIC per interface; interfaces of one name are one network. Unshaped
/// interfaces have no wire to limit them. Throws InputError when the catalogue has no h200-vm-*.
Variant variant_of(const nccl::SelectionRecord& record, const Library& library);

/// Busbw in GB/s of a point of `record`; nothing when the job does not run, the collective is not
/// all_reduce, the buffer does not fit in the GPU, or NCCL_ALGO and
/// NCCL_PROTO leave neither ring nor tree.
std::optional<double> predict_point(const nccl::SelectionRecord& record,
                                    const nccl::Decision& decision, const nccl::RecordPoint& point,
                                    const Library& library, const Context& context);

}  // namespace busbw::scenarios
