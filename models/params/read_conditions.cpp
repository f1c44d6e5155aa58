// See read_conditions.h.
#include "models/params/read_conditions.h"

namespace busbw::params {

Recovery read_recovery(MappingReader& parent) {
  constexpr std::int64_t kMostRetries = 100;
  MappingReader reader(parent.required_mapping("recovery"), "'recovery'", parent.problems());
  Recovery recovery;
  MappingReader tcp(reader.required_mapping("tcp"), "'tcp'", parent.problems());
  recovery.tcp.first = tcp.required_duration("first");
  recovery.tcp.longest = tcp.required_duration("longest");
  recovery.tcp.retries = tcp.required_integer("retries", 1, kMostRetries);
  tcp.finish();
  MappingReader reroute(reader.required_mapping("reroute"), "'reroute'", parent.problems());
  recovery.reroute_infiniband = reroute.required_duration("infiniband");
  recovery.reroute_ethernet = reroute.required_duration("ethernet");
  reroute.finish();
  MappingReader watchdog(reader.required_mapping("watchdog"), "'watchdog'", parent.problems());
  recovery.watchdog = watchdog.required_duration("timeout");
  recovery.watchdog_poll = watchdog.required_duration("poll");
  watchdog.finish();
  recovery.source = reader.required_text("source");
  reader.finish();
  return recovery;
}

Congestion read_congestion(MappingReader& parent) {
  constexpr std::int64_t kMostSegments = 1000;
  MappingReader reader(parent.required_mapping("congestion"), "'congestion'", parent.problems());
  Congestion congestion;
  congestion.rdma_round_trip = reader.required_duration("rdma_round_trip");
  congestion.tcp_round_trip = reader.required_duration("tcp_round_trip");
  congestion.port_buffer = reader.required_bytes("port_buffer");
  congestion.least_window = reader.required_integer("least_window", 1, kMostSegments);
  congestion.source = reader.required_text("source");
  reader.finish();
  return congestion;
}

}  // namespace busbw::params
