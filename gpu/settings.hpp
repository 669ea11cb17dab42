// SPDX-License-Identifier: Apache-2.0
// What can be set about computing: where kernels run, how many frames circulate. The config room
// fills these structs.
#pragma once

#include <chrono>
#include <cstdint>

namespace l3 {

/// Where kernels run. automatic: cuda if there is a device, else pool.
enum class backend : std::uint8_t { automatic, serial, pool, shuffled, threaded, cuda };

struct compute_settings {
  backend where = backend::automatic;
  std::uint16_t threads = 0; ///< of the pool; 0: one per processor
};

struct frame_settings {
  std::uint16_t count = 4;
  std::uint32_t events = 64; ///< capacity of a frame
  std::chrono::nanoseconds age =
      std::chrono::milliseconds(5); ///< a frame closes when its oldest event is this old
};

} // namespace l3
