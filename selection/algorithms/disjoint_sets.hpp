// SPDX-License-Identifier: Apache-2.0
// Union-find among things with numbers, in shared memory, by all lanes at once: every thing points
// at one of its set with a lower number, or at itself, and sets are united by hanging one tree onto
// the root of another with an atomic minimum. When all has been united that is to be, the root of a
// tree is the lowest of its set, whatever the order in which it happened.
#pragma once

#include <cstdint>

#include "gpu/executors/atomics.hpp"
#include "gpu/executors/block.hpp"

namespace l3 {

template <std::uint32_t capacity>
struct disjoint_sets {
  std::uint32_t parent[capacity]; ///< of those that were set apart

  /// A set of its own. By one lane, and a sync() before others look.
  L3_FN void set_apart(std::uint32_t i) { parent[i] = i; }

  /// The root of the tree as it is now. On the way every second thing is hung higher up, so that
  /// the next comes by in half the steps. Parents only ever fall, so there is an end.
  template <block B>
  [[nodiscard]] L3_FN std::uint32_t root_of(const B& b, std::uint32_t i) {
    for (;;) {
      const std::uint32_t above = observe_within(b, &parent[i]);
      if (above == i) return i;
      const std::uint32_t next = observe_within(b, &parent[above]);
      if (next == above) return above;
      fetch_min_within(b, &parent[i], next);
      i = next;
    }
  }

  template <block B>
  L3_FN void unite(const B& b, std::uint32_t one, std::uint32_t other) {
    for (;;) {
      one = root_of(b, one);
      other = root_of(b, other);
      if (one == other) return;
      const std::uint32_t high = one > other ? one : other;
      const std::uint32_t low = one > other ? other : one;
      const std::uint32_t before = fetch_min_within(b, &parent[high], low);
      if (before == high) return;
      // Another lane was faster, it was no root any more. One of the two links is gone, and with it
      // the set it led to, unless the ends of both are united.
      one = before;
      other = low;
    }
  }

  /// Lets i point at its root, which is returned. When nothing is united any more.
  template <block B>
  L3_FN std::uint32_t flatten(const B& b, std::uint32_t i) {
    const std::uint32_t root = root_of(b, i);
    if (root != i) fetch_min_within(b, &parent[i], root); // others may be coming by
    return root;
  }
};

} // namespace l3
