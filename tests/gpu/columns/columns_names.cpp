// SPDX-License-Identifier: Apache-2.0
// Compiled by a test, which defines NAME: a layout with a column of a name that views need for
// themselves must be refused, with a text that says so, and any other must not.
#include <cstdint>

#include "gpu/columns/soa.hpp"

namespace l3::test {

template <template <class> class column>
struct named_fields {
  column<std::uint32_t> NAME;
};

std::uint32_t rows_of(const soa<named_fields>::view& v) { return v.size(); }

} // namespace l3::test
