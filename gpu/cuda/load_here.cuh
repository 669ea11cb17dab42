// SPDX-License-Identifier: Apache-2.0
// Loads that are issued in place. The compiler moves other loads down to the use of their value,
// behind branches that wait for loads; then a warp waits for one after the other. These are relaxed
// loads, so they come from the L2 cache.
#pragma once

#include <cstdint>

#include "gpu/decode/found_packet.hpp"

namespace l3 {

[[nodiscard]] __device__ inline std::uint32_t load_here(const std::uint8_t* from) {
  std::uint32_t value = 0;
  asm volatile("ld.relaxed.gpu.global.u8 %0, [%1];"
               : "=r"(value)
               : "l"(__cvta_generic_to_global(from)));
  return value;
}
[[nodiscard]] __device__ inline found_packet load_here(const found_packet* from) {
  found_packet p;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(p.first), "=r"(p.second), "=r"(p.first_bytes), "=r"(p.form)
               : "l"(__cvta_generic_to_global(from)));
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4+16];"
               : "=r"(p.event), "=r"(p.source), "=r"(p.outer), "=r"(p.trigger)
               : "l"(__cvta_generic_to_global(from)));
  return p;
}

} // namespace l3
