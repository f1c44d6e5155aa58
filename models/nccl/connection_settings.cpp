// See connection_settings.h.
#include "models/nccl/connection_settings.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "models/nccl/inventory.h"

namespace busbw::nccl {
namespace {

constexpr Version kSearch{2, 21, 0};
constexpr Version kLongTimeout{2, 23, 0};
constexpr Version kNoSplit{2, 20, 0};
constexpr std::int64_t kMostQueuePairs = 128;

const char* source_of(Version version) {
  return version < Version{2, 29, 0} ? "NCCL 2.18 to 2.28, src/transport/net_ib.cc"
                                     : "NCCL 2.29 and 2.30, src/transport/net_ib/common.cc";
}

using GidBytes = std::array<std::uint8_t, 16>;

bool all_zero(const GidBytes& gid, std::size_t from, std::size_t to) {
  return std::all_of(gid.begin() + static_cast<std::ptrdiff_t>(from),
                     gid.begin() + static_cast<std::ptrdiff_t>(to),
                     [](std::uint8_t byte) { return byte == 0; });
}
/// ::ffff:a.b.c.d, or the multicast form of it.
bool is_ipv4(const GidBytes& gid) {
  const bool mapped = all_zero(gid, 0, 10) && gid[10] == 0xff && gid[11] == 0xff;
  const bool multicast = gid[0] == 0xff && gid[1] == 0x0e && all_zero(gid, 2, 10) &&
                         gid[10] == 0xff && gid[11] == 0xff;
  return mapped || multicast;
}
bool link_local(const GidBytes& gid) {
  return gid[0] == 0xfe && gid[1] == 0x80 && all_zero(gid, 2, 8);
}
/// Set up, and reachable beyond the link.
bool is_valid(const GidBytes& gid) {
  return !all_zero(gid, 0, 16) && !link_local(gid);
}

class Search {
 public:
  Search(const Environment& environment, Version version, const std::vector<GidTableEntry>& table)
      : version_(version), table_(table) {
    const std::string family = text(environment, "NCCL_IB_ADDR_FAMILY").value_or("AF_INET");
    ipv4_ = family != "AF_INET6";
    roce_version_ = numeric(environment, "NCCL_IB_ROCE_VERSION_NUM", 2);
    if (const std::optional<std::string> range = text(environment, "NCCL_IB_ADDR_RANGE"))
      range_ = parse_address(*range);
  }

  GidChoice run() {
    for (std::size_t i = 1; i < table_.size(); ++i) {
      if (table_[i].readable && better(table_[i], table_[current_]))
        current_ = i;
    }
    GidChoice choice;
    choice.index = static_cast<int>(current_);
    const std::string wanted =
        fmt::format("{} and RoCE v{}", ipv4_ ? "IPv4" : "IPv6", roce_version_);
    const bool found = !table_.empty() && has_family(table_[current_]) &&
                       table_[current_].roce_version == roce_version_;
    choice.reasons.push_back(
        {"ib.gid_search",
         found ? fmt::format("GID index {} is the first entry with {}", current_, wanted)
               : fmt::format("no entry of the GID table has {}: index {} stays", wanted, current_),
         source_of(version_)});
    return choice;
  }

 private:
  [[nodiscard]] bool has_family(const GidTableEntry& entry) const {
    return is_ipv4(entry.gid) == ipv4_;
  }
  [[nodiscard]] bool in_range(const GidBytes& gid) const {
    if (!range_)
      return true;
    if (range_->ipv6 == is_ipv4(gid))
      return false;
    const std::size_t start = range_->ipv6 ? 0 : 12;
    for (int bit = 0; bit < range_->prefix_length; ++bit) {
      const auto byte = static_cast<std::size_t>(bit / 8);
      const unsigned mask = 0x80U >> static_cast<unsigned>(bit % 8);
      if (((gid[start + byte] ^ range_->bytes[byte]) & mask) != 0)
        return false;
    }
    return true;
  }
  [[nodiscard]] bool better(const GidTableEntry& candidate, const GidTableEntry& current) const {
    if (!has_family(candidate) || !in_range(candidate.gid))
      return false;
    if (!has_family(current))
      return true;
    return is_valid(candidate.gid) && candidate.roce_version == roce_version_ &&
           (current.roce_version != roce_version_ || !is_valid(current.gid));
  }

  Version version_;
  const std::vector<GidTableEntry>& table_;
  bool ipv4_ = true;
  std::int64_t roce_version_ = 2;
  std::optional<Address> range_;
  std::size_t current_ = 0;
};

int clamped(const Environment& environment, const char* name, std::int64_t fallback,
            std::int64_t most) {
  return static_cast<int>(std::clamp<std::int64_t>(numeric(environment, name, fallback), 0, most));
}

GidChoice fixed(std::int64_t index, std::string why, Version version) {
  return {static_cast<int>(std::clamp<std::int64_t>(index, 0, 255)),
          {{"ib.gid_index", std::move(why), source_of(version)}}};
}

}  // namespace

ConnectionSettings connection_settings(const Environment& environment, Version version) {
  ConnectionSettings settings;
  settings.timeout = clamped(environment, "NCCL_IB_TIMEOUT", version < kLongTimeout ? 18 : 20, 31);
  settings.retry_count = clamped(environment, "NCCL_IB_RETRY_CNT", 7, 7);
  // -1, the default of later releases, means the communicator's traffic class, which is 0.
  settings.service_level = clamped(environment, "NCCL_IB_SL", 0, 15);
  settings.traffic_class = clamped(environment, "NCCL_IB_TC", 0, 255);
  settings.pkey_index = clamped(environment, "NCCL_IB_PKEY", 0, 65535);
  settings.queue_pairs =
      std::max(1, clamped(environment, "NCCL_IB_QPS_PER_CONNECTION", 1, kMostQueuePairs));
  settings.split_data =
      numeric(environment, "NCCL_IB_SPLIT_DATA_ON_QPS", version < kNoSplit ? 1 : 0) != 0;
  return settings;
}

GidChoice choose_roce_gid(const Environment& environment, Version version,
                          const std::vector<GidTableEntry>& table) {
  const std::int64_t wanted = numeric(environment, "NCCL_IB_GID_INDEX", version < kSearch ? 0 : -1);
  if (wanted >= 0) {
    const bool set = text(environment, "NCCL_IB_GID_INDEX").value_or("") != "";
    return fixed(wanted,
                 set ? fmt::format("NCCL_IB_GID_INDEX is read as {}", wanted)
                     : fmt::format("{} does not search: GID index 0", to_string(version)),
                 version);
  }
  return Search(environment, version, table).run();
}

GidChoice choose_infiniband_gid(const Environment& environment, Version version,
                                const std::vector<GidTableEntry>& table) {
  if (version < kSearch) {
    return fixed(numeric(environment, "NCCL_IB_GID_INDEX", 0),
                 "InfiniBand, addressed by LID: the GID index only counts across subnets", version);
  }
  const std::int64_t routable = numeric(environment, "NCCL_IB_ROUTABLE_FLID_GID_INDEX", 1);
  if (routable >= 0 && routable < static_cast<std::int64_t>(table.size())) {
    const GidTableEntry& entry = table[static_cast<std::size_t>(routable)];
    if (entry.readable && !all_zero(entry.gid, 8, 10)) {
      return fixed(routable,
                   fmt::format("the GID at index {} has a FLID: routed InfiniBand", routable),
                   version);
    }
  }
  return fixed(0, "InfiniBand without routers: GID index 0, whatever NCCL_IB_GID_INDEX says",
               version);
}

}  // namespace busbw::nccl
