// Internal to networks: collects nodes and links of an imported file and makes a subnet of them.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topologies/networks/import.h"

namespace busbw::networks {

/// A node as a file shows it; `id` is what other lines call it by.
struct DraftNode {
  std::string id;
  bool is_switch = false;
  bool declared = false;  // has a record of its own
  std::string description;
  std::uint64_t guid = 0;
  std::int32_t ports = 0;  // as declared; 0: unknown
  std::int32_t lid = 0;
  Location where;
};

struct DraftLink {
  std::string peer;
  std::int32_t peer_port = 0;
  Bandwidth rate;  // 0: not said
  std::int32_t lanes = 4;
  std::string speed;
  bool up = true;
  Location where;
};

class SubnetDraft {
 public:
  SubnetDraft(std::string file, const topologies::Catalog& catalog, Problems& problems)
      : file_(std::move(file)), catalog_(catalog), problems_(problems) {}

  /// The node of that id, new when it is not known.
  DraftNode& node(const std::string& id, bool is_switch, const Location& where);
  /// What `id` shows at its port. A second line for the same port is a problem.
  void link(const std::string& id, std::int32_t port, DraftLink link);
  /// "4xNDR" or "2xHDR" into rate, lanes and speed; false when it is no width and generation.
  bool set_speed(DraftLink& link, const std::string& text) const;
  /// Lanes and signalling rate of one lane, as iblinkinfo prints them: 4 and 25.78125.
  bool set_signalling(DraftLink& link, std::int32_t lanes, double gigabits) const;

  /// Checks that both ends agree and makes the subnet.
  Imported finish();

 private:
  using Port = std::pair<std::string, std::int32_t>;
  void check_ends();
  void check_nodes();
  void set_guids();
  void add_nodes(Imported& result);
  void add_endpoint(Imported& result, const DraftNode& node, std::int32_t port);
  void add_cables(Imported& result);
  void set_tiers(Subnet& subnet) const;
  void set_lids(Imported& result);
  void remark(Imported& result) const;

  std::string file_;
  const topologies::Catalog& catalog_;
  Problems& problems_;
  std::vector<DraftNode> nodes_;
  std::map<std::string, std::size_t> by_id_;
  std::map<Port, DraftLink> links_;
  std::map<Port, End> ends_;
  std::int64_t without_rate_ = 0;
};

}  // namespace busbw::networks
