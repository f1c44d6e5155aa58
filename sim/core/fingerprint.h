// A running hash of what a simulation did: equal fingerprints mean equal runs.
//
// FNV-1a over the bytes of each value, 64 bit, then a final avalanche. Not cryptographic. Feed it
// (time, kind, id) of each event in the order in which they happen.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace busbw {

class Fingerprint {
 public:
  void add(std::int64_t value);
  void add(std::string_view text);  // length is hashed too, so that "ab","c" differs from "a","bc"
  [[nodiscard]] std::uint64_t value() const;
  /// 16 lower-case hex digits.
  [[nodiscard]] std::string hex() const;

 private:
  std::uint64_t state_ = 0xcbf29ce484222325U;
};

}  // namespace busbw
