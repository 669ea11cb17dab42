// SPDX-License-Identifier: Apache-2.0
#include "transport/store/summary_view.hpp"

#include <algorithm>

#include "transport/format/endian.hpp"

namespace l3 {
namespace {

/// Takes the rows at the front of `bytes`, which then begins behind them.
template <class Row>
std::vector<Row> take(std::span<const std::byte>& bytes, std::size_t count) {
  std::vector<Row> rows(count);
  for (Row& row : rows) {
    row = load<Row>(bytes.data());
    bytes = bytes.subspan(sizeof(Row));
  }
  return rows;
}

} // namespace

std::optional<summary_view> summary_view::parse(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(packed_summary)) return std::nullopt;
  summary_view view;
  view.head = load<packed_summary>(bytes.data());
  const packed_summary& h = view.head;
  const std::size_t wanted =
      sizeof(packed_summary) + h.lines * sizeof(packed_line) + h.photons * sizeof(photon_summary) +
      h.quantities * sizeof(std::int32_t) + h.hits * sizeof(veto_hit_summary) + h.lines;
  if (h.version != packed_summary{}.version || h.lines > max_lines ||
      h.photons > max_summary_photons || h.hits > max_summary_hits || bytes.size() < wanted)
    return std::nullopt;
  bytes = bytes.subspan(sizeof(packed_summary));
  view.lines = take<packed_line>(bytes, h.lines);
  view.photons = take<photon_summary>(bytes, h.photons);
  const auto of_quantities = bytes.first(h.quantities * sizeof(std::int32_t));
  bytes = bytes.subspan(of_quantities.size());
  auto known = of_quantities;
  view.quantities = take<std::int32_t>(known, std::min<std::size_t>(h.quantities, l3::quantities));
  view.hits = take<veto_hit_summary>(bytes, h.hits);
  view.reasons = take<std::uint8_t>(bytes, h.lines);
  const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
  if (!std::ranges::all_of(bytes, is_zero)) return std::nullopt;
  return view;
}

} // namespace l3
