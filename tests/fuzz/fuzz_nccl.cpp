// Fuzzers of models/nccl: addresses, name filters, and selection records up to the printed
// decision.
#include <string>

#include "models/nccl/name_filter.h"
#include "models/nccl/select_records.h"
#include "tests/fuzz/registry.h"
#include "tools/json/json.h"

namespace busbw::fuzz {
namespace {

constexpr const char* kFile = "fuzz.json";
constexpr std::size_t kMostHosts = 8;  // more only takes longer

void addresses(Random& random) {
  const std::string text =
      mutate(random,
             {"10.0.0.1/24", "255.255.255.255", "fe80::1%eth0", "2001:db8::1:0:0:1/64",
              "::ffff:1.2.3.4", "::1/128", "1:2:3:4:5:6:7:8"},
             {":", "::", ".", "/", "%", "0", "ffff", "256", "{host}", "/33", "1.2.3.4"});
  const std::optional<nccl::Address> address = nccl::parse_address(text);
  if (!address)
    return;
  require(address->bytes.size() == (address->ipv6 ? 16U : 4U), "an address has the wrong length",
          text);
  require(nccl::same_subnet(*address, *address), "an address is not in its own subnet", text);
  const std::optional<nccl::Address> again = nccl::parse_address(nccl::to_string(*address));
  require(again && again->bytes == address->bytes && again->text == address->text,
          "a printed address reads back differently", text);
}

void name_filters(Random& random) {
  const std::string text =
      mutate(random, {"^=eth0,lo", "mlx5_0:1,mlx5_1:2", "=rdma0", "eth,^docker", "a:1:2:3"},
             {",", ":", "^", "=", " ", "eth0", "mlx5_1", "::", ",,", "99999999999"});
  const nccl::NameFilter filter(text, 16);
  require(!filter.describe().empty(), "a filter has no description", text);
  if (text.empty() || text.front() == '^' || text.front() == '=')
    return;
  // Excluding what a plain list admits is its negation.
  const nccl::NameFilter excluded("^" + text, 16);
  for (const char* name : {"eth0", "eth01", "mlx5_0", "lo", ""}) {
    for (const int port : {-1, 1, 2}) {
      require(filter.admits(name, port) != excluded.admits(name, port), "'^' does not negate",
              text);
    }
  }
}

void require_decided(const nccl::SelectionRecord& record, const std::string& text) {
  const nccl::Decision decision = nccl::select(record.input);
  require(decision.error.has_value() == (decision.outcome != nccl::Outcome::kRuns),
          "a failure has no reason", text);
  const Value output = nccl::selection_output(record, decision);
  Problems none;
  require(json::print(json::parse(json::print(output), kFile, none)) == json::print(output),
          "a decision does not print", text);
  require(none.empty(), "a printed decision has problems", text);
}

void selection_records(Random& random) {
  const std::string text = mutate(
      random,
      {R"([{"id": "a", "nccl_version": "2.28.9", "hosts": 2, "reported_interface_speed_mbit": 10000,
 "env": {"NCCL_SOCKET_IFNAME": "^eth0", "NCCL_MIN_NCHANNELS": "8"},
 "interfaces": [{"name": "lo", "address": "127.0.0.1/8", "shaped_gbit": null, "up": true},
  {"name": "eth0", "address": "10.0.0.{host}/24", "ipv6_link_local": true, "shaped_gbit": 1},
  {"name": "rdma0", "address": null, "shaped_gbit": 10, "up": false}],
 "points": [{"collective": "all_reduce", "bytes": 4194304, "busbw_GBps": 0.235, "noisy": true}]}])",
       R"([{"id": "b", "nccl_version": "2.18", "hosts": 3, "env": {
 "NCCL_COMM_ID": "10.0.0.1:29500"}, "interfaces": [{"name": "eth0", "address": "10.0.0.{host}/24"},
 {"name": "eth1", "address": "fd00::{host}/64"}]}])"},
      {"\"",
       ",",
       ":",
       "{",
       "}",
       "[",
       "]",
       "null",
       "true",
       "0",
       "-1",
       "{host}",
       "\"NCCL_NET\": \"IB\",",
       "\"up\": false,",
       "2.30",
       "::1",
       "NCCL_SOCKET_FAMILY",
       "AF_INET6",
       "127.0.0.1",
       "ib0",
       "docker0",
       "\"id\": \"b\",",
       "1e300"});
  Problems problems;
  const Value value = json::parse(text, kFile, problems);
  if (!problems.empty())
    return;
  const std::vector<nccl::SelectionRecord> records = nccl::read_selection_records(value, problems);
  require_good_problems(problems, kFile, text);
  for (const nccl::SelectionRecord& record : records) {
    if (record.input.hosts.size() <= kMostHosts)
      require_decided(record, text);
  }
}

}  // namespace

std::vector<Fuzzer> nccl_fuzzers() {
  return {{"addresses", "any text is an address that prints and reads back, or none", 10'000,
           &addresses},
          {"name_filters", "any text is a filter, and '^' negates it", 10'000, &name_filters},
          {"selection_records", "any JSON gives located problems, or a decision with its reasons",
           5'000, &selection_records}};
}

}  // namespace busbw::fuzz
