// SPDX-License-Identifier: Apache-2.0
#include "config/toml/complaints.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "transport/format/plain_text.hpp"

namespace l3 {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Row i holds the distances of the first i characters of a to all prefixes of b.
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates) {
  std::string_view best;
  constexpr std::size_t short_name = 3; // for shorter names one or two edits reach any other name
  const std::size_t most =
      name.size() <= short_name ? 1 : std::max<std::size_t>(2, name.size() / 3);
  std::size_t best_distance = most + 1;
  for (const std::string_view c : candidates) {
    const bool same_key = name.find('.') != name.npos && c.ends_with(name.substr(name.rfind('.')));
    const std::size_t d = same_key ? 0 : edit_distance(name, c);
    if (d < best_distance) {
      best = c;
      best_distance = d;
    }
  }
  return best;
}

std::string suggest(std::string_view name, const std::vector<std::string_view>& all) {
  const std::string_view meant = nearest(name, all);
  return meant.empty() ? fmt::format("there are {}", fmt::join(all, ", "))
                       : fmt::format("did you mean {}?", meant);
}

namespace {

std::string lines_of(const std::vector<complaint>& all) {
  std::vector<std::string> lines;
  lines.reserve(all.size());
  for (const complaint& c : all) lines.push_back(to_string(c));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

} // namespace

std::string to_string(const source_place& at) {
  if (at.line == 0) return at.file;
  return at.column == 0 ? fmt::format("{}:{}", at.file, at.line)
                        : fmt::format("{}:{}:{}", at.file, at.line, at.column);
}

std::string to_string(const complaint& c) { return plain_line(to_string(c.at) + ": " + c.text); }

bad_file::bad_file(std::vector<complaint> all)
    : std::runtime_error(lines_of(all)), all_(std::move(all)) {}

std::vector<complaint> complaints::take() {
  std::stable_sort(all_.begin(), all_.end(), [](const complaint& a, const complaint& b) {
    return std::tie(a.at.line, a.at.column) < std::tie(b.at.line, b.at.column);
  });
  return std::exchange(all_, {});
}

} // namespace l3
