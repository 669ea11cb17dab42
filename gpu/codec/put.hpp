// SPDX-License-Identifier: Apache-2.0
// Writes short runs of bytes side by side at any address, each run by another lane. One call of
// make_room covers all runs; after a sync() each lane puts its run. On a CPU put is a few
// overlapping stores. A device stores whole words, and merges the words at the ends of a run with
// those of the neighbouring runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/codec/koto.hpp"
#include "gpu/executors/block.hpp"

namespace l3 {

/// Prepares the n bytes from `to` on for put. It may overwrite up to 3 bytes behind them. Bytes
/// before `to` keep their value if they lie in room that was made as well.
template <block B>
L3_FN void make_room(const B&, std::byte*, std::uint32_t) {}

/// Writes the first n bytes of `run`, n ≤ 16. All other bytes of `run` are 0.
template <block B>
L3_FN void put(const B&, std::byte* to, koto::octet run, std::uint32_t n) {
  koto::store_octet(to, run, n);
}

} // namespace l3

#if defined(__CUDACC__)
#include "gpu/codec/put.cuh" // included here so that no device source can leave it out
#endif
