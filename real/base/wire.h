// Values as bytes for the exchange between ranks: little endian, texts with their length.
//
// Reading checks every length: bytes from another process are input, never trusted.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace busbw::real {

class WireWriter {
 public:
  template <class T>
  WireWriter& number(T value) {
    static_assert(std::is_integral_v<T>);
    auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_ += static_cast<char>(static_cast<unsigned char>(bits & 0xffU));
      if constexpr (sizeof(T) > 1)
        bits = static_cast<std::make_unsigned_t<T>>(bits >> 8U);
    }
    return *this;
  }
  WireWriter& text(std::string_view value);
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class WireReader {
 public:
  /// `from` names the sender in failures: "rank 3 (node2:4711)".
  WireReader(std::string_view bytes, std::string from) : rest_(bytes), from_(std::move(from)) {}

  template <class T>
  T number() {
    static_assert(std::is_integral_v<T>);
    const std::string_view bytes = raw(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = sizeof(T); i-- > 0;)
      value = value << 8U | static_cast<unsigned char>(bytes[i]);
    return static_cast<T>(value);
  }
  std::string text();
  /// Throws SystemError unless everything was read.
  void end() const;

 private:
  std::string_view raw(std::size_t size);
  [[noreturn]] void fail(const std::string& why) const;

  std::string_view rest_;
  std::string from_;
};

}  // namespace busbw::real
