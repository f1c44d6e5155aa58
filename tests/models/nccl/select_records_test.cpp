// Selection records: every measured run decided as real NCCL 2.28.9 did, and bad records reported
// with their places.
#include "models/nccl/select_records.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "sim/core/text.h"
#include "tools/json/json.h"

namespace busbw::nccl {
namespace {

std::vector<SelectionRecord> read(const std::string& text, Problems& problems) {
  return read_selection_records(json::parse(text, "r.json", problems), problems);
}

std::vector<std::string> messages(const std::string& text) {
  Problems problems;
  read(text, problems);
  std::vector<std::string> lines;
  for (const InputProblem& problem : problems.all())
    lines.push_back(to_string(problem));
  return lines;
}

const char* const kGood = R"([{"id": "a", "nccl_version": "2.28.9", "hosts": 2,
 "reported_interface_speed_mbit": 10000, "env": {"NCCL_SOCKET_IFNAME": "eth"},
 "interfaces": [{"name": "lo", "address": "127.0.0.1/8", "shaped_gbit": null},
  {"name": "eth0", "address": "10.0.0.{host}/24", "shaped_gbit": 1},
  {"name": "eth1", "address": null, "ipv6_link_local": true, "shaped_gbit": 2.5}],
 "points": [{"collective": "all_reduce", "bytes": 4096, "busbw_GBps": 0.5, "noisy": true},
            {"collective": "all_reduce", "bytes": 8192, "busbw_GBps": 0.75}]}])";

TEST(SelectRecords, FillsTheInput) {
  Problems problems;
  const std::vector<SelectionRecord> records = read(kGood, problems);
  ASSERT_TRUE(problems.empty()) << to_string(problems.all().front());
  ASSERT_EQ(records.size(), 1U);
  const SelectionInput& input = records[0].input;
  EXPECT_EQ(input.version, (Version{2, 28, 9}));
  EXPECT_EQ(input.environment.at("NCCL_SOCKET_IFNAME"), "eth");
  ASSERT_EQ(input.hosts.size(), 2U);
  const std::vector<Interface>& interfaces = input.hosts[1].interfaces;
  ASSERT_EQ(interfaces.size(), 3U);
  EXPECT_TRUE(interfaces[0].loopback);
  EXPECT_FALSE(interfaces[0].speed_mbit.has_value());
  EXPECT_EQ(interfaces[1].addresses[0].text, "10.0.0.2");
  EXPECT_EQ(interfaces[1].speed_mbit, 10'000);
  EXPECT_EQ(interfaces[1].wire_rate, Bandwidth::gigabits_per_second(1));
  ASSERT_EQ(interfaces[2].addresses.size(), 1U);
  EXPECT_TRUE(interfaces[2].addresses[0].link_local);
  EXPECT_EQ(interfaces[2].wire_rate, Bandwidth::megabits_per_second(2500));
}

TEST(SelectRecords, WritesTheDecision) {
  Problems problems;
  const std::vector<SelectionRecord> records = read(kGood, problems);
  const Decision decision = select(records.at(0).input);
  const auto twice = [](const SelectionRecord&, const Decision&, const RecordPoint& point) {
    return std::optional<double>(2 * point.measured_busbw_GBps);
  };
  const Value output = selection_output(records[0], decision, twice);
  EXPECT_EQ(output.find("bootstrap_interface")->as_string(), "eth0");
  ASSERT_EQ(output.find("data_interfaces")->as_array().size(), 2U);
  EXPECT_EQ(output.find("data_interfaces")->as_array()[1].as_string(), "eth1");
  EXPECT_EQ(output.find("network")->as_string(), "Socket");
  EXPECT_EQ(output.find("outcome")->as_string(), "ran");
  EXPECT_TRUE(output.find("error")->is_null());
  ASSERT_EQ(output.find("channels")->as_array().size(), 4U);
  EXPECT_EQ(output.find("channels")->as_array()[3].find("net_device")->as_integer(), 1);
  EXPECT_FALSE(output.find("reasons")->as_array().empty());
  const Value& point = output.find("points")->as_array()[0];
  EXPECT_EQ(point.find("bytes")->as_integer(), 4096);
  EXPECT_EQ(point.find("measured_busbw_GBps")->as_number(), 0.5);
  EXPECT_EQ(point.find("predicted_busbw_GBps")->as_number(), 1.0);
  EXPECT_TRUE(point.find("noisy")->as_bool());
  const Value plain = selection_output(records[0], decision);
  EXPECT_TRUE(plain.find("points")->as_array()[1].find("predicted_busbw_GBps")->is_null());
}

TEST(SelectRecords, EveryProblemIsLocated) {
  const std::vector<std::string> found = messages(R"([{
 "nccl_version": "new",
 "hosts": 0,
 "env": {"NCCL_IB_DISABLE": true, "NCCL_MIN_NCHANNELS": 4},
 "interfaces": [{"name": "eth0", "adress": "10.0.0.1/24"},
  {"name": "eth0", "address": "10.0.0/24", "up": 1, "shaped_gbit": 0}],
 "points": [{"collective": "all_reduce"}]},
7])");
  const std::vector<std::string> expected = {
      "r.json:1:2: error: missing key 'id' in record 1",
      "r.json:2:18: error: 'new' is no NCCL version; expected a form such as 2.28.9",
      "r.json:4:29: error: variable 'NCCL_IB_DISABLE' in record 1 must be a text",
      "r.json:5:44: error: unknown key 'adress' in an interface of record 1; did you mean "
      "'address'?",
      "r.json:6:12: error: interface 'eth0' appears twice in record 1",
      "r.json:6:50: error: key 'up' in an interface of record 1 must be true or false",
      "r.json:6:68: error: key 'shaped_gbit' in an interface of record 1 must be a number above 0 "
      "and up to 100000, "
      "or null",
      "r.json:6:31: error: '10.0.0/24' is no address; expected a form such as 10.0.0.{host}/24",
      "r.json:3:11: error: key 'hosts' in record 1 must be an integer from 1 to 4096",
      "r.json:7:13: error: missing key 'bytes' in a point of record 1",
      "r.json:8:1: error: record 2 must be an object"};
  EXPECT_EQ(found, expected);
}

TEST(SelectRecords, ListIsRequired) {
  EXPECT_EQ(messages("{}"),
            std::vector<std::string>{"r.json:1:1: error: expected a list of selection records"});
}

TEST(SelectRecords, AddressMustHoldForEveryHost) {
  EXPECT_EQ(messages(R"([{"id": "a", "nccl_version": "2.28.9", "hosts": 300,
 "interfaces": [{"name": "eth0", "address": "10.0.0.{host}/24"}]}])"),
            std::vector<std::string>{
                "r.json:2:16: error: '10.0.0.{host}/24' is no address for host 256 of record 'a'"});
}

// ---- Differential: real NCCL 2.28.9 between network namespaces on H200, measured 2026-11-29.

std::string text_or(const Value& value) {
  return value.is_null() ? "-" : value.as_string();
}

/// Time-outs of the measurement stand in the record's text ("no progress in 25 s"), ours says why
/// instead.
std::string outcome_kind(const std::string& text) {
  return text.rfind("no progress", 0) == 0 ? "no progress" : text;
}

void compare(const Value& measured, const Value& predicted) {
  for (const char* key : {"bootstrap_interface", "network", "error"}) {
    EXPECT_EQ(text_or(*predicted.find(key)), text_or(*measured.find(key))) << key;
  }
  EXPECT_EQ(outcome_kind(predicted.find("outcome")->as_string()),
            outcome_kind(measured.find("outcome")->as_string()));
  const Value::Array& wanted = measured.find("data_interfaces")->as_array();
  const Value::Array& found = predicted.find("data_interfaces")->as_array();
  ASSERT_EQ(found.size(), wanted.size()) << "data_interfaces";
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_EQ(found[i].as_string(), wanted[i].as_string());
  const Value::Array& wanted_channels = measured.find("channels")->as_array();
  const Value::Array& channels = predicted.find("channels")->as_array();
  ASSERT_EQ(channels.size(), wanted_channels.size()) << "channels";
  for (std::size_t i = 0; i < channels.size(); ++i) {
    for (const char* key : {"channel", "net_device"}) {
      EXPECT_EQ(channels[i].find(key)->as_integer(), wanted_channels[i].find(key)->as_integer())
          << key << " " << i;
    }
  }
  EXPECT_FALSE(predicted.find("reasons")->as_array().empty());
}

void compare_file(const std::string& name, std::size_t least) {
  const std::string path = std::string(BUSBW_SHARED_DIR) + "/h200/" + name;
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "the measured records are not beside this tree: " << name;
  Problems problems;
  const Value file = json::parse(read_file(path), name, problems);
  const std::vector<SelectionRecord> records = read_selection_records(file, problems);
  ASSERT_TRUE(problems.empty()) << to_string(problems.all().front());
  ASSERT_EQ(records.size(), file.as_array().size());
  ASSERT_GE(records.size(), least);
  for (std::size_t i = 0; i < records.size(); ++i) {
    SCOPED_TRACE(records[i].id);
    compare(file.as_array()[i], selection_output(records[i], select(records[i].input)));
  }
}

TEST(SelectRecords, TwoHostsOverSocketsAsMeasured) {
  compare_file("two-hosts-sockets.json", 15);
}
TEST(SelectRecords, InterfaceSelectionAsMeasured) {
  compare_file("interface-selection.json", 27);
}

}  // namespace
}  // namespace busbw::nccl
