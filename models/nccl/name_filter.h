// The list syntax shared by NCCL_SOCKET_IFNAME and NCCL_IB_HCA.
//
// One leading '^' turns the whole list into an exclusion, one '=' (or '^=') makes names match as a
// whole instead of as a prefix; both count only at the very start. Items are separated by commas
// and may carry ":port". An empty list admits everything. Source: NCCL 2.18 to 2.30,
// src/misc/utils.cc (parsing, matching) and its callers.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace busbw::nccl {

class NameFilter {
 public:
  /// At most `max_items` items are read, as NCCL's fixed arrays hold (16 interfaces; 16 or 32
  /// HCAs).
  NameFilter(std::string_view text, std::size_t max_items);
  /// `port` -1: the caller has no ports, any item port matches.
  [[nodiscard]] bool admits(std::string_view name, int port = -1) const;
  /// "names that start with eth0 or rdma", "all but the names eth0, lo", "every name".
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] bool truncated() const { return truncated_; }

 private:
  struct Item {
    std::string name;
    int port = -1;
  };
  [[nodiscard]] bool listed(std::string_view name, int port) const;

  std::vector<Item> items_;
  bool exclude_ = false;
  bool exact_ = false;
  bool truncated_ = false;
};

}  // namespace busbw::nccl
