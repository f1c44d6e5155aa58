// Which network a rank takes: external plugins first, then IB, then Socket; the first that
// initialises with a device.
//
// The decision is made per rank and is final: nothing that fails later causes a fallback.
// Source: NCCL 2.18 to 2.26 src/net.cc, from 2.27 on src/plugin/net.cc;
// src/transport/net_socket.cc.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "models/nccl/ib_devices.h"

namespace busbw::nccl {

struct NetworkChoice {
  std::optional<std::string> network;  // nothing: no plugin came up, or none of the wanted name
  std::vector<NetDevice> devices;
  std::vector<ChosenInterface> sockets;  // Socket: interface of each device
  std::optional<ChosenInterface> oob;    // IB: interface that exchanges addresses
  std::vector<Reason> reasons;
  std::vector<LogLine> log;
};

NetworkChoice choose_network(const SelectionInput& input, const Inventory& host);

}  // namespace busbw::nccl
