// SPDX-License-Identifier: Apache-2.0
#include "config/toml/section.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace l3 {

toml::table parse_toml(std::string_view text, std::string_view name) {
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& e) {
    const auto at = e.source().begin;
    throw std::runtime_error(std::string(name) + ':' + std::to_string(at.line) + ':' +
                             std::to_string(at.column) + ": " + std::string(e.description()));
  }
}

std::string section::place(const toml::node& node) const {
  const auto at = node.source().begin;
  return std::string(file_) + ':' + std::to_string(at.line) + ':' + std::to_string(at.column);
}

std::string section::place(std::string_view key) const {
  const auto* node = find(key);
  return node == nullptr ? place() : place(*node);
}

void section::refuse(std::string_view key, const std::string& text) const {
  throw std::runtime_error(place(key) + ": " + title_ + '.' + std::string(key) + ' ' + text);
}

void section::allow(const std::vector<std::string_view>& keys) const {
  std::string known;
  for (const auto key : keys) known += (known.empty() ? "" : ", ") + std::string(key);
  complaints wrong;
  for (const auto& [key, node] : table_)
    if (std::find(keys.begin(), keys.end(), key.str()) == keys.end())
      wrong.add(place(node) + ": unknown key " + title_ + '.' + std::string(key.str()) +
                "; known are " + known);
  wrong.raise();
}

section section::inner(std::string_view key) const {
  const auto* table = table_.get_as<toml::table>(key);
  if (table == nullptr && has(key)) refuse(key, "must be a table: [" + std::string(key) + "]");
  if (table == nullptr)
    throw std::runtime_error(std::string(file_) + ": the table [" + std::string(key) +
                             "] is missing");
  return {*table, std::string(key), file_};
}

double section::number(std::string_view key, std::optional<double> missing) const {
  const auto* node = find(key);
  if (node == nullptr && missing) return *missing;
  const auto value = node == nullptr ? std::optional<double>{} : node->value<double>();
  if (!value || !std::isfinite(*value)) refuse(key, "must be a number");
  return *value;
}

double section::positive(std::string_view key, std::optional<double> missing) const {
  const double v = number(key, missing);
  if (v <= 0) refuse(key, "must be above 0");
  return v;
}

double section::number_within(std::string_view key, double least, double most,
                              std::optional<double> missing) const {
  const double v = number(key, missing);
  if (v < least || v > most)
    refuse(key, "must lie within " + in_words(least) + " to " + in_words(most));
  return v;
}

std::uint32_t section::count(std::string_view key, std::uint32_t least, std::uint32_t most,
                             std::optional<std::uint32_t> missing) const {
  const auto* node = find(key);
  if (node == nullptr && missing) return *missing;
  const auto v =
      node == nullptr ? std::optional<std::int64_t>{} : node->value_exact<std::int64_t>();
  if (!v || *v < least || *v > most)
    refuse(key, "must be a whole number, " + std::to_string(least) + " to " + std::to_string(most));
  return static_cast<std::uint32_t>(*v);
}

bool section::yes(std::string_view key, bool missing) const {
  const auto* node = find(key);
  if (node == nullptr) return missing;
  const auto v = node->value_exact<bool>();
  if (!v) refuse(key, "must be true or false");
  return *v;
}

std::string section::text(std::string_view key) const {
  const auto* node = find(key);
  const auto v = node == nullptr ? std::optional<std::string>{} : node->value<std::string>();
  if (!v || v->empty()) refuse(key, "must be a text");
  return *v;
}

std::vector<std::pair<double, double>> section::pairs(std::string_view key) const {
  std::vector<std::pair<double, double>> all;
  const auto* node = find(key);
  if (node == nullptr) return all;
  const auto fail = [&] { refuse(key, "must be a list of pairs of numbers: [[1.0, 2.0], …]"); };
  const auto* list = node->as_array();
  if (list == nullptr) fail();
  for (const auto& entry : *list) {
    const auto* pair = entry.as_array();
    if (pair == nullptr || pair->size() != 2) fail();
    const auto first = (*pair)[0].value<double>();
    const auto second = (*pair)[1].value<double>();
    if (!first || !second || !std::isfinite(*first) || !std::isfinite(*second)) fail();
    all.emplace_back(*first, *second);
  }
  return all;
}

std::array<double, 2> section::range(std::string_view key) const {
  const auto r = numbers<2>(key);
  if (!(r[0] <= r[1])) refuse(key, "must rise");
  return r;
}

} // namespace l3
