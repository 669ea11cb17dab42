// SPDX-License-Identifier: Apache-2.0
// The three shapes of a column. array_column has a value in each row. matrix_column has a vector or
// matrix of fixed size in each row; each element has its own lane, so that neighbours in memory are
// neighbours in rows. scalar_column has one value independent of rows.
//
// Each is a pointer and a length. E is the type of a value, and const in a read-only view; such a
// column returns values, which a device loads through its non-coherent cache, and never references.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include "gpu/columns/checks.hpp"
#include "gpu/columns/load.hpp"
#include "gpu/memory/buffer.hpp"
#include "gpu/memory/column.hpp"

namespace l3 {

/// In a schema: one value independent of rows.
template <class T>
struct scalar;

/// In a schema: R × C elements in each row. As a value: the elements of one row.
template <class T, std::uint32_t R, std::uint32_t C>
struct matrix_of {
  static constexpr std::uint32_t elements = R * C;

  T at[elements]; ///< row-major

  [[nodiscard]] L3_FN constexpr T& operator[](std::uint32_t k) {
    check_index<default_range_checks>("element", k, elements);
    return at[k];
  }
  [[nodiscard]] L3_FN constexpr const T& operator[](std::uint32_t k) const {
    check_index<default_range_checks>("element", k, elements);
    return at[k];
  }
  [[nodiscard]] L3_FN constexpr T& operator()(std::uint32_t r, std::uint32_t c) {
    return (*this)[r * C + c];
  }
  [[nodiscard]] L3_FN constexpr const T& operator()(std::uint32_t r, std::uint32_t c) const {
    return (*this)[r * C + c];
  }
  [[nodiscard]] bool operator==(const matrix_of&) const = default;
};

template <class T, std::uint32_t N>
using vector_of = matrix_of<T, N, 1>;

/// E& if E is writable, else its value.
template <class E>
using read_or_reference = std::conditional_t<std::is_const_v<E>, std::remove_const_t<E>, E&>;

template <class E>
[[nodiscard]] L3_FN constexpr read_or_reference<E> read_or_refer(E* p) {
  if constexpr (std::is_const_v<E>) {
    return load_constant(p);
  } else {
    return *p; // NOLINT(clang-analyzer-core.uninitialized.UndefReturn): views point to memory
  }
}

template <class E, range_checks Checks>
class array_column {
public:
  array_column() = default;
  L3_FN constexpr array_column(E* data, std::uint32_t size) : data_(data), size_(size) {}
  /// A writable column converts to a read-only one, not vice versa.
  template <class U, range_checks Other>
  requires std::is_convertible_v<U (*)[], E (*)[]>
      L3_FN constexpr array_column(const array_column<U, Other>& o)
      : array_column(o.data(), o.size()) {}
  L3_FN array_column(const column<E>& o) : array_column(o.data(), o.size()) {}
  [[nodiscard]] L3_FN operator column<E>() const { return {data_, size_}; }

  [[nodiscard]] static array_column take(region& from, std::uint32_t n) { return from.take<E>(n); }

  [[nodiscard]] L3_FN constexpr read_or_reference<E> operator[](std::uint32_t i) const {
    check_index<Checks>("row", i, size_);
    return read_or_refer(data_ + i);
  }
  [[nodiscard]] L3_FN constexpr E* data() const { return data_; }
  [[nodiscard]] L3_FN constexpr std::uint32_t size() const { return size_; }
  [[nodiscard]] L3_FN constexpr array_column first(std::uint32_t n) const { return {data_, n}; }

private:
  E* data_ = nullptr;
  std::uint32_t size_ = 0;
};

/// One row of a matrix_column; it refers to the elements in their lanes.
template <class E, std::uint32_t R, std::uint32_t C, range_checks Checks>
class matrix_cell {
public:
  using value = matrix_of<std::remove_const_t<E>, R, C>;

  L3_FN constexpr matrix_cell(E* first, std::uint32_t stride) : first_(first), stride_(stride) {}

  [[nodiscard]] L3_FN constexpr read_or_reference<E> operator[](std::uint32_t k) const {
    check_index<Checks>("element", k, R * C);
    return read_or_refer(first_ + std::size_t{k} * stride_);
  }
  [[nodiscard]] L3_FN constexpr read_or_reference<E> operator()(std::uint32_t r,
                                                                std::uint32_t c) const {
    check_index<Checks>("matrix row", r, R);
    check_index<Checks>("matrix column", c, C);
    return (*this)[r * C + c];
  }

  [[nodiscard]] L3_FN constexpr operator value() const {
    value v{};
    for (std::uint32_t k = 0; k < R * C; ++k) v[k] = (*this)[k];
    return v;
  }
  /// Writes the elements; the cell refers to the same row as before.
  L3_FN constexpr const matrix_cell& operator=(const value& v) const requires(!std::is_const_v<E>) {
    for (std::uint32_t k = 0; k < R * C; ++k) (*this)[k] = v[k];
    return *this;
  }
  L3_FN constexpr const matrix_cell& operator=(const matrix_cell& o) const
      requires(!std::is_const_v<E>) {
    return *this = value(o);
  }
  matrix_cell(const matrix_cell&) = default;

private:
  E* first_;
  std::uint32_t stride_;
};

template <class E, std::uint32_t R, std::uint32_t C, range_checks Checks>
class matrix_column {
public:
  using cell = matrix_cell<E, R, C, Checks>;
  static constexpr std::uint32_t elements = R * C;

  matrix_column() = default;
  /// `stride` is the distance in memory between two elements of a row.
  L3_FN constexpr matrix_column(E* data, std::uint32_t size, std::uint32_t stride)
      : data_(data), size_(size), stride_(stride) {}
  template <class U, range_checks Other>
  requires std::is_convertible_v<U (*)[], E (*)[]>
      L3_FN constexpr matrix_column(const matrix_column<U, R, C, Other>& o)
      : matrix_column(o.data(), o.size(), o.stride()) {}

  /// Aligns every lane like a column.
  [[nodiscard]] static matrix_column take(region& from, std::uint32_t n) {
    constexpr auto rows = region::alignment / std::gcd(region::alignment, sizeof(E));
    const auto stride = static_cast<std::uint32_t>(round_up(n, rows));
    void* const p = from.take_bytes(std::size_t{elements} * stride * sizeof(E));
    return {static_cast<E*>(p), n, stride};
  }

  [[nodiscard]] L3_FN constexpr cell operator[](std::uint32_t i) const {
    check_index<Checks>("row", i, size_);
    return {data_ + i, stride_};
  }
  /// Element k of every row, as a plain column, over which loops vectorise.
  [[nodiscard]] L3_FN constexpr array_column<E, Checks> lane(std::uint32_t k) const {
    check_index<Checks>("element", k, elements);
    return {data_ + std::size_t{k} * stride_, size_};
  }
  [[nodiscard]] L3_FN constexpr E* data() const { return data_; }
  [[nodiscard]] L3_FN constexpr std::uint32_t size() const { return size_; }
  [[nodiscard]] L3_FN constexpr std::uint32_t stride() const { return stride_; }
  [[nodiscard]] L3_FN constexpr matrix_column first(std::uint32_t n) const {
    return {data_, n, stride_};
  }

private:
  E* data_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t stride_ = 0;
};

/// Used like a pointer: `*view.threshold = 7`.
template <class E>
class scalar_column {
public:
  scalar_column() = default;
  L3_FN constexpr explicit scalar_column(E* data) : data_(data) {}
  template <class U>
  requires std::is_convertible_v<U (*)[], E (*)[]>
      L3_FN constexpr scalar_column(const scalar_column<U>& o) : scalar_column(o.data()) {}

  [[nodiscard]] static scalar_column take(region& from, std::uint32_t) {
    return scalar_column(from.take<E>(1).data());
  }

  [[nodiscard]] L3_FN constexpr read_or_reference<E> operator*() const {
    return read_or_refer(data_);
  }
  [[nodiscard]] L3_FN constexpr E* data() const { return data_; }

private:
  E* data_ = nullptr;
};

} // namespace l3
