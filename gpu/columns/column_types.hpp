// SPDX-License-Identifier: Apache-2.0
// The types that replace column<T> of a schema in the structs made from the schema: a shape
// (shapes.hpp) in views, a reference in rows, and the plain value in a copied row.
#pragma once

#include <cstdint>
#include <type_traits>

#include "gpu/columns/shapes.hpp"

namespace l3 {

/// Replaces a scalar in rows, because rows have no scalars.
struct beside_rows {
  [[nodiscard]] bool operator==(const beside_rows&) const = default;
};

template <class T, range_checks Checks>
struct column_types {
  static_assert(std::is_trivially_copyable_v<T>, "columns are copied as bytes");
  using writable = array_column<T, Checks>;
  using readable = array_column<const T, Checks>;
  using cell = T&;
  using value = T;
};
template <class T, std::uint32_t R, std::uint32_t C, range_checks Checks>
struct column_types<matrix_of<T, R, C>, Checks> {
  static_assert(std::is_trivially_copyable_v<T>, "columns are copied as bytes");
  using writable = matrix_column<T, R, C, Checks>;
  using readable = matrix_column<const T, R, C, Checks>;
  using cell = matrix_cell<T, R, C, Checks>;
  using value = matrix_of<T, R, C>;
};
template <class T, range_checks Checks>
struct column_types<scalar<T>, Checks> {
  static_assert(std::is_trivially_copyable_v<T>, "columns are copied as bytes");
  using writable = scalar_column<T>;
  using readable = scalar_column<const T>;
  using cell = beside_rows;
  using value = beside_rows;
};

template <class T>
inline constexpr bool is_scalar_column = false;
template <class E>
inline constexpr bool is_scalar_column<scalar_column<E>> = true;

template <class... T>
struct type_list {};

/// Replaces column<T> where only its type matters.
template <class T>
struct column_of {
  using type = T;
};

} // namespace l3
