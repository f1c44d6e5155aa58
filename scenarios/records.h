// Selection records (models/nccl/select_records.h) as variants: predicted busbw of each measured
// point.
#pragma once
#include <optional>

#include "models/nccl/select_records.h"
#include "scenarios/simulate.h"
#include "scenarios/spec/load.h"
#include "scenarios/spec/scenario.h"

namespace busbw::scenarios {

/// The hosts of a record: the machine of the catalogue with as many H200 as it says, its NICs
/// replaced by one virtual NIC per interface; interfaces of one name are one network. Unshaped
/// interfaces have no wire to limit them. Throws InputError when the catalogue has no such machine.
Variant variant_of(const nccl::SelectionRecord& record, const Library& library);

/// Busbw in GB/s of a point of `record`; nothing when the job does not run or the collective is not
/// all_reduce.
std::optional<double> predict_point(const nccl::SelectionRecord& record,
                                    const nccl::Decision& decision, const nccl::RecordPoint& point,
                                    const Library& library, const Context& context);

}  // namespace busbw::scenarios
