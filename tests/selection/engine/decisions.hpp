// SPDX-License-Identifier: Apache-2.0
// A decision for tests that want events rejected.
#pragma once

#include "selection/packing/keep_all.hpp"

namespace l3::test {

struct keep_odd_numbers {
  static constexpr std::uint32_t width = 32;
  struct shared {};
  template <block B>
  L3_FN void operator()(const B& b, shared&, const batch_view& in, const frame_columns& out) const {
    for_each(b, 1, [&](std::uint32_t) {
      out.events.accepted[b.index()] = static_cast<std::uint8_t>(in.events[b.index()].number % 2);
    });
  }
};

} // namespace l3::test
