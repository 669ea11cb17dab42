// SPDX-License-Identifier: Apache-2.0
// Structures of arrays. A schema is a struct template over the type of its columns; soa<schema> is
// the layout made from it. A layout places the columns in one buffer, each on cache lines of its
// own, and has views that read like an array of structs (`pulses[i].energy`) or column by column
// (`pulses.energy[i]`). Views own no memory, and kernels take them by value.
//
// The columns of a view may come from several layouts: view(columns{.energy = …, .x = …}) makes a
// view from columns of equal length. docs/adding-a-column.md shows the use of all this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "gpu/columns/checks.hpp"
#include "gpu/columns/fields.hpp"
#include "gpu/columns/load.hpp"
#include "gpu/memory/buffer.hpp"
#include "gpu/memory/column.hpp"

namespace l3 {

/// A column of a view: a pointer and a length. E is the type of a value, and const in a read-only
/// view; such a column returns values, which a device loads through its non-coherent cache, and
/// never references.
template <class E>
class array_column {
  static_assert(std::is_trivially_copyable_v<E>, "columns are copied as bytes");

public:
  using element = std::conditional_t<std::is_const_v<E>, std::remove_const_t<E>, E&>;

  array_column() = default;
  L3_FN constexpr array_column(E* data, std::uint32_t size) : data_(data), size_(size) {}
  /// A writable column converts to a read-only one, never the other way round.
  template <class U>
  requires std::is_convertible_v<U (*)[], E (*)[]>
      L3_FN constexpr array_column(const array_column<U>& o) : array_column(o.data(), o.size()) {}
  L3_FN array_column(const column<E>& o) : array_column(o.data(), o.size()) {}
  [[nodiscard]] L3_FN operator column<E>() const { return {data_, size_}; }

  [[nodiscard]] L3_FN constexpr element operator[](std::uint32_t i) const {
    check_index("row", i, size_);
    if constexpr (std::is_const_v<E>) {
      return load_constant(data_ + i);
    } else {
      return data_[i]; // NOLINT(clang-analyzer-core.uninitialized.UndefReturn): points to memory
    }
  }
  [[nodiscard]] L3_FN constexpr E* data() const { return data_; }
  [[nodiscard]] L3_FN constexpr std::uint32_t size() const { return size_; }

private:
  E* data_ = nullptr;
  std::uint32_t size_ = 0;
};

template <template <template <class> class> class Fields>
class soa {
  template <class T>
  using writable = array_column<T>;
  template <class T>
  using readable = array_column<const T>;
  template <class T>
  using cell = T&;
  template <class T>
  using plain = T;
  template <class T>
  struct column_of {
    using type = T;
  };
  template <class... T>
  struct type_list {};

  static constexpr std::size_t n_fields = field_count<Fields>;

public:
  using columns = Fields<writable>;
  using const_columns = Fields<readable>;
  /// The values of a row, like one element of an array of structs.
  using value = Fields<plain>;

  static_assert(!named_like_members_of_views<Fields<column_of>>,
                "no column may be called size or as_columns: views have these");

  // The parameters below have long names so that no column has the same name.

  /// Refers to a row of a view.
  class row : public Fields<cell> {
  public:
    L3_FN constexpr explicit row(const Fields<cell>& all_cells) : Fields<cell>(all_cells) {}
    row(const row&) = default;

    [[nodiscard]] L3_FN constexpr operator value() const {
      return with_fields<n_fields>(*this, [](auto&... c) { return value{c...}; });
    }
    /// Writes the cells; the row refers to the same place as before.
    L3_FN constexpr const row& operator=(const value& all_values) const {
      with_fields<n_fields>(*this, [&](auto&... to) {
        with_fields<n_fields>(all_values, [&](auto&... from) { ((to = from), ...); });
      });
      return *this;
    }
    L3_FN constexpr const row& operator=(const row& other_row) const {
      return *this = value(other_row);
    }
  };

  class view : public columns {
  public:
    view() = default;
    /// All columns must have one length, which becomes that of the view. Columns of different
    /// length fail like a range check, in every build.
    L3_FN constexpr explicit view(const columns& all_columns)
        : columns(all_columns), size_(common_size(all_columns)) {}

    [[nodiscard]] L3_FN constexpr std::uint32_t size() const { return size_; }
    [[nodiscard]] L3_FN constexpr row operator[](std::uint32_t row_index) const {
      check_index("row", row_index, size_);
      return row(with_fields<n_fields>(
          as_columns(), [row_index](auto&... c) { return Fields<cell>{c[row_index]...}; }));
    }
    [[nodiscard]] L3_FN constexpr const columns& as_columns() const { return *this; }

  private:
    std::uint32_t size_ = 0;
  };

  /// A read-only view, which does not convert to a writable one. No thread may write its columns
  /// while a kernel reads them, because a device reads them through a cache that is not kept
  /// consistent.
  class const_view : public const_columns {
  public:
    const_view() = default;
    L3_FN constexpr explicit const_view(const const_columns& all_columns)
        : const_columns(all_columns), size_(common_size(all_columns)) {}
    L3_FN constexpr const_view(const view& writable_view)
        : const_columns(with_fields<n_fields>(writable_view.as_columns(),
                                              [](auto&... c) { return const_columns{c...}; })),
          size_(writable_view.size()) {}

    [[nodiscard]] L3_FN constexpr std::uint32_t size() const { return size_; }
    /// A copy of a row. An optimising compiler reads only the columns whose values are used.
    [[nodiscard]] L3_FN constexpr const value operator[](std::uint32_t row_index) const {
      check_index("row", row_index, size_);
      return with_fields<n_fields>(as_columns(),
                                   [row_index](auto&... c) { return value{c[row_index]...}; });
    }
    [[nodiscard]] L3_FN constexpr const const_columns& as_columns() const { return *this; }

  private:
    std::uint32_t size_ = 0;
  };

  /// Takes the columns for n rows from the region, in the order of their declaration, each on cache
  /// lines of its own. From a region that only counts, the columns are null but have the length n.
  [[nodiscard]] static view take(region& from, std::uint32_t n) {
    return take_each(from, n, decltype(declared_types()){});
  }

  /// Length of a buffer for n rows.
  [[nodiscard]] static std::size_t bytes(std::uint32_t n) {
    region counted;
    static_cast<void>(take(counted, n));
    return counted.used();
  }

private:
  /// The T of every column<T>, in the order of their declaration.
  L3_FN static constexpr auto declared_types() {
    const Fields<column_of> fields{};
    return with_fields<n_fields>(
        fields, [](auto... c) { return type_list<typename decltype(c)::type...>{}; });
  }
  template <class... T>
  static view take_each(region& from, std::uint32_t n, type_list<T...>) {
    return view(columns{from.take<T>(n)...}); // braces evaluate from left to right
  }

  template <class Columns>
  L3_FN static constexpr std::uint32_t common_size(const Columns& all) {
    return with_fields<n_fields>(all, [](auto& first, auto&... others) {
      const auto compare = [&](std::uint32_t n) {
        if (n != first.size()) fail_range("columns of different length", n, first.size());
      };
      (compare(others.size()), ...);
      static_cast<void>(compare); // a schema may have one column
      return first.size();
    });
  }
};

} // namespace l3
