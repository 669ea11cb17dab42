// SPDX-License-Identifier: Apache-2.0
// Structures of arrays. A schema is a struct template over the type of its columns; soa<schema> is
// the layout made from it. A layout places the columns in one buffer, each on cache lines of its
// own, and has views that read like an array of structs (`pulses[i].energy`) or column by column
// (`pulses.energy[i]`). Views own no memory, and kernels take them by value.
//
// The columns of a view may come from several layouts: view(columns{.energy = …, .x = …}) makes a
// view from columns of equal length. docs/adding-a-column.md shows how to use this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "gpu/columns/column_types.hpp"
#include "gpu/columns/fields.hpp"

namespace l3 {

template <template <template <class> class> class Fields,
          range_checks Checks = default_range_checks>
class soa {
  template <class T>
  using writable = typename column_types<T, Checks>::writable;
  template <class T>
  using readable = typename column_types<T, Checks>::readable;
  template <class T>
  using cell = typename column_types<T, Checks>::cell;
  template <class T>
  using plain = typename column_types<T, Checks>::value;

  static constexpr std::size_t n_fields = field_count<Fields>;

public:
  using columns = Fields<writable>;
  using const_columns = Fields<readable>;
  /// The values of a row, like one element of an array of structs.
  using value = Fields<plain>;

  /// The schema alone, for code that visits its fields.
  using declared = Fields<column_of>;
  static_assert(!named_like_members_of_views<declared>,
                "no column may be called size, first or as_columns: views have these");

  /// The same layout, checked in every build.
  using checked = soa<Fields, range_checks::on>;

  // The parameters below have long names so that no column has the same name.

  /// Refers to a row of a view.
  class row : public Fields<cell> {
  public:
    L3_FN constexpr explicit row(const Fields<cell>& all_cells) : Fields<cell>(all_cells) {}
    row(const row&) = default;

    [[nodiscard]] L3_FN constexpr operator value() const { return value_of(*this); }
    /// Writes the cells; the row refers to the same place as before.
    L3_FN constexpr const row& operator=(const value& all_values) const {
      write_cells(*this, all_values);
      return *this;
    }
    L3_FN constexpr const row& operator=(const row& other_row) const {
      return *this = value(other_row);
    }
  };

  class view : public columns {
  public:
    view() = default;
    /// All columns except scalars must have the same length, which becomes that of the view.
    /// Columns of different length fail like a range check in every build.
    L3_FN constexpr explicit view(const columns& all_columns)
        : columns(all_columns), size_(common_size(all_columns)) {}

    [[nodiscard]] L3_FN constexpr std::uint32_t size() const { return size_; }
    [[nodiscard]] L3_FN constexpr row operator[](std::uint32_t row_index) const {
      check_index<Checks>("row", row_index, size_);
      return row(cells_of(as_columns(), row_index));
    }
    /// The first row_count rows; row_count ≤ size().
    [[nodiscard]] L3_FN constexpr view first(std::uint32_t row_count) const {
      return view(first_rows(as_columns(), row_count, size_));
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
        : const_columns(read_only(writable_view.as_columns())), size_(writable_view.size()) {}

    [[nodiscard]] L3_FN constexpr std::uint32_t size() const { return size_; }
    /// A copy of a row. An optimising compiler reads only the columns whose values are used.
    [[nodiscard]] L3_FN constexpr const value operator[](std::uint32_t row_index) const {
      check_index<Checks>("row", row_index, size_);
      return values_of(as_columns(), row_index);
    }
    [[nodiscard]] L3_FN constexpr const_view first(std::uint32_t row_count) const {
      return const_view(first_rows(as_columns(), row_count, size_));
    }
    [[nodiscard]] L3_FN constexpr const const_columns& as_columns() const { return *this; }

  private:
    std::uint32_t size_ = 0;
  };

  /// Takes the columns for n rows from the region, in the order of their declaration, each on its
  /// own cache lines. From a region that only counts, the columns are null but have the length n.
  [[nodiscard]] static view take(region& from, std::uint32_t n) {
    return take_each(from, n, decltype(declared_types()){});
  }

  /// Length of a buffer for n rows.
  [[nodiscard]] static std::size_t bytes(std::uint32_t n) {
    region counted;
    static_cast<void>(take(counted, n));
    return counted.used();
  }

  /// A view of the n rows in a buffer that has at least bytes(n) bytes and is aligned like a
  /// region.
  [[nodiscard]] static view over(std::span<std::byte> memory, std::uint32_t n) {
    if (memory.size() < bytes(n)) fail_range("bytes of columns", bytes(n), memory.size());
    if (reinterpret_cast<std::uintptr_t>(memory.data()) % region::alignment != 0) {
      throw std::invalid_argument("columns over a buffer that is not aligned");
    }
    const buffer borrowed(memory.data(), memory.size(), [](std::byte*, std::size_t) {});
    region all(borrowed);
    return take(all, n);
  }

private:
  /// The T of every column<T>, in the order of their declaration.
  L3_FN static constexpr auto declared_types() {
    const declared fields{};
    return with_fields<n_fields>(
        fields, [](auto... c) { return type_list<typename decltype(c)::type...>{}; });
  }
  template <class... T>
  static view take_each(region& from, std::uint32_t n, type_list<T...>) {
    return view(columns{writable<T>::take(from, n)...}); // braces evaluate from left to right
  }

  L3_FN static constexpr const_columns read_only(const columns& all) {
    return with_fields<n_fields>(all, [](auto&... c) { return const_columns{c...}; });
  }
  L3_FN static constexpr Fields<cell> cells_of(const columns& all, std::uint32_t i) {
    return with_fields<n_fields>(all, [i](auto&... c) { return Fields<cell>{cell_of(c, i)...}; });
  }
  L3_FN static constexpr value values_of(const const_columns& all, std::uint32_t i) {
    return with_fields<n_fields>(all, [i](auto&... c) { return value{cell_of(c, i)...}; });
  }
  L3_FN static constexpr value value_of(const Fields<cell>& cells) {
    return with_fields<n_fields>(cells, [](auto&... c) { return value{c...}; });
  }
  L3_FN static constexpr void write_cells(const Fields<cell>& cells, const value& values) {
    with_fields<n_fields>(cells, [&](auto&... to) {
      with_fields<n_fields>(values, [&](auto&... from) { (write_cell(to, from), ...); });
    });
  }
  template <class To, class From>
  L3_FN static constexpr void write_cell(To& to, const From& from) {
    if constexpr (!std::is_same_v<From, beside_rows>) to = from;
  }

  template <class Column>
  L3_FN static constexpr decltype(auto) cell_of(const Column& c, std::uint32_t i) {
    if constexpr (is_scalar_column<Column>) {
      return beside_rows{};
    } else {
      return c[i];
    }
  }

  template <class Columns>
  L3_FN static constexpr std::uint32_t common_size(const Columns& all) {
    std::uint32_t size = 0;
    bool found = false;
    with_fields<n_fields>(all, [&](auto&... c) { (compare_size(c, size, found), ...); });
    return size;
  }
  template <class Column>
  L3_FN static constexpr void compare_size(const Column& c, std::uint32_t& size, bool& found) {
    if constexpr (!is_scalar_column<Column>) {
      if (found && c.size() != size) fail_range("columns of different length", c.size(), size);
      size = c.size();
      found = true;
    }
  }

  template <class Columns>
  L3_FN static constexpr Columns first_rows(const Columns& all, std::uint32_t n,
                                            std::uint32_t size) {
    if (n > size) fail_range("first rows", n, size);
    return with_fields<n_fields>(all, [n](auto&... c) { return Columns{first_of(c, n)...}; });
  }
  template <class Column>
  L3_FN static constexpr Column first_of(const Column& c, std::uint32_t n) {
    if constexpr (is_scalar_column<Column>) {
      return c;
    } else {
      return c.first(n);
    }
  }
};

} // namespace l3
