// The events of a variant, played on its fabric: what happens when to which links and ranks.
//
// A link that is down fails what is on it; connections try again (models/transport/retry.h). Routes
// go around links between switches after the network's time to react: on InfiniBand the subnet
// manager's, if it is there; without it routes stay as they are. A port whose cable is well again
// is in INIT until the manager's sweep makes it ARMED and ACTIVE; without one it stays there. Loss,
// degraded links and PAUSE lower rates (congestion.h). Messages that are on their way keep their
// way; the next ones see what has changed.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/transport/wiring.h"
#include "scenarios/play_candidate.h"
#include "scenarios/trouble.h"

namespace busbw::scenarios {

/// What has no event and no rule that could stop a connection: play() needs no Trouble.
bool is_calm(const Variant& variant);

/// Refers to the stage and the wiring. Throws InputError, with places, for events that name nodes
/// that the fabric has not, or ways that it has not.
class Faults {
 public:
  Faults(const Stage& stage, transport::Wiring& wiring);
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  [[nodiscard]] const Trouble& trouble() const { return trouble_; }
  /// What is left of the speed of a rank's thread blocks now.
  [[nodiscard]] Ratio speed_of(RankId rank) const;
  [[nodiscard]] const std::vector<Happening>& happenings() const { return happenings_; }
  /// When event `number` of the variant is over and its ports carry data again; nothing: never.
  [[nodiscard]] std::optional<Duration> over(std::size_t number) const {
    return played_[number].over;
  }

 private:
  /// An event on the fabric.
  struct Played {
    const Fault* fault = nullptr;
    std::vector<topologies::LinkId> links;
    std::map<topologies::LinkId, Ratio> left;  // of the rate of each, while active
    bool active = false;
    std::optional<Duration> over;
  };

  [[nodiscard]] std::vector<topologies::LinkId> links_of(const Fault& fault, Problems& problems);
  void set_left(Played& played);
  [[nodiscard]] Ratio left_after_loss(topologies::LinkId link, const Fault& fault) const;
  void plan(std::size_t number);
  void plan_routes(std::size_t number, std::optional<Duration> end);
  [[nodiscard]] std::optional<Duration> activated(const Fault& fault, Duration end,
                                                  const std::string& network);
  /// From a link that goes down, or comes up, to new routes.
  [[nodiscard]] Duration reaction(const std::string& network) const;
  void switch_to(std::size_t number, bool active);
  void add(Duration at, std::function<void()> happen, std::string text);
  /// Nothing: never.
  [[nodiscard]] std::optional<Duration> heals(const Fault& fault) const;
  /// Whether the network's subnet manager is gone at a time, and until when; nothing: for good.
  struct Absence {
    bool gone = false;
    std::optional<Duration> until;
  };
  [[nodiscard]] Absence manager_at(const std::string& network, Duration at) const;
  [[nodiscard]] std::string network_of(topologies::LinkId link) const;
  [[nodiscard]] const params::Traffic& traffic_of(const std::string& network) const;
  [[nodiscard]] bool between_switches(topologies::LinkId link) const;
  [[nodiscard]] std::optional<Bandwidth> cap(const std::vector<engine::LinkId>& path) const;
  [[nodiscard]] std::function<bool(RankId, RankId, ChannelId)> breaks(const Fault& fault) const;

  const Stage& stage_;
  transport::Wiring& wiring_;
  std::vector<Played> played_;
  Trouble trouble_;
  std::vector<Happening> happenings_;
};

}  // namespace busbw::scenarios
