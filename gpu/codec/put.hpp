// SPDX-License-Identifier: Apache-2.0
// Writes short adjacent runs of bytes at any address, each by another lane: a few stores that
// overlap one another but touch no byte of another run. CUDA devices have their own form for whole
// boards (gpu/cuda/record_packing.cuh).
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/codec/koto.hpp"
#include "gpu/executors/block.hpp"

namespace l3 {

/// Writes the first n bytes of `run`, n ≤ 16. All other bytes of `run` are 0.
template <block B>
L3_FN void put(const B&, std::byte* to, koto::octet run, std::uint32_t n) {
  koto::store_octet(to, run, n);
}

} // namespace l3
