// SPDX-License-Identifier: Apache-2.0
// A column: a pointer and a length, the view through which kernels see an array. std::span would do
// on the host, but its members may not be called on a device. It stands by itself: columns that
// belong together, with range checks and read-only loads, are made from a schema (gpu/columns).
#pragma once

#include <cstdint>
#include <type_traits>

#include "transport/format/function.hpp"

namespace l3 {

template <class T>
class column {
public:
  column() = default;
  L3_FN column(T* data, std::uint32_t size) : data_(data), size_(size) {}

  /// A column that may be written is one that may be read.
  template <class U>
  requires std::is_same_v<const U, T> L3_FN column(const column<U>& o)
      : column(o.data(), o.size()) {}

  [[nodiscard]] L3_FN T& operator[](std::uint32_t i) const { return data_[i]; }
  [[nodiscard]] L3_FN T* data() const { return data_; }
  [[nodiscard]] L3_FN std::uint32_t size() const { return size_; }

private:
  T* data_ = nullptr;
  std::uint32_t size_ = 0;
};

} // namespace l3
