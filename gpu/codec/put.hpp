// SPDX-License-Identifier: Apache-2.0
// Short runs of bytes, side by side at any address, each written by another lane: first one call
// makes room for all of them, and after a sync() each is put at its place. On a CPU that is a few
// stores that overlap each other. A device stores whole words, and merges those at the ends of a
// run with what the neighbours put there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/codec/koto.hpp"
#include "gpu/executors/block.hpp"

namespace l3 {

/// Before n bytes from `to` on are put: up to 3 behind them may be overwritten, too. Bytes before
/// `to` stay as they are, if what they belong to was made room for as well.
template <block B>
L3_FN void make_room(const B&, std::byte*, std::uint32_t) {}

/// Writes the first n bytes, at most 16, of `run`, in which all others are 0.
template <block B>
L3_FN void put(const B&, std::byte* to, koto::octet run, std::uint32_t n) {
  koto::store_octet(to, run, n);
}

} // namespace l3

#if defined(__CUDACC__)
#include "gpu/codec/put.cuh" // here, so that no device source can forget it
#endif
