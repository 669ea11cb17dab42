// SPDX-License-Identifier: Apache-2.0
// Encodes the groups that a block has in shared memory. On a CPU the block is one lane, and vector
// instructions encode the groups; elsewhere each lane takes a group. CUDA devices have their own
// form for whole boards (selection/packing/encode.cuh).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/codec/strong.hpp"
#include "gpu/codec/strong_groups.hpp"
#include "gpu/executors/block.hpp"
#include "gpu/executors/solo.hpp"

namespace l3::strong {

/// Room for n groups, plain and coded; some may be unused.
template <std::uint32_t n>
struct plain_groups {
  alignas(64) std::uint16_t samples[n][group_samples];
  alignas(16) std::byte coded[n * max_group_bytes + 16]; // extra room that copies may read
  std::uint32_t used[n];                                 // whether there is a group
  std::uint32_t at[n];                                   // start of its coded form, and
  std::uint32_t bytes[n];
  shape shapes[n];
};

template <block B, std::uint32_t n>
L3_FN void encode(const B& b, plain_groups<n>& g) {
  for_each(b, n, [&](std::uint32_t k) {
    if (g.used[k] == 0) return;
    g.at[k] = k * max_group_bytes;
    g.bytes[k] = encode_group(g.samples[k], g.shapes[k], g.coded + g.at[k]);
  });
}

/// Adjacent groups of one shape are encoded together.
template <std::uint32_t n>
void encode(const solo_block&, plain_groups<n>& g) {
  for (std::uint32_t first = 0; first < n;) {
    std::uint32_t end = first + 1;
    if (g.used[first] != 0) {
      while (end < n && g.used[end] != 0 && g.shapes[end] == g.shapes[first]) ++end;
      std::uint32_t at = first * max_group_bytes;
      static_cast<void>(encode({g.samples[first], std::size_t{end - first} * group_samples},
                               g.shapes[first],
                               std::span(g.coded).subspan(at, (end - first) * max_group_bytes)));
      for (std::uint32_t k = first; k < end; ++k) {
        g.at[k] = at;
        g.bytes[k] = group_bytes(g.coded + at, max_group_bytes);
        at += g.bytes[k];
      }
    }
    first = end;
  }
}

} // namespace l3::strong
