// SPDX-License-Identifier: Apache-2.0
#include "selection/detector/dead_inputs.hpp"

#include <algorithm>
#include <cstddef>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "selection/detector/cable_map.hpp"
#include "selection/detector/table_rows.hpp"

namespace l3 {
namespace {

constexpr std::string_view header = "input,gain,time,threshold,dead";
constexpr std::size_t dead_field = 4;

/// The fields with this one in the place of `dead`.
std::string marked_as_dead(table_rows& row) {
  std::vector<std::string_view> fields;
  for (std::size_t n = 0; n < row.size(); ++n) fields.push_back(row.field(n));
  fields.at(dead_field) = "1";
  return fmt::format("{}", fmt::join(fields, ","));
}

} // namespace

std::vector<input_address> dead_by(const calibration& c, const detector& d) {
  std::vector<input_address> found;
  const auto nominal = nominal_calibration(d);
  const auto look_at = [&](input_address at) {
    const auto n = d.number_of(at);
    if (c[n].dead && !nominal[n].dead) found.push_back(at);
  };
  for (const crystal& part : d.crystals()) look_at(part.at);
  for (const veto& counter : d.vetoes()) std::ranges::for_each(counter.inputs, look_at);
  std::ranges::sort(found);
  return found;
}

std::string with_dead(std::string_view table, std::span<const input_address> inputs) {
  std::set<input_address> left(inputs.begin(), inputs.end());
  std::string made;
  std::size_t fields = 0; // of the header; 0: it has not come yet
  while (!table.empty()) {
    const std::string_view line = table.substr(0, table.find('\n'));
    table.remove_prefix(std::min(line.size() + 1, table.size()));
    table_rows row(line, {});
    const bool is_row = row.next();
    if (is_row && fields == 0) fields = row.size();
    const auto at = is_row ? parse_input(row.field(0)) : std::nullopt;
    made += at && left.erase(*at) != 0 ? marked_as_dead(row) : std::string(line);
    made += "\n";
  }
  if (fields == 0) {
    made += fmt::format("{}\n", header);
    fields = dead_field + 1;
  }
  for (const input_address& at : left)
    made += fmt::format("{},,,,1{}\n", to_string(at), std::string(fields - dead_field - 1, ','));
  return made;
}

} // namespace l3
