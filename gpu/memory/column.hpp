// SPDX-License-Identifier: Apache-2.0
// A column: a pointer and a length, a kernel's view of one array. std::span would suffice on the
// host, but device code cannot call its members. Columns that belong together, with range checks
// and read-only loads, come from a schema (gpu/columns).
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

  /// A writable column converts to a read-only one.
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
