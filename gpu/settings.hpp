// SPDX-License-Identifier: Apache-2.0
// What can be set about computing: where kernels run, how many frames circulate. The config room
// fills these structs.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace l3 {

/// Where kernels run. automatic: cuda if there is a device, else pool.
enum class backend : std::uint8_t { automatic, serial, pool, shuffled, threaded, cuda };

/// A fault made on purpose, for tests (selection/engine/faulty_engine.hpp).
enum class fault_kind : std::uint8_t { none, no_memory, error, dead, hang, wrong_bit };

/// Which frames it hits, counted from 1; one of the three numbers is not 0, unless there is no
/// device to begin with.
struct fault_plan {
  fault_kind kind = fault_kind::none;
  std::uint64_t every = 0;           ///< each frame whose number is a multiple
  std::uint64_t at = 0;              ///< one frame
  std::uint64_t from = 0;            ///< this frame and all after it, until the device is restarted
  std::chrono::nanoseconds lasts{0}; ///< a hang; 0: for ever
};

struct compute_settings {
  backend where = backend::automatic;
  std::uint16_t threads = 0; ///< of the pool; 0: one per processor
  std::chrono::nanoseconds time_limit =
      std::chrono::seconds(1); ///< a frame that takes longer is taken away from the device
  std::uint16_t restarts = 8;  ///< of a device that fails again and again; then the CPU computes
  std::uint32_t verify_one_in = 1000;   ///< events unpacked and compared; 0: none
  std::string dumps = "koto-l3d-dumps"; ///< folder for batches that hurt; empty: none
  fault_plan fault = {};
};

struct frame_settings {
  std::uint16_t count = 4;
  std::uint32_t events = 64; ///< capacity of a frame
  std::chrono::nanoseconds age =
      std::chrono::milliseconds(5); ///< a frame closes when its oldest event is this old
};

} // namespace l3
