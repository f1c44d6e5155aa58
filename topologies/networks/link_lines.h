// Lines of iblinkinfo and ibnetdiscover taken apart, without judging them: for the readers of
// whole fabrics (import.h) and for whoever meets such lines among other text.
//
// Views point into the given line. Forms: infiniband-diags, iblinkinfo.c and ibnetdiscover.c.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace busbw::networks {

/// "CA: node3 HCA-1:", "Switch: 0x05af... MF0;ibsw1:MQM8700/U1:".
struct LinkInfoRecord {
  bool is_switch = false;
  std::string_view guid;  // "0x..."; only switches have one here
  std::string_view name;
};
/// Nothing for another line.
std::optional<LinkInfoRecord> parse_link_info_record(std::string_view line);

/// `0x5ad8...  6  1[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==>  3  3[  ] "ibsw1" ( remark )`.
struct LinkInfoPort {
  std::string_view guid;       // of the port, where the line has it
  std::string_view here;       // "6  1[  ]": LID and port
  std::string_view state;      // "4X 25.78125 Gbps Active/  LinkUp"
  std::string_view there;      // from the peer's LID on
  std::string_view peer_name;  // in quotes; empty: none
  std::string_view remark;     // in the last brackets
};
/// Nothing for a line without "==(" and ")==>" in this order.
std::optional<LinkInfoPort> parse_link_info_port(std::string_view line);

/// `Switch 65 "S-..."  # "name" enhanced port 0 lid 73 lmc 0`, `Ca 2 "H-..."  # "host mlx5_0"`.
struct DiscoverRecord {
  std::string_view kind;  // Switch, Ca, Hca, Rt
  std::int64_t ports = 0;
  std::string_view id;
  std::string_view name;  // empty: none
  std::int64_t lid = 0;   // 0: not said
};
/// Nothing for another line, and for a record without ports or id.
std::optional<DiscoverRecord> parse_discover_record(std::string_view line);

/// `[35](portguid)  "S-..."[32](portguid)  # "name" lid 236 4xNDR s=.. w=..`.
struct DiscoverPort {
  std::int64_t port = 0;
  std::string_view peer;
  std::int64_t peer_port = 1;           // as ibsim leaves it out: of an HCA with one port
  std::string_view peer_name;           // empty: none
  std::int64_t peer_lid = 0;            // 0: not said
  std::vector<std::string_view> words;  // the others behind `#`: one of them is width and speed
};
/// Nothing for another line, and for a port without a number or peer.
std::optional<DiscoverPort> parse_discover_port(std::string_view line);

}  // namespace busbw::networks
