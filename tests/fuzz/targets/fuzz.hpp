// SPDX-License-Identifier: Apache-2.0
// What every fuzz target uses: the input, read as a small program of numbers and bytes, and the
// claim that something holds whatever the input is. An input that has run out reads as zeros, so
// that every input means something.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace l3::test {

/// Ends the process if it does not hold: libFuzzer then keeps the input.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

class fuzz_input {
public:
  fuzz_input(const std::uint8_t* data, std::size_t bytes)
      : rest_(reinterpret_cast<const std::byte*>(data), bytes) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }

  /// Little-endian.
  template <class T>
  T number() {
    T value{};
    const auto n = std::min(sizeof value, rest_.size());
    if (n != 0) std::memcpy(&value, rest_.data(), n);
    rest_ = rest_.subspan(n);
    return value;
  }
  std::uint8_t byte() { return number<std::uint8_t>(); }
  /// 0 … bound − 1, of one byte.
  std::uint32_t below(std::uint32_t bound) { return byte() % bound; }
  bool flag() { return (byte() & 1) != 0; }

  /// At most so many.
  std::span<const std::byte> bytes(std::size_t n) {
    const auto part = rest_.first(std::min(n, rest_.size()));
    rest_ = rest_.subspan(part.size());
    return part;
  }
  std::span<const std::byte> rest() { return bytes(rest_.size()); }
  std::string_view text() {
    const auto all = rest();
    return {reinterpret_cast<const char*>(all.data()), all.size()};
  }

  /// Changes a few bytes, as a line or a disk would.
  void damage(std::span<std::byte> what) {
    for (auto n = below(4); n > 0 && !what.empty(); --n) {
      const auto at = number<std::uint16_t>() % what.size();
      what[at] ^= static_cast<std::byte>(byte());
    }
  }

private:
  std::span<const std::byte> rest_;
};

} // namespace l3::test
