// SPDX-License-Identifier: Apache-2.0
#include "config/toml/table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "config/toml/complaints.hpp"

namespace l3 {

const std::vector<toml_value>& toml_table::values() const {
  return table_->as<toml_value::table>()->values;
}

const toml_value* toml_table::find(std::string_view key) const {
  const auto at = std::find_if(values().begin(), values().end(),
                               [key](const toml_value& v) { return v.key == key; });
  return at == values().end() ? nullptr : &*at;
}

toml_table toml_table::child(const toml_value& table, std::string_view key) const {
  toml_table t(table, *file_, *wrong_);
  t.title_ = key;
  return t;
}

std::string toml_table::path(std::string_view key) const {
  return title_.empty() ? std::string(key) : fmt::format("{}.{}", title_, key);
}

source_place toml_table::place(std::string_view key) const {
  if (const auto* v = find(key)) return place(*v);
  return title_.empty() ? source_place{*file_} : place(*table_);
}

void toml_table::complain(std::string_view key, std::string_view text) const {
  if (const auto* v = find(key)) return complain(key, *v, text);
  wrong_->add(place(key), "{} {}", path(key), text);
}

void toml_table::complain(std::string_view key, const toml_value& element,
                          std::string_view text) const {
  wrong_->add(place(element), "{} = {} {}", path(key), written(element), text);
}

void toml_table::allow(const std::vector<std::string_view>& required,
                       const std::vector<std::string_view>& optional,
                       const std::vector<std::string_view>& elsewhere,
                       const std::vector<gone_key>& gone) const {
  for (const auto key : required)
    if (!has(key)) complain(key, "is missing");
  std::vector<std::string_view> known = required;
  known.insert(known.end(), optional.begin(), optional.end());
  for (const toml_value& v : values()) {
    if (std::find(known.begin(), known.end(), v.key) != known.end()) continue;
    if (wrong_->full()) return;
    const source_place at{*file_, v.key_line, v.key_column};
    const auto removed = std::ranges::find(gone, path(v.key), &gone_key::path);
    if (removed != gone.end()) {
      wrong_->add(at, "{} was removed: {}", removed->path, removed->advice);
      continue;
    }
    const auto meant = nearest(path(v.key), elsewhere);
    wrong_->add(at, "{} is not a key; {}", path(v.key),
                meant.empty() ? suggest(v.key, known) : fmt::format("did you mean {}?", meant));
  }
}

setting<double> toml_table::number(std::string_view key, double least, double most,
                                   setting<double> missing) const {
  const auto* v = find(key);
  if (v == nullptr) return missing;
  const auto n = v->number();
  if (n && *n >= least && *n <= most) return {*n, place(*v)};
  complain(key, n && std::isfinite(*n) ? fmt::format("is out of range {:g}..{:g}", least, most)
                                       : "is not a number");
  return missing;
}

setting<double> toml_table::positive(std::string_view key, double most,
                                     setting<double> missing) const {
  const auto* v = find(key);
  if (v == nullptr || v->number().value_or(1) > 0) return number(key, 0, most, std::move(missing));
  complain(key, "is not above 0");
  return missing;
}

setting<std::uint32_t> toml_table::count(std::string_view key, std::uint32_t least,
                                         std::uint32_t most, setting<std::uint32_t> missing) const {
  const auto* v = find(key);
  if (v == nullptr) return missing;
  const auto* n = v->as<std::int64_t>();
  if (n != nullptr && *n >= least && *n <= most) return {static_cast<std::uint32_t>(*n), place(*v)};
  complain(key,
           n == nullptr ? "is not an integer" : fmt::format("is out of range {}..{}", least, most));
  return missing;
}

bool toml_table::yes(std::string_view key) const {
  const auto* v = find(key);
  if (v == nullptr) return false;
  const auto* truth = v->as<bool>();
  if (truth == nullptr) complain(key, "is neither true nor false");
  return truth != nullptr && *truth;
}

setting<std::string> toml_table::text(std::string_view key) const {
  const auto* v = find(key);
  if (v == nullptr) return {};
  const auto* text = v->as<std::string>();
  if (text != nullptr && !text->empty()) return {*text, place(*v)};
  complain(key, "is not a text in quotes");
  return {};
}

std::vector<setting<std::string>> toml_table::texts(std::string_view key) const {
  const auto* v = find(key);
  if (v == nullptr) return {};
  const auto* list = v->as<toml_value::list>();
  std::vector<setting<std::string>> all;
  if (list == nullptr) {
    complain(key, "is not a list of texts in quotes");
    return all;
  }
  for (const toml_value& e : *list) {
    const auto* text = e.as<std::string>();
    if (text != nullptr && !text->empty()) {
      all.emplace_back(*text, place(e));
    } else {
      complain(key, e, "is not a text in quotes");
    }
  }
  return all;
}

std::vector<double> toml_table::numbers(std::string_view key, std::size_t count) const {
  const auto* v = find(key);
  if (v == nullptr) return {};
  auto all = v->numbers(count);
  if (all.empty()) complain(key, fmt::format("is not a list of {} numbers", count));
  return all;
}

std::array<double, 2> toml_table::range(std::string_view key, double least, double most) const {
  const auto ends = numbers(key, 2);
  if (ends.empty()) return {least, most};
  if (ends[0] >= least && ends[0] <= ends[1] && ends[1] <= most) return {ends[0], ends[1]};
  complain(key, ends[0] > ends[1] ? "must rise; write [from, to]"
                                  : fmt::format("is out of range {:g}..{:g}", least, most));
  return {least, most};
}

} // namespace l3
