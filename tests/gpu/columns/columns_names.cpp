// SPDX-License-Identifier: Apache-2.0
// A test compiles this file with a definition of NAME. The compiler must refuse a column with the
// name of a member of views, with a text that says so, and accept every other name.
#include <cstdint>

#include "gpu/columns/soa.hpp"

namespace l3::test {

template <template <class> class column>
struct named_fields {
  column<std::uint32_t> NAME;
};

std::uint32_t rows_of(const soa<named_fields>::view& v) { return v.size(); }

} // namespace l3::test
