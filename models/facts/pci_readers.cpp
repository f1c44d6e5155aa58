// lspci: the tree (-tv), and of -vv the links' speed and width and Access Control Services.
//
// Facts (fields):
//   pci.link {device, class, speed, width, max_speed, max_width, trained_down}   GPUs and NICs
//   pci.acs {device, redirect, valid}   redirect yes: peer traffic goes through the root complex;
//       valid yes: ACS is on in some form
//   pci.network {device, rdma}          a network or InfiniBand controller; rdma yes, maybe, no
//   pci.tree {line}
#include <algorithm>
#include <optional>

#include "models/facts/line_reader.h"
#include "sim/core/text.h"

namespace busbw::facts {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

/// "3b:00.0" or "0000:3b:00.0".
bool is_address(std::string_view word) {
  const std::size_t dot = word.rfind('.');
  const std::size_t colon = word.rfind(':');
  if (dot == kNone || colon == kNone || dot < colon || dot + 2 != word.size() || colon < 2) {
    return false;
  }
  return word.find_first_not_of("0123456789abcdefABCDEF:.") == kNone && dot - colon == 3;
}

/// "Speed 16GT/s (ok), Width x16 (ok)" -> text behind the key, up to the comma or blank.
std::string value_of(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == kNone) {
    return {};
  }
  const std::string_view rest = text.substr(at + key.size());
  return std::string(rest.substr(0, rest.find_first_of(", (")));
}

/// Whether a controller of that name can do RDMA: "yes", "maybe" (by firmware, driver or setting;
/// functions of a virtual machine), "no".
std::string can_rdma(std::string_view text) {
  static constexpr std::string_view kYes[] = {
      "infiniband controller", "mellanox", "connectx", "bluefield", "omni-path", "fabric adapter"};
  static constexpr std::string_view kMaybe[] = {"netxtreme-e", "e810",      "e82",    "e830",
                                                "x722",        "chelsio",   "qlogic", "fastlinq",
                                                "pensando",    "solarflare"};
  const std::string name = lower(text);
  const auto stands_there = [&](std::string_view word) {
    return name.find(word) != std::string::npos;
  };
  const bool infiniband = stands_there("infiniband controller");
  if (std::any_of(std::begin(kYes), std::end(kYes), stands_there)) {
    return stands_there("virtual function") && !infiniband ? "maybe" : "yes";
  }
  return std::any_of(std::begin(kMaybe), std::end(kMaybe), stands_there) ? "maybe" : "no";
}

class PciReader : public LineReader {
 public:
  [[nodiscard]] std::string kind() const override { return "lspci"; }

  bool read(const SourceLine& line, FactStore& facts) override {
    const std::string_view bare = line.bare;
    if (bare.rfind("-+-[", 0) == 0 || bare.rfind("-[", 0) == 0 || bare.rfind("+-[", 0) == 0 ||
        bare.rfind("\\-[", 0) == 0 || bare.rfind("|  ", 0) == 0) {
      put(facts, line, "pci.tree", {});
      if (can_rdma(bare) == "yes") {
        put(facts, line, "pci.network", {{"device", ""}, {"rdma", "yes"}});
      }
      return true;
    }
    const std::size_t blank = bare.find(' ');
    if (blank != kNone && is_address(bare.substr(0, blank))) {
      device_ = std::string(bare.substr(0, blank));
      const std::string_view rest = bare.substr(blank + 1);
      const std::size_t colon = rest.find(": ");
      class_ = class_of(rest.substr(0, colon));
      if (class_ == "nic") {
        put(facts, line, "pci.network", {{"device", device_}, {"rdma", can_rdma(rest)}});
      }
      max_speed_.clear();
      max_width_.clear();
      return true;
    }
    if (bare.rfind("LnkCap:", 0) == 0) {
      max_speed_ = value_of(bare, "Speed ");
      max_width_ = value_of(bare, "Width ");
      return true;
    }
    if (bare.rfind("LnkSta:", 0) == 0) {
      link(line, facts);
      return true;
    }
    if (bare.rfind("ACSCtl:", 0) == 0) {
      acs(line, facts);
      return true;
    }
    static constexpr std::string_view kOthers[] = {
        "ACSCap:",         "LnkCtl:",   "LnkSta2:", "LnkCap2:",      "LnkCtl2:",
        "DevCap:",         "DevCtl:",   "DevSta:",  "Capabilities:", "Kernel driver in use:",
        "Kernel modules:", "Subsystem:"};
    return std::any_of(std::begin(kOthers), std::end(kOthers), [&](std::string_view other) {
      return bare.substr(0, other.size()) == other;
    });
  }

 private:
  /// "gpu", "nic", "bridge" or "other".
  static std::string class_of(std::string_view text) {
    const std::string name = lower(text);
    if (name.find("3d controller") != std::string::npos || name.find("vga") != std::string::npos) {
      return "gpu";
    }
    if (name.find("infiniband") != std::string::npos ||
        name.find("ethernet") != std::string::npos ||
        name.find("network controller") != std::string::npos) {
      return "nic";
    }
    return name.find("bridge") != std::string::npos ? "bridge" : "other";
  }

  void link(const SourceLine& line, FactStore& facts) const {
    const std::string speed = value_of(line.bare, "Speed ");
    const std::string width = value_of(line.bare, "Width ");
    if (speed.empty() || width.empty()) {
      facts.note({line.file, line.number, 1}, "LnkSta without speed and width: the line is cut");
      return;
    }
    const bool down = line.bare.find("(downgraded)") != kNone ||
                      (!max_speed_.empty() && speed != max_speed_) ||
                      (!max_width_.empty() && width != max_width_);
    put(facts, line, "pci.link",
        {{"device", device_},
         {"class", class_},
         {"speed", speed},
         {"width", width},
         {"max_speed", max_speed_},
         {"max_width", max_width_},
         {"trained_down", down ? "yes" : "no"},
         {"narrow", narrow(line.bare, width) ? "yes" : "no"}});
  }

  /// Fewer lanes than the device has: unlike a lower speed this is no power saving.
  [[nodiscard]] bool narrow(std::string_view text, const std::string& width) const {
    const std::size_t at = text.find("Width ");
    const bool said = at != kNone && text.substr(at).find("(downgraded)") != kNone;
    return said || (!max_width_.empty() && width != max_width_);
  }

  void acs(const SourceLine& line, FactStore& facts) const {
    const bool redirect =
        line.bare.find("ReqRedir+") != kNone || line.bare.find("CmpltRedir+") != kNone;
    const bool valid = line.bare.find("SrcValid+") != kNone;
    put(facts, line, "pci.acs",
        {{"device", device_},
         {"redirect", redirect ? "yes" : "no"},
         {"valid", valid ? "yes" : "no"}});
  }

  std::string device_;
  std::string class_ = "other";
  std::string max_speed_;
  std::string max_width_;
};

}  // namespace

void add_pci_readers(LineReaders& readers) {
  readers.push_back(std::make_unique<PciReader>());
}

}  // namespace busbw::facts
