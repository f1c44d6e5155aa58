// The lists and words inside NCCL's log lines: devices of a network, ways of a channel, status of a
// completion. Forms of NCCL 2.3 to 2.30.
#pragma once
#include <string_view>
#include <vector>

#include "models/facts/fact.h"

namespace busbw::facts {

/// Facts that the captured fields of one line stand for; name, fields only.
using Refine = std::vector<Fact> (*)(std::string_view name, const std::vector<Fact::Field>& fields);

/// "[0]eth0:10.0.0.1<0> [1]eth1:fe80::1%eth1<0>", or one of them without a number, in the field
/// `list` -> one fact each: index, interface, address.
std::vector<Fact> refine_interfaces(std::string_view name, const std::vector<Fact::Field>& fields);
/// "[0]mlx5_0:1/IB [1]={[0] a:1/RoCE, [1] b:1/RoCE} [RO]; OOB eth0:10.0.0.1<0>" in `list`
/// -> nccl.hca: index, hca, port, link; nccl.oob.
std::vector<Fact> refine_hcas(std::string_view name, const std::vector<Fact::Field>& fields);
/// Fields channel, from, to, way as captured -> those of nccl.channel.
std::vector<Fact> refine_channel(std::string_view name, const std::vector<Fact::Field>& fields);
/// Field `rest` behind "Got completion from peer" or "with error" -> status, opcode, vendor, side.
std::vector<Fact> refine_completion(std::string_view name, const std::vector<Fact::Field>& fields);
/// Field `rest` behind "Call to ibv_modify_qp failed with" -> error, errno, hca, GIDs.
std::vector<Fact> refine_modify_qp(std::string_view name, const std::vector<Fact::Field>& fields);
/// Fields index and prefix of the GID of a queue pair, the prefix as NCCL prints it: the eight
/// bytes as one number of this machine -> index, link_local ("80FE" is fe80::).
std::vector<Fact> refine_gid(std::string_view name, const std::vector<Fact::Field>& fields);
/// Field `peer` without the port, which differs from line to line.
std::vector<Fact> refine_peer(std::string_view name, const std::vector<Fact::Field>& fields);
/// "rank 3 nranks 16 cudaDev 3 .. busId c1000 .. - Init START" in `rest` -> rank, ranks, device,
/// bus, phase.
std::vector<Fact> refine_rank(std::string_view name, const std::vector<Fact::Field>& fields);

/// Field `name` with NCCL_ in front, `value` without the full stop that some releases print.
std::vector<Fact> refine_variable(std::string_view name, const std::vector<Fact::Field>& fields);

/// Field `name` up to a run of blanks: behind it stands a remark that somebody added.
std::vector<Fact> refine_network(std::string_view name, const std::vector<Fact::Field>& fields);

/// Field `symbol`; nothing for NCCL's own, which it tries in all their versions.
std::vector<Fact> refine_symbol(std::string_view name, const std::vector<Fact::Field>& fields);
/// "No plugin found" in the words of each release -> form: which wording.
std::vector<Fact> refine_no_plugin(std::string_view name, const std::vector<Fact::Field>& fields);

/// Text between `key` and the next blank, comma or end; empty when `key` does not occur.
std::string_view word_after(std::string_view text, std::string_view key);

}  // namespace busbw::facts
