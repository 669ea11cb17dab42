// SPDX-License-Identifier: Apache-2.0
// A reader's view of a TOML table: it asks for a key of a given kind and gets the value. An invalid
// value is reported with its place, and the reader continues with its default for a missing key.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/toml/complaints.hpp"
#include "config/toml/value.hpp"

namespace l3 {

/// A key, or a whole table, of an older version.
struct gone_key {
  std::string_view path;   ///< "table.key"
  std::string_view advice; ///< the remedy, as the rest of a sentence
};

class toml_table {
public:
  /// Views the whole file that `root` was parsed from. Refers to all three arguments.
  toml_table(const toml_value& root, const std::string& file, complaints& wrong)
      : table_(&root), file_(&file), wrong_(&wrong) {}

  [[nodiscard]] const std::string& title() const { return title_; }
  [[nodiscard]] const std::vector<toml_value>& values() const;
  /// Returns nullptr if the key is missing.
  [[nodiscard]] const toml_value* find(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }

  [[nodiscard]] source_place place(const toml_value& v) const { return {*file_, v.line, v.column}; }
  /// Returns the place of the table if the key is missing.
  [[nodiscard]] source_place place(std::string_view key) const;

  /// Reports "FILE:LINE:COLUMN: table.key = VALUE " and the text.
  void complain(std::string_view key, std::string_view text) const;
  /// Reports an element of the key's list as VALUE, at the element's place.
  void complain(std::string_view key, const toml_value& element, std::string_view text) const;
  [[nodiscard]] complaints& wrong() const { return *wrong_; }

  /// Reports missing required keys and unknown keys. For an unknown key it gives the advice in
  /// `gone`, or else suggests the nearest name in `elsewhere` ("table.key") or in the two lists.
  void allow(const std::vector<std::string_view>& required,
             const std::vector<std::string_view>& optional,
             const std::vector<std::string_view>& elsewhere = {},
             const std::vector<gone_key>& gone = {}) const;

  /// Calls f with the inner table of that name, if it exists.
  template <class F>
  void inner(std::string_view key, const F& f) const;
  /// Calls f with every [[key]].
  template <class F>
  void for_each_table(std::string_view key, const F& f) const;

  [[nodiscard]] setting<double> number(std::string_view key, double least, double most,
                                       setting<double> missing = {}) const;
  /// A number above 0.
  [[nodiscard]] setting<double> positive(std::string_view key, double most,
                                         setting<double> missing = {}) const;
  [[nodiscard]] setting<std::uint32_t> count(std::string_view key, std::uint32_t least,
                                             std::uint32_t most,
                                             setting<std::uint32_t> missing = {}) const;
  [[nodiscard]] bool yes(std::string_view key) const;
  [[nodiscard]] setting<std::string> text(std::string_view key) const;
  /// A list of texts; empty if it is missing.
  [[nodiscard]] std::vector<setting<std::string>> texts(std::string_view key) const;
  /// A list of `count` numbers, which may be infinite; empty if it is missing or wrong.
  [[nodiscard]] std::vector<double> numbers(std::string_view key, std::size_t count) const;
  /// Two numbers in ascending order; {least, most} if missing or wrong.
  [[nodiscard]] std::array<double, 2> range(std::string_view key, double least, double most) const;

private:
  [[nodiscard]] toml_table child(const toml_value& table, std::string_view key) const;
  [[nodiscard]] std::string path(std::string_view key) const;

  const toml_value* table_;
  const std::string* file_;
  complaints* wrong_;
  std::string title_;
};

template <class F>
void toml_table::inner(std::string_view key, const F& f) const {
  const auto* v = find(key);
  if (v == nullptr) return;
  if (v->as<toml_value::table>() != nullptr) return f(child(*v, key));
  complain(key, "is not a table; write [" + std::string(key) + "] with its keys below it");
}

template <class F>
void toml_table::for_each_table(std::string_view key, const F& f) const {
  const auto* v = find(key);
  if (v == nullptr) return;
  const auto* list = v->as<toml_value::list>();
  if (list == nullptr)
    return complain(key, "is not a list of tables; write [[" + std::string(key) + "]]");
  for (const auto& entry : *list) {
    if (entry.as<toml_value::table>() != nullptr) {
      f(child(entry, key));
    } else {
      complain(key, entry, "is not a table; write [[" + std::string(key) + "]]");
    }
  }
}

} // namespace l3
