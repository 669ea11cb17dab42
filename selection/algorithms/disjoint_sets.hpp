// SPDX-License-Identifier: Apache-2.0
// Union-find of numbered elements in shared memory, used by all lanes at once. Each element points
// at an element of its set with a lower number, or at itself. `unite` attaches one tree to the root
// of another by an atomic minimum. After all calls of `unite`, the root of each tree is the lowest
// element of its set. The order of the calls does not matter.
#pragma once

#include <cstdint>

#include "gpu/executors/atomics.hpp"
#include "gpu/executors/block.hpp"

namespace l3 {

template <std::uint32_t capacity>
struct disjoint_sets {
  static constexpr std::uint32_t nowhere = 0xffffffff; ///< larger than every element

  alignas(16) std::uint32_t parent[capacity]; ///< `nowhere` for numbers in no set

  /// Empties all sets. Call sync() afterwards.
  template <block B>
  L3_FN void clear(const B& b) {
    constexpr std::uint32_t together = 4; // in one store of a device
    static_assert(capacity % together == 0);
    for_each(b, capacity / together, [&](std::uint32_t group) {
      for (std::uint32_t i = 0; i < together; ++i) parent[together * group + i] = nowhere;
    });
  }

  /// Makes i a set of its own and returns true, or returns false if i is in a set. Call sync()
  /// before a lane calls any other function.
  template <block B>
  [[nodiscard]] L3_FN bool insert(const B& b, std::uint32_t i) {
    return fetch_min_within(b, &parent[i], i) == nowhere;
  }

  /// Removes i, a set of its own. One lane calls it; call sync() before others read i.
  L3_FN void remove(std::uint32_t i) { parent[i] = nowhere; }

  /// The element at which i currently points, or `nowhere`.
  template <block B>
  [[nodiscard]] L3_FN std::uint32_t above(const B& b, std::uint32_t i) {
    return observe_within(b, &parent[i]);
  }

  /// Attaches i, a root, to a lower element. One lane calls it for i; call sync() before any lane
  /// calls `unite` or `flatten`.
  template <block B>
  L3_FN void hang(const B& b, std::uint32_t i, std::uint32_t lower) {
    fetch_min_within(b, &parent[i], lower);
  }

  /// The current root of i's tree. On the way it moves every second element one level up, which
  /// halves the path for later calls. It ends because parents only get lower.
  template <block B>
  [[nodiscard]] L3_FN std::uint32_t root_of(const B& b, std::uint32_t i) {
    for (;;) {
      const std::uint32_t one = above(b, i);
      if (one == i) return i;
      const std::uint32_t two = above(b, one);
      if (two == one) return one;
      fetch_min_within(b, &parent[i], two);
      i = two;
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
      // Another lane attached `high` below `before` first. Only one of the two links is stored, so
      // the sets at the ends of both must be united too.
      one = before;
      other = low;
    }
  }

  /// Points i at its root and returns the root, or returns `nowhere` if i is in no set. Meanwhile
  /// no lane may call `unite`.
  template <block B>
  L3_FN std::uint32_t flatten(const B& b, std::uint32_t i) {
    const std::uint32_t before = above(b, i);
    if (before == i || before == nowhere) return before;
    const std::uint32_t root = root_of(b, before);
    if (root != before)
      fetch_min_within(b, &parent[i], root); // other lanes may read parent[i] meanwhile
    return root;
  }
};

} // namespace l3
