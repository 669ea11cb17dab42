// SPDX-License-Identifier: Apache-2.0
// Union-find of numbered elements in shared memory, by all lanes at once. Each element points at an
// element of its set with a lower number, or at itself. `unite` hangs one tree onto the root of
// another by an atomic minimum. After all calls of `unite`, the root of each tree is the lowest
// element of its set. The order of the calls does not matter.
#pragma once

#include <cstdint>

#include "gpu/executors/atomics.hpp"
#include "gpu/executors/block.hpp"

namespace l3 {

template <std::uint32_t capacity>
struct disjoint_sets {
  std::uint32_t parent[capacity]; ///< valid for elements that were set apart

  /// Makes i a set of its own. One lane calls it, and a sync() follows before other lanes read i.
  L3_FN void set_apart(std::uint32_t i) { parent[i] = i; }

  /// The root of i's tree at this moment. On the way it moves every second element one level up,
  /// which halves the path for later calls. It ends because parents only become lower.
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
      // Another lane hung `high` below `before` first. Only one of the two links is stored, so the
      // sets at the ends of both must be united too.
      one = before;
      other = low;
    }
  }

  /// Points i at its root and returns the root. Only after all calls of `unite`.
  template <block B>
  L3_FN std::uint32_t flatten(const B& b, std::uint32_t i) {
    const std::uint32_t root = root_of(b, i);
    if (root != i)
      fetch_min_within(b, &parent[i], root); // other lanes may read parent[i] meanwhile
    return root;
  }
};

} // namespace l3
