// See nvml.h. Signatures and numbers: NVML API reference (docs.nvidia.com/deploy/nvml-api), driver
// 450 and newer; the structs are laid out as there.
#include "real/collect/nvml.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <memory>

#include <fmt/format.h>

#include "sim/core/text.h"

namespace busbw::real::collect {
namespace {

constexpr int kSuccess = 0;
constexpr unsigned kMostLinks = 36;  // 18 a GPU today; other numbers are refused by the library

struct PciInfo {  // nvmlPciInfo_t
  std::array<char, 16> bus_id_legacy{};
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned device_id = 0;
  unsigned subsystem_id = 0;
  std::array<char, 32> bus_id{};
};

using Device = void*;
using Init = int (*)();
using Count = int (*)(unsigned*);
using ByIndex = int (*)(unsigned, Device*);
using DevicePci = int (*)(Device, PciInfo*);
using LinkState = int (*)(Device, unsigned, unsigned*);
using LinkPci = int (*)(Device, unsigned, PciInfo*);
using LinkType = int (*)(Device, unsigned, unsigned*);

/// The library and the functions that are used of it.
class Library {
 public:
  Library()
      : handle_(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL),
                [](void* handle) { return handle == nullptr ? 0 : ::dlclose(handle); }) {}
  [[nodiscard]] bool open() const { return handle_ != nullptr; }
  /// Null when the driver's release has no such function.
  template <class Function>
  [[nodiscard]] Function function(const char* name) const {
    return reinterpret_cast<Function>(::dlsym(handle_.get(), name));
  }

 private:
  std::unique_ptr<void, int (*)(void*)> handle_;
};

/// sysfs' form of "00000000:17:00.0".
std::string address_of(const PciInfo& info) {
  const std::string text = lower(info.bus_id.data());
  constexpr std::size_t kDomain = 8;
  return text.find(':') == kDomain ? text.substr(4) : text;
}

void add_links(const Library& library, Device device, NvmlGpu& gpu) {
  constexpr unsigned kSwitch = 2;  // NVML_NVLINK_DEVICE_TYPE_SWITCH
  const auto state = library.function<LinkState>("nvmlDeviceGetNvLinkState");
  const auto remote = library.function<LinkPci>("nvmlDeviceGetNvLinkRemotePciInfo_v2");
  const auto type = library.function<LinkType>("nvmlDeviceGetNvLinkRemoteDeviceType");
  for (unsigned link = 0; state != nullptr && link < kMostLinks; ++link) {
    unsigned active = 0;
    if (state(device, link, &active) != kSuccess || active == 0)
      continue;
    unsigned kind = 0;
    PciInfo info;
    if (type != nullptr && type(device, link, &kind) == kSuccess && kind == kSwitch) {
      ++gpu.switch_links;
    } else if (remote != nullptr && remote(device, link, &info) == kSuccess) {
      gpu.peers.push_back(address_of(info));
    }
  }
}

/// Links to what is no GPU lead to a switch that the driver hides (virtual machines).
void count_hidden_switches(std::vector<NvmlGpu>& gpus) {
  for (NvmlGpu& gpu : gpus) {
    const auto hidden = std::remove_if(gpu.peers.begin(), gpu.peers.end(), [&](const auto& peer) {
      return std::none_of(gpus.begin(), gpus.end(),
                          [&](const NvmlGpu& other) { return other.address == peer; });
    });
    gpu.switch_links += static_cast<int>(gpu.peers.end() - hidden);
    gpu.peers.erase(hidden, gpu.peers.end());
  }
}

}  // namespace

NvmlAnswer read_nvml() {
  NvmlAnswer answer;
  const Library library;
  if (!library.open()) {
    answer.failure = "libnvidia-ml.so.1 (NVML) is not there";
    return answer;
  }
  const auto init = library.function<Init>("nvmlInit_v2");
  const auto count = library.function<Count>("nvmlDeviceGetCount_v2");
  const auto by_index = library.function<ByIndex>("nvmlDeviceGetHandleByIndex_v2");
  const auto pci = library.function<DevicePci>("nvmlDeviceGetPciInfo_v3");
  if (init == nullptr || count == nullptr || by_index == nullptr || pci == nullptr) {
    answer.failure = "NVML of this driver lacks a function (450 or newer is needed)";
    return answer;
  }
  const auto failed = [&](const char* call, int status) {
    answer.failure = fmt::format("{}: status {}", call, status);
  };
  if (const int status = init(); status != kSuccess) {
    failed("nvmlInit", status);
    return answer;
  }
  unsigned gpus = 0;
  if (const int status = count(&gpus); status != kSuccess)
    failed("nvmlDeviceGetCount", status);
  for (unsigned index = 0; index < gpus; ++index) {
    Device device = nullptr;
    PciInfo info;
    int status = by_index(index, &device);
    if (status == kSuccess)
      status = pci(device, &info);
    if (status != kSuccess) {
      failed("nvmlDeviceGetHandleByIndex", status);
      continue;
    }
    NvmlGpu& gpu = answer.gpus.emplace_back();
    gpu.address = address_of(info);
    add_links(library, device, gpu);
  }
  count_hidden_switches(answer.gpus);
  return answer;
}

}  // namespace busbw::real::collect
