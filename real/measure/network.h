// From an order to a mover: which network the ranks use on this machine, by NCCL's own rules.
#pragma once
#include <memory>

#include "real/launch/session.h"
#include "real/measure/task.h"
#include "real/verbs/api.h"

namespace busbw::real {

/// The task with kEvent or kPoll in place of each Completion::kAuto: events where the ranks of a
/// host outnumber the processors that they may run on, for a rank that looks again and again takes
/// them from its peers; else polling, which answers sooner. Equal on all ranks, which call it at
/// the same time.
Task settle_completion(Session& session, Task task);

/// Two ranks count as on one host when they are, and the order's hosts say so too. `api`: the verbs
/// of this machine, or null where there are none. Every rank calls it at the same time: they must
/// all come to the same network. Throws SystemError with NCCL's reasons when there is none.
std::unique_ptr<Mover> make_mover(Session& session, const NetworkOrder& order,
                                  const std::shared_ptr<verbs::Api>& api);

/// The port and the settings that a rank of this host uses over verbs.
struct VerbsChoice {
  std::shared_ptr<verbs::Device> device;
  VerbsMoverOptions options;
};
VerbsChoice choose_verbs(const Session& session, const NetworkOrder& order,
                         const std::shared_ptr<verbs::Api>& api);

/// The HCA or interface that this rank uses between hosts: "mlx5_0", "eth0"; "memory" for shared
/// memory. Throws as make_mover() does.
std::string device_name(const Session& session, const NetworkOrder& order,
                        const std::shared_ptr<verbs::Api>& api);

/// "RDMA WRITE on rxe0 port 1 GID index 1; completion by events": what all ranks use, each text
/// once with its ranks.
std::string describe_movers(Session& session, const Mover& mover, Completion completion);

}  // namespace busbw::real
