// SPDX-License-Identifier: Apache-2.0
// Rows of a layout in host memory of their own, for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "gpu/columns/soa.hpp"
#include "gpu/memory/buffer.hpp"

namespace l3::test {

/// The columns of n rows in memory that somebody else owns, and that is aligned like a region.
template <class Layout>
[[nodiscard]] typename Layout::view view_over(std::byte* memory, std::uint32_t n) {
  const buffer borrowed(memory, Layout::bytes(n), [](std::byte*, std::size_t) {});
  region all(borrowed);
  return Layout::take(all, n);
}

template <class Layout>
class host_columns {
public:
  /// n rows of zeros.
  explicit host_columns(std::uint32_t n)
      : memory_(host_memory::allocate(Layout::bytes(n))), view_(view_over<Layout>(data(), n)) {
    if (memory_.size() != 0) std::memset(data(), 0, memory_.size());
  }

  [[nodiscard]] typename Layout::view view() { return view_; }
  [[nodiscard]] typename Layout::const_view const_view() const { return view_; }
  [[nodiscard]] std::uint32_t size() const { return view_.size(); }
  [[nodiscard]] std::span<std::byte> bytes() { return {memory_.data(), memory_.size()}; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {memory_.data(), memory_.size()};
  }

private:
  [[nodiscard]] std::byte* data() const { return memory_.data(); }

  buffer memory_;
  typename Layout::view view_;
};

} // namespace l3::test
