// Connections on the case's two hosts: which links, what rate, what latency.
#include "models/transport/wiring.h"

#include <gtest/gtest.h>

#include "sim/core/errors.h"

namespace busbw::transport {
namespace {

const std::string kCatalog = std::string(BUSBW_SOURCE_DIR) + "/topologies/catalog";

class OnTheCase : public ::testing::Test {
 protected:
  OnTheCase() {
    Problems problems;
    catalog_ = topologies::load_catalog(kCatalog, problems);
    transports_ = params::load_transports(kCatalog, problems);
    for (const topologies::Machine& machine :
         topologies::load_machines(kCatalog + "/machines", catalog_, problems)) {
      if (machine.name == "a100-40gb-x4") {
        cluster_.hosts = {machine, machine};
      }
    }
    problems.throw_if_any();
    for (const char* nic : {"eth0", "mlx5_0"}) {
      topologies::Network network;
      network.name = nic;
      network.nics = {nic};
      cluster_.networks.push_back(network);
    }
    built_ = topologies::build(cluster_, catalog_);
  }

  Wiring wire(const WiringOptions& options) {
    return Wiring(*engine_, cluster_, built_, transports_, options);
  }

  WiringOptions over(Network network, std::size_t nic, const std::string& device) {
    WiringOptions options;
    options.network = network;
    options.ports.assign(8, {{device, nic, 0, false, false, std::nullopt}});
    return options;
  }

  Bandwidth narrowest(const Connection& connection) {
    Bandwidth rate = engine_->capacity(connection.path.front());
    for (const engine::LinkId link : connection.path) {
      rate = std::min(rate, engine_->capacity(link));
    }
    return rate;
  }

  std::vector<std::string> names(const std::vector<engine::LinkId>& links) {
    std::vector<std::string> path;
    for (const engine::LinkId link : links) {
      path.push_back(engine_->name(link));
    }
    return path;
  }

  topologies::Catalog catalog_;
  params::Transports transports_;
  topologies::Cluster cluster_;
  topologies::BuiltCluster built_;
  std::unique_ptr<engine::Engine> engine_ = engine::make_engine(engine::Kind::kFluid);
};

TEST_F(OnTheCase, NvLinkInsideAHost) {
  Wiring wiring = wire({});
  const Connection connection = wiring.connect(RankId(0), RankId(2), ChannelId(0));
  EXPECT_EQ(connection.transport, "nvlink");
  ASSERT_EQ(connection.fill.size(), 1U);
  EXPECT_TRUE(connection.path.empty());
  EXPECT_FALSE(connection.carried);
  // Four NVLink 3 of 25 GB/s, payload share 0.82.
  EXPECT_NEAR(engine_->capacity(connection.fill.front()).as_gigabytes_per_second(), 82, 1e-6);
}

// Of another generation: its own share of 100 GB/s, and Simple's 1.4 us twice beside the 0.3 us of
// the link. What crosses the network is no matter of the GPU.
TEST_F(OnTheCase, StepsInsideAHostAreThoseOfTheGeneration) {
  WiringOptions options;
  options.nvlink_share = Ratio{3, 4};
  options.slower = Ratio{2, 1};
  const Connection inside = wire(options).connect(RankId(0), RankId(2), ChannelId(0));
  EXPECT_NEAR(engine_->capacity(inside.fill.front()).as_gigabytes_per_second(), 75, 1e-6);
  EXPECT_EQ(inside.latency, Duration::nanoseconds(2 * 1400 + 300));
  WiringOptions network = over(Network::kInfiniBand, 1, "mlx5_0");
  const Duration plain = wire(network).connect(RankId(0), RankId(4), ChannelId(0)).latency;
  network.slower = Ratio{2, 1};
  EXPECT_EQ(wire(network).connect(RankId(0), RankId(4), ChannelId(0)).latency, plain);
}

TEST_F(OnTheCase, SocketsOverEth0) {
  Wiring wiring = wire(over(Network::kSocket, 0, "eth0"));
  const Connection connection = wiring.connect(RankId(0), RankId(4), ChannelId(0));
  EXPECT_EQ(connection.transport, "socket");
  EXPECT_EQ(connection.name, "rank 0 -> rank 4 by socket over eth0");
  // TCP at MTU 1500 on a real wire: 10 Gb/s x 1448/1538.
  EXPECT_NEAR(narrowest(connection).as_gigabits_per_second(), 10.0 * 1448 / 1538, 1e-6);
  EXPECT_GE(connection.latency, Duration::microseconds(30));
  // Sends and receives of a rank share its proxy thread: the same engine link in both directions.
  const Connection back = wiring.connect(RankId(4), RankId(0), ChannelId(0));
  int shared = 0;
  for (const engine::LinkId link : connection.path) {
    const bool proxy = engine_->name(link).ends_with("proxy thread");
    shared += proxy ? static_cast<int>(std::count(back.path.begin(), back.path.end(), link)) : 0;
  }
  EXPECT_EQ(shared, 2);
}

TEST_F(OnTheCase, HelperThreadsTakeTheLoadOffTheProxyThread) {
  WiringOptions options = over(Network::kSocket, 0, "eth0");
  const Connection plain = wire(options).connect(RankId(0), RankId(4), ChannelId(0));
  EXPECT_EQ(plain.rate_cap, transports_.socket_cpu.socket);
  options.socket_threads = 1;
  options.sockets_per_thread = 4;
  const Connection helped = wire(options).connect(RankId(0), RankId(4), ChannelId(0));
  EXPECT_EQ(helped.rate_cap, transports_.socket_cpu.helper_thread);
  EXPECT_EQ(helped.path.size(), plain.path.size() - 2);
}

TEST_F(OnTheCase, RdmaOverTheHca) {
  Wiring wiring = wire(over(Network::kInfiniBand, 1, "mlx5_0"));
  const Connection connection = wiring.connect(RankId(0), RankId(4), ChannelId(0));
  EXPECT_EQ(connection.transport, "ib");
  // 4096 of 4122 bytes, and 0.981 of that is reached: 97.5 Gb/s.
  EXPECT_NEAR(narrowest(connection).as_gigabits_per_second(), 100.0 * 4096 / 4122 * 0.981, 1e-6);
  EXPECT_FALSE(connection.rate_cap.has_value());
}

TEST_F(OnTheCase, GpuDirectLeavesOutHostMemory) {
  WiringOptions options = over(Network::kInfiniBand, 1, "mlx5_0");
  const Connection staged = wire(options).connect(RankId(0), RankId(4), ChannelId(0));
  options.ports[0][0].gdr_send = true;
  options.ports[4][0].gdr_receive = true;
  const Connection direct = wire(options).connect(RankId(0), RankId(4), ChannelId(0));
  // The threads write to host memory (two links of PCIe and what both directions of each share, one
  // of memory), the other side's read and wait for the answers.
  EXPECT_EQ(staged.fill.size(), 5U);
  EXPECT_EQ(staged.drain.size(), 5U);
  EXPECT_EQ(staged.read_round_trip, transports_.blocks.host_round_trip);
  EXPECT_EQ(direct.read_round_trip, Duration());
  EXPECT_TRUE(direct.fill.empty());
  EXPECT_TRUE(direct.drain.empty());
  EXPECT_TRUE(direct.carried);
  // The way back uses the other direction of each.
  EXPECT_EQ(wire(options).connect(RankId(4), RankId(0), ChannelId(0)).fill.size(), 5U);
}

TEST_F(OnTheCase, PxnGoesByTheGpuNextToTheNic) {
  // GPU 0 hangs on the HCA's PCIe switch, GPU 2 on the other socket: by NVLink to GPU 0, then PCIe.
  WiringOptions options = over(Network::kInfiniBand, 1, "mlx5_0");
  for (std::vector<NetPort>& channels : options.ports) {
    channels[0].gdr_send = channels[0].gdr_receive = true;
  }
  const Connection near = wire(options).connect(RankId(0), RankId(4), ChannelId(0));
  const Connection far = wire(options).connect(RankId(2), RankId(4), ChannelId(0));
  options.ports[2][0].relay = RankId(0);
  const Connection relayed = wire(options).connect(RankId(2), RankId(4), ChannelId(0));
  EXPECT_TRUE(near.fill.empty());
  EXPECT_EQ(names(relayed.fill), std::vector<std::string>{"node0/gpu2->node0/gpu0"});
  EXPECT_EQ(names(relayed.path), names(near.path));
  EXPECT_NE(names(far.path), names(relayed.path));
  // Receiving there is no relay: the NIC writes into the GPU's memory, whichever it is.
  options.ports[6][0].relay = RankId(4);
  const Connection both = wire(options).connect(RankId(2), RankId(6), ChannelId(0));
  EXPECT_EQ(names(both.fill), names(relayed.fill));
  EXPECT_TRUE(both.drain.empty());
  // It is on the other socket: one more limit.
  const std::vector<std::string> way = names(both.path);
  EXPECT_TRUE(way[way.size() - 2].ends_with("->node1/gpu2"));
  EXPECT_EQ(way.back(), "node1/mlx5_0 peers of the other socket");
}

TEST_F(OnTheCase, TheNetworksSwitchIsReachedByTheCableOfThePort) {
  WiringOptions options = over(Network::kInfiniBand, 1, "mlx5_0");
  for (std::vector<NetPort>& channels : options.ports) {
    channels[0].gdr_send = channels[0].gdr_receive = true;
  }
  const Connection direct = wire(options).connect(RankId(0), RankId(4), ChannelId(0));
  options.switches = {{}};
  Wiring wiring = wire(options);
  const Connection up = wiring.connect(RankId(0), RankId(8), ChannelId(0));
  const Connection down = wiring.connect(RankId(8), RankId(4), ChannelId(0));
  EXPECT_EQ(up.name, "rank 0 -> the network over mlx5_0");
  EXPECT_EQ(down.name, "the network over mlx5_0 -> rank 4");
  EXPECT_TRUE(up.carried && down.carried);
  // Both halves together are the way between the two ranks: one leaf switch.
  EXPECT_EQ(up.path.size() + down.path.size(), direct.path.size());
}

TEST_F(OnTheCase, WithoutP2PThroughSharedMemory) {
  WiringOptions options;
  options.p2p = [](RankId, RankId) { return false; };
  EXPECT_EQ(wire(options).connect(RankId(0), RankId(1), ChannelId(0)).transport, "shm");
  options.shm = false;
  Wiring neither = wire(options);
  try {
    neither.connect(RankId(0), RankId(1), ChannelId(0));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "error: rank 0 and rank 1 share a host, but NCCL may use neither P2P nor shared "
              "memory between them, and there is no network");
  }
}

// The kernel hands back what goes to an address of its own: no NIC, no wire, and the one copy of
// the sender's that the receiver's copy reads, where between hosts a NIC reads and another writes.
TEST_F(OnTheCase, WithoutP2PAndSharedMemoryBySocketsThroughTheKernel) {
  WiringOptions options = over(Network::kSocket, 0, "eth0");
  options.p2p = [](RankId, RankId) { return false; };
  options.shm = false;
  Wiring wiring = wire(options);
  const Connection inside = wiring.connect(RankId(0), RankId(1), ChannelId(0));
  EXPECT_EQ(inside.name, "rank 0 -> rank 1 by socket over eth0");
  EXPECT_EQ(inside.rate_cap, transports_.socket_cpu.socket);
  EXPECT_EQ(names(inside.path),
            (std::vector<std::string>{"node0/memory0->node0/cpu0", "node0/cpu0->node0/memory0",
                                      "node0/memory0->node0/cpu0", "node0/cpu0->node0/memory0",
                                      "rank 0 proxy thread", "rank 1 proxy thread"}));
  EXPECT_EQ(names(inside.fill).back(), "node0/cpu0->node0/memory0");
  EXPECT_EQ(names(inside.drain).front(), "node0/memory0->node0/cpu0");
  // Between sockets the receiver's CPU fetches it.
  const std::vector<std::string> apart =
      names(wiring.connect(RankId(0), RankId(2), ChannelId(0)).path);
  EXPECT_EQ(apart[3], "node0/cpu0->node0/cpu1");
  EXPECT_EQ(apart[4], "node0/cpu1->node0/memory1");
  EXPECT_TRUE(wiring.ports(RankId(0), RankId(1), ChannelId(0)).has_value());
}

// An HCA hands back what two of its own queue pairs send each other, at the rate of its port.
TEST_F(OnTheCase, WithoutP2PAndSharedMemoryByTheHcaItself) {
  WiringOptions options = over(Network::kInfiniBand, 1, "mlx5_0");
  options.p2p = [](RankId, RankId) { return false; };
  options.shm = false;
  for (std::vector<NetPort>& channels : options.ports) {
    channels[0].gdr_send = channels[0].gdr_receive = true;
  }
  Wiring wiring = wire(options);
  const Connection inside = wiring.connect(RankId(0), RankId(1), ChannelId(0));
  EXPECT_EQ(inside.transport, "ib");
  const std::vector<std::string> path = names(inside.path);
  EXPECT_EQ(std::count(path.begin(), path.end(), "node0/mlx5_0 loopback"), 1);
  EXPECT_NEAR(narrowest(inside).as_gigabits_per_second(), 100.0 * 4096 / 4122 * 0.981, 1e-6);
  // No cable, which a way to another host has.
  const auto cable = [](const std::string& name) { return name.find("leaf") != std::string::npos; };
  EXPECT_TRUE(std::none_of(path.begin(), path.end(), cable));
  const std::vector<std::string> across =
      names(wiring.connect(RankId(0), RankId(4), ChannelId(0)).path);
  EXPECT_TRUE(std::any_of(across.begin(), across.end(), cable));
  // All that loops back shares it.
  const Connection back = wiring.connect(RankId(1), RankId(0), ChannelId(0));
  const auto is_loopback = [&](engine::LinkId link) {
    return engine_->name(link) == "node0/mlx5_0 loopback";
  };
  const engine::LinkId shared = *std::find_if(inside.path.begin(), inside.path.end(), is_loopback);
  EXPECT_EQ(*std::find_if(back.path.begin(), back.path.end(), is_loopback), shared);
  // Of its port: another one has its own.
  options.ports[0][0].port = options.ports[1][0].port = 1;
  Wiring ports = wire(options);
  const Connection second = ports.connect(RankId(0), RankId(1), ChannelId(0));
  const Connection first = ports.connect(RankId(3), RankId(2), ChannelId(0));
  EXPECT_NE(*std::find_if(second.path.begin(), second.path.end(), is_loopback),
            *std::find_if(first.path.begin(), first.path.end(), is_loopback));
}

TEST_F(OnTheCase, NicsOfDifferentNetworksCannotTalk) {
  WiringOptions options = over(Network::kSocket, 0, "eth0");
  options.ports[4][0] = {"mlx5_0", 1, 0, false, false, std::nullopt};
  Wiring wiring = wire(options);
  try {
    wiring.connect(RankId(0), RankId(4), ChannelId(0));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "error: 'eth0' of host 1 cannot reach 'mlx5_0' of host 2: they are on different networks");
  }
}

TEST(PayloadShares, FollowFromHeaders) {
  const params::Packet tcp{Bytes(52), Bytes(38), Bytes(14), {1, 1}, ""};
  EXPECT_EQ(params::tcp_share(tcp, 1500, false), (Ratio{1448, 1538}));
  EXPECT_EQ(params::tcp_share(tcp, 1500, true), (Ratio{1448, 1514}));
  EXPECT_EQ(params::tcp_share(tcp, 9000, false), (Ratio{8948, 9038}));
  const params::Packet roce{Bytes(44), Bytes(38), Bytes(14), {1, 1}, ""};
  EXPECT_EQ(params::roce_share(roce, 1500, false), (Ratio{1024, 1106}));
  EXPECT_EQ(params::roce_share(roce, 4200, false), (Ratio{4096, 4178}));
  EXPECT_EQ(params::parse_share("1448/1538"), (Ratio{1448, 1538}));
  EXPECT_FALSE(params::parse_share("3/2").has_value());
  EXPECT_FALSE(params::parse_share("1.01").has_value());
}

}  // namespace
}  // namespace busbw::transport
