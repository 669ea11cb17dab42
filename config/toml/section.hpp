// SPDX-License-Identifier: Apache-2.0
// A table of a description in TOML, as the readers of the detector and of the selection's settings
// see it: they ask for a key by its kind and get its value, or an exception that says where in
// which file what is wrong and what to write instead. A reader that wants to report all mistakes at
// once wraps each question in complaints::hear. toml++ stays in the sources that include this.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "config/toml/complaints.hpp"

namespace l3 {

/// Throws std::runtime_error: "NAME:LINE:COLUMN: what is wrong".
[[nodiscard]] toml::table parse_toml(std::string_view text, std::string_view name);

class section {
public:
  /// `title` is what messages call the table; `file` names the file in them. Refers to both.
  section(const toml::table& table, std::string title, std::string_view file)
      : table_(table), title_(std::move(title)), file_(file) {}

  /// "FILE:LINE:COLUMN" of a value, of the table, of a key (of the table if the key is missing).
  [[nodiscard]] std::string place(const toml::node& node) const;
  [[nodiscard]] std::string place() const { return place(table_); }
  [[nodiscard]] std::string place(std::string_view key) const;

  /// Throws std::runtime_error: "FILE:LINE:COLUMN: title.key " and the text.
  [[noreturn]] void refuse(std::string_view key, const std::string& text) const;

  /// Refuses all keys but these.
  void allow(const std::vector<std::string_view>& keys) const;

  [[nodiscard]] bool has(std::string_view key) const { return table_.contains(key); }
  /// nullptr if it is missing.
  [[nodiscard]] const toml::node* find(std::string_view key) const { return table_.get(key); }
  /// The table of that name within this one. Refuses anything else.
  [[nodiscard]] section inner(std::string_view key) const;
  /// Calls f(section) for every [[key]]. Refuses anything but tables.
  template <class F>
  void for_each_table(std::string_view key, const F& f) const;

  // The value of a key, which must be there unless `missing` says what it is then.
  [[nodiscard]] double number(std::string_view key, std::optional<double> missing = {}) const;
  [[nodiscard]] double positive(std::string_view key, std::optional<double> missing = {}) const;
  [[nodiscard]] double number_within(std::string_view key, double least, double most,
                                     std::optional<double> missing = {}) const;
  [[nodiscard]] std::uint32_t count(std::string_view key, std::uint32_t least, std::uint32_t most,
                                    std::optional<std::uint32_t> missing = {}) const;
  [[nodiscard]] bool yes(std::string_view key, bool missing) const;
  [[nodiscard]] std::string text(std::string_view key) const;
  template <std::size_t N>
  [[nodiscard]] std::array<double, N> numbers(std::string_view key) const;
  /// A list of pairs of numbers; none if the key is not there.
  [[nodiscard]] std::vector<std::pair<double, double>> pairs(std::string_view key) const;
  /// Two numbers of which the second is not below the first.
  [[nodiscard]] std::array<double, 2> range(std::string_view key) const;

private:
  const toml::table& table_;
  std::string title_;
  std::string_view file_;
};

template <class F>
void section::for_each_table(std::string_view key, const F& f) const {
  const auto* node = find(key);
  if (node == nullptr) return;
  const auto* list = node->as_array();
  if (list == nullptr) refuse(key, "must be tables: [[" + std::string(key) + "]]");
  for (const auto& entry : *list) {
    if (!entry.is_table()) refuse(key, "must be tables: [[" + std::string(key) + "]]");
    f(section(*entry.as_table(), std::string(key), file_));
  }
}

template <std::size_t N>
std::array<double, N> section::numbers(std::string_view key) const {
  const auto* list = table_.get_as<toml::array>(key);
  std::array<double, N> values{};
  bool good = list != nullptr && list->size() == N;
  for (std::size_t i = 0; good && i < N; ++i) {
    const auto v = (*list)[i].template value<double>();
    good = v.has_value();
    values[i] = v.value_or(0);
  }
  if (!good) refuse(key, "must be a list of " + std::to_string(N) + " numbers");
  return values;
}

} // namespace l3
