// SPDX-License-Identifier: Apache-2.0
// A layout with every shape of column, for the tests of columns.
#pragma once

#include <cstdint>

#include "gpu/columns/soa.hpp"

namespace l3::test {

struct three_bytes {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  [[nodiscard]] bool operator==(const three_bytes&) const = default;
};

template <template <class> class column>
struct probe_fields {
  column<std::uint8_t> small;
  column<std::uint64_t> large;
  column<scalar<std::uint32_t>> factor;
  column<three_bytes> odd;
  column<vector_of<float, 3>> position;
  column<matrix_of<std::int16_t, 2, 3>> table;
  column<std::uint16_t> medium;
};
using probes = soa<probe_fields>;

/// The value of row i in tests, with a different number in each element.
[[nodiscard]] inline probes::value probe(std::uint32_t i) {
  probes::value v{};
  v.small = static_cast<std::uint8_t>(3 * i);
  v.large = std::uint64_t{0x1'0000'0001} * i;
  v.odd = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i + 1),
           static_cast<std::uint8_t>(i + 2)};
  for (std::uint32_t k = 0; k < 3; ++k) v.position[k] = static_cast<float>(10 * i + k);
  for (std::uint32_t k = 0; k < 6; ++k) v.table[k] = static_cast<std::int16_t>(7 * i + k);
  v.medium = static_cast<std::uint16_t>(5 * i);
  return v;
}

[[nodiscard]] inline bool equal(const probes::value& a, const probes::value& b) {
  return a.small == b.small && a.large == b.large && a.odd == b.odd && a.position == b.position &&
         a.table == b.table && a.medium == b.medium;
}

inline void fill(const probes::view& v) {
  for (std::uint32_t i = 0; i < v.size(); ++i) v[i] = probe(i);
  *v.factor = 1000 + v.size();
}

} // namespace l3::test
