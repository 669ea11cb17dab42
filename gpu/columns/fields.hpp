// SPDX-License-Identifier: Apache-2.0
// Visits the fields of a schema: a struct template over the type of its columns, with no other
// members. C++20 has no reflection, so the long function below decomposes such a struct, with a
// case for every number of fields. Device code can use it, unlike Boost.PFR, which does the same on
// the host.
#pragma once

#include <cstddef>

#include "transport/format/function.hpp"

namespace l3 {

template <class T>
struct one_byte {
  std::byte byte;
};

/// The number of columns of a schema: the size of the struct with columns of one byte.
template <template <template <class> class> class Fields>
inline constexpr std::size_t field_count = sizeof(Fields<one_byte>);

inline constexpr std::size_t most_fields = 16;

/// Whether a field has the name of a member of views, which it would hide.
template <class S>
inline constexpr bool named_like_members_of_views = requires {
  &S::size;
}
|| requires { &S::first; }
|| requires { &S::as_columns; };

/// Calls act with the n fields of s, in the order of their declaration.
template <std::size_t n, class S, class F>
L3_FN constexpr auto with_fields(S& s, F&& act) {
  static_assert(n >= 1 && n <= most_fields,
                "split the layout in two, and put a view together from their columns");
  if constexpr (n == 1) {
    auto& [c0] = s;
    return act(c0);
  } else if constexpr (n == 2) {
    auto& [c0, c1] = s;
    return act(c0, c1);
  } else if constexpr (n == 3) {
    auto& [c0, c1, c2] = s;
    return act(c0, c1, c2);
  } else if constexpr (n == 4) {
    auto& [c0, c1, c2, c3] = s;
    return act(c0, c1, c2, c3);
  } else if constexpr (n == 5) {
    auto& [c0, c1, c2, c3, c4] = s;
    return act(c0, c1, c2, c3, c4);
  } else if constexpr (n == 6) {
    auto& [c0, c1, c2, c3, c4, c5] = s;
    return act(c0, c1, c2, c3, c4, c5);
  } else if constexpr (n == 7) {
    auto& [c0, c1, c2, c3, c4, c5, c6] = s;
    return act(c0, c1, c2, c3, c4, c5, c6);
  } else if constexpr (n == 8) {
    auto& [c0, c1, c2, c3, c4, c5, c6, c7] = s;
    return act(c0, c1, c2, c3, c4, c5, c6, c7);
  } else if constexpr (n == 9) {
    auto& [c0, c1, c2, c3, c4, c5, c6, c7, c8] = s;
    return act(c0, c1, c2, c3, c4, c5, c6, c7, c8);
  } else if constexpr (n == 10) {
    auto& [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9] = s;
    return act(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9);
  } else if constexpr (n == 11) {
    auto& [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10] = s;
    return act(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10);
  } else if constexpr (n == 12) {
    auto& [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11] = s;
    return act(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11);
  } else if constexpr (n == 13) {
    auto& [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12] = s;
    return act(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12);
  } else if constexpr (n == 14) {
    auto& [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13] = s;
    return act(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13);
  } else if constexpr (n == 15) {
    auto& [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14] = s;
    return act(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14);
  } else if constexpr (n == 16) {
    auto& [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15] = s;
    return act(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15);
  }
}

} // namespace l3
