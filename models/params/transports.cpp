// Reads transports.yaml, and the payload shares that follow from header sizes.
//
// TCP    (mtu - 52) / (mtu + 38): IPv4 20, TCP 20 and the time stamp option 12 inside the MTU;
//        preamble 8, Ethernet header 14, FCS 4 and gap 12 around it. Source: RFC 791, RFC 9293,
//        RFC 7323, IEEE 802.3.
// RDMA   payload / (payload + headers): InfiniBand LRH 8, BTH 12, ICRC 4, VCRC 2; RoCE v2 IPv4 20,
//        UDP 8, BTH 12, ICRC 4 in Ethernet. Source: InfiniBand Architecture Specification 1.4,
//        volume 1.
// The RETH of the first packet of a message (16 bytes) and acknowledgements are left out: below
// 0.1 %.
#include <cmath>

#include "models/params/params.h"
#include "models/params/read_conditions.h"
#include "sim/core/check.h"
#include "sim/core/text.h"
#include "sim/core/yaml.h"

namespace busbw::params {
namespace {

constexpr const char* kSchema = "busbw.transports/1";
constexpr std::int64_t kPathMtus[] = {4096, 2048, 1024, 512, 256};

Ratio required_share(MappingReader& reader, std::string_view key) {
  const std::string text = reader.required_text(key);
  const std::optional<Ratio> share = parse_share(text);
  if (!share && !text.empty()) {
    reader.problem(key, "'" + std::string(key) + "' must be a share above 0 and not above 1 such " +
                            "as 0.98 or 256/272, not '" + text + "'");
  }
  return share.value_or(Ratio{1, 1});
}

PerProtocol<Duration> read_durations(MappingReader& parent, std::string_view key) {
  MappingReader reader(parent.required_mapping(key), "'" + std::string(key) + "'",
                       parent.problems());
  PerProtocol<Duration> values{reader.required_duration("LL"), reader.required_duration("LL128"),
                               reader.required_duration("Simple")};
  reader.finish();
  return values;
}

PerProtocol<Ratio> read_shares(MappingReader& parent, std::string_view key) {
  MappingReader reader(parent.required_mapping(key), "'" + std::string(key) + "'",
                       parent.problems());
  PerProtocol<Ratio> values{required_share(reader, "LL"), required_share(reader, "LL128"),
                            required_share(reader, "Simple")};
  reader.finish();
  return values;
}

/// Factors of 1 and above.
PerProtocol<Ratio> read_factors(MappingReader& parent, std::string_view key) {
  constexpr std::int64_t kParts = 1000;
  constexpr double kMost = 100;
  MappingReader reader(parent.required_mapping(key), "'" + std::string(key) + "'",
                       parent.problems());
  const auto factor = [&](std::string_view name) {
    const double number = reader.required_number(name, 1, kMost);
    return Ratio{std::llround(number * static_cast<double>(kParts)), kParts};
  };
  PerProtocol<Ratio> values{factor("LL"), factor("LL128"), factor("Simple")};
  reader.finish();
  return values;
}

Transport read_transport(MappingReader& parent, std::string_view key) {
  MappingReader reader(parent.required_mapping(key), "transport '" + std::string(key) + "'",
                       parent.problems());
  Transport transport;
  transport.latency = read_durations(reader, "latency");
  transport.tree_latency =
      reader.has("tree_latency") ? read_durations(reader, "tree_latency") : transport.latency;
  transport.per_message = reader.required_duration("per_message");
  transport.share = {Ratio{1, 1}, Ratio{1, 1}, Ratio{1, 1}};
  if (reader.has("share")) {
    transport.share = read_shares(reader, "share");
  }
  transport.source = reader.required_text("source");
  reader.finish();
  return transport;
}

ThreadBlocks read_blocks(MappingReader& parent) {
  MappingReader reader(parent.required_mapping("thread_blocks"), "'thread_blocks'",
                       parent.problems());
  ThreadBlocks blocks;
  MappingReader threads(reader.required_mapping("threads"), "'threads'", parent.problems());
  constexpr std::int64_t kMostThreads = 1024;
  blocks.threads = {threads.required_integer("LL", 1, kMostThreads),
                    threads.required_integer("LL128", 1, kMostThreads),
                    threads.required_integer("Simple", 1, kMostThreads)};
  threads.finish();
  blocks.per_primitive = read_durations(reader, "per_primitive");
  MappingReader round(reader.required_mapping("round"), "'round'", parent.problems());
  blocks.round = {round.required_bytes("LL"), round.required_bytes("LL128"),
                  round.required_bytes("Simple")};
  round.finish();
  blocks.host_round_trip = reader.required_duration("host_round_trip");
  blocks.spread = required_share(reader, "spread");
  blocks.stores_wait = required_share(reader, "stores_wait");
  MappingReader lanes(reader.required_mapping("lanes"), "'lanes'", parent.problems());
  blocks.tree_reduce = read_shares(lanes, "tree_reduce");
  blocks.tree_broadcast = read_shares(lanes, "tree_broadcast");
  blocks.nvls_lane = required_share(lanes, "nvls");
  lanes.finish();
  const YamlNode rows = reader.required_sequence("stream");
  blocks.source = reader.required_text("source");
  reader.finish();
  if (!rows.is_sequence()) {
    return blocks;
  }
  for (const YamlNode& row : rows.elements()) {
    MappingReader entry(row, "a row of 'stream'", parent.problems());
    BlockSpeed speed;
    speed.sm = static_cast<std::int32_t>(entry.required_integer("sm", 0, 1000));
    speed.stream = {entry.required_bandwidth("LL"), entry.required_bandwidth("LL128"),
                    entry.required_bandwidth("Simple")};
    speed.nvls_share = required_share(entry, "nvls_share");
    if (entry.has("nvlink_share")) {
      speed.nvlink_share = required_share(entry, "nvlink_share");
    }
    if (entry.has("slower")) {
      speed.slower = read_factors(entry, "slower");
    }
    entry.finish();
    if (!blocks.speeds.empty() && speed.sm <= blocks.speeds.back().sm) {
      entry.problem("sm", "rows of 'stream' must ascend by sm");
    }
    blocks.speeds.push_back(speed);
  }
  if (blocks.speeds.empty()) {
    reader.problem("stream", "'stream' has no row");
  }
  return blocks;
}

HostWork read_host(MappingReader& parent) {
  MappingReader reader(parent.required_mapping("host"), "'host'", parent.problems());
  HostWork host;
  host.launch = reader.required_duration("launch");
  host.per_channel = reader.required_duration("per_channel");
  host.per_channel_uploaded = reader.required_duration("per_channel_uploaded");
  host.timed_alone = reader.required_duration("timed_alone");
  host.flag_check = reader.required_bandwidth("flag_check");
  host.source = reader.required_text("source");
  reader.finish();
  return host;
}

SocketCpu read_socket_cpu(MappingReader& parent) {
  MappingReader reader(parent.required_mapping("socket_cpu"), "'socket_cpu'", parent.problems());
  SocketCpu cpu;
  cpu.proxy_thread = reader.required_bandwidth("proxy_thread");
  cpu.loopback = reader.required_bandwidth("loopback");
  cpu.socket = reader.required_bandwidth("socket");
  cpu.helper_thread = reader.required_bandwidth("helper_thread");
  cpu.connection = reader.required_bandwidth("connection");
  cpu.source = reader.required_text("source");
  reader.finish();
  return cpu;
}

Packet read_packet(MappingReader& parent, std::string_view key) {
  MappingReader reader(parent.required_mapping(key), "packet '" + std::string(key) + "'",
                       parent.problems());
  Packet packet;
  packet.headers = reader.required_bytes("headers");
  packet.wire_framing = reader.required_bytes("wire_framing");
  packet.shaper_framing = reader.required_bytes("shaper_framing");
  packet.achieved = required_share(reader, "achieved");
  packet.source = reader.required_text("source");
  reader.finish();
  return packet;
}

LinkShare read_link(MappingReader& parent, std::string_view key) {
  MappingReader reader(parent.required_mapping(key), "link '" + std::string(key) + "'",
                       parent.problems());
  LinkShare link;
  link.share = required_share(reader, "share");
  link.source = reader.required_text("source");
  reader.finish();
  return link;
}

PcieShare read_pcie(MappingReader& parent) {
  MappingReader reader(parent.required_mapping("pcie"), "link 'pcie'", parent.problems());
  PcieShare link;
  link.share = required_share(reader, "share");
  link.host_both_ways = required_share(reader, "host_both_ways");
  link.peer_reads = reader.required_bandwidth("peer_reads");
  link.peers_across_sockets = reader.required_bandwidth("peers_across_sockets");
  link.translated = reader.required_bandwidth("translated");
  link.translated_by_blocks = reader.required_integer("translated_by_blocks", 1, 16);
  link.source = reader.required_text("source");
  reader.finish();
  return link;
}

void read_protocols(MappingReader& parent, Transports& result) {
  MappingReader reader(parent.required_mapping("protocols"), "'protocols'", parent.problems());
  result.launch = read_durations(reader, "launch");
  result.launch_source = reader.required_text("source");
  result.payload_share = read_shares(reader, "payload_share");
  reader.finish();
}

Ratio times(Ratio a, Ratio b) {
  return {a.numerator * b.numerator, a.denominator * b.denominator};
}

}  // namespace

std::string to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::kLowLatency:
      return "LL";
    case Protocol::kLowLatency128:
      return "LL128";
    case Protocol::kSimple:
      return "Simple";
  }
  CHECK(false, "protocol {}", static_cast<int>(protocol));
}

std::optional<Ratio> parse_share(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '/');
  if (parts.size() == 2) {
    const auto numerator = parse_integer(trim(parts[0]));
    const auto denominator = parse_integer(trim(parts[1]));
    if (numerator && denominator && *numerator > 0 && *numerator <= *denominator) {
      return Ratio{*numerator, *denominator};
    }
    return std::nullopt;
  }
  const std::optional<double> number = parse_number(text);
  if (!number || !(*number > 0) || *number > 1) {
    return std::nullopt;
  }
  constexpr std::int64_t kParts = 1'000'000;
  return Ratio{std::llround(*number * static_cast<double>(kParts)), kParts};
}

Transports load_transports(const std::string& directory, Problems& problems) {
  MappingReader reader(load_yaml(directory + "/transports.yaml", problems), "transports.yaml",
                       problems);
  Transports result;
  reader.required_choice("schema", {kSchema});
  read_protocols(reader, result);
  MappingReader transports(reader.required_mapping("transports"), "'transports'", problems);
  result.nvlink = read_transport(transports, "nvlink");
  result.pcie = read_transport(transports, "pcie");
  result.shm = read_transport(transports, "shm");
  result.nvls = read_transport(transports, "nvls");
  result.rdma = read_transport(transports, "rdma");
  result.socket = read_transport(transports, "socket");
  transports.finish();
  result.blocks = read_blocks(reader);
  result.host = read_host(reader);
  result.socket_cpu = read_socket_cpu(reader);
  MappingReader packets(reader.required_mapping("packets"), "'packets'", problems);
  result.tcp = read_packet(packets, "tcp");
  result.infiniband = read_packet(packets, "infiniband");
  result.roce = read_packet(packets, "roce");
  packets.finish();
  MappingReader links(reader.required_mapping("links"), "'links'", problems);
  result.nvlink_share = read_link(links, "nvlink");
  result.chip_to_chip_share = read_link(links, "chip_to_chip");
  result.pcie_share = read_pcie(links);
  result.interconnect_share = read_link(links, "cpu_interconnect");
  result.memory_share = read_link(links, "memory");
  links.finish();
  result.recovery = read_recovery(reader);
  result.congestion = read_congestion(reader);
  reader.finish();
  return result;
}

const BlockSpeed& block_speed(const ThreadBlocks& blocks, std::int32_t sm) {
  CHECK(!blocks.speeds.empty(), "no speeds of thread blocks were read");
  const BlockSpeed* row = &blocks.speeds.front();
  for (const BlockSpeed& candidate : blocks.speeds) {
    if (candidate.sm <= sm) {
      row = &candidate;
    }
  }
  return *row;
}

Ratio tcp_share(const Packet& tcp, std::int64_t mtu, bool shaped) {
  const std::int64_t headers = tcp.headers.count();
  CHECK(mtu > headers, "mtu {}", mtu);
  const Bytes framing = shaped ? tcp.shaper_framing : tcp.wire_framing;
  return times({mtu - headers, mtu + framing.count()}, tcp.achieved);
}

Ratio infiniband_share(const Packet& packet, std::int64_t path_mtu) {
  return times({path_mtu, path_mtu + packet.headers.count() + packet.wire_framing.count()},
               packet.achieved);
}

std::int64_t roce_path_mtu(const Packet& packet, std::int64_t mtu) {
  for (const std::int64_t payload : kPathMtus) {
    if (payload + packet.headers.count() <= mtu) {
      return payload;
    }
  }
  CHECK(false, "no path MTU fits into an Ethernet MTU of {}", mtu);
}

Ratio roce_share(const Packet& packet, std::int64_t mtu, bool shaped) {
  const std::int64_t payload = roce_path_mtu(packet, mtu);
  const Bytes framing = shaped ? packet.shaper_framing : packet.wire_framing;
  return times({payload, payload + packet.headers.count() + framing.count()}, packet.achieved);
}

}  // namespace busbw::params
