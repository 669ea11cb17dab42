// SPDX-License-Identifier: Apache-2.0
// The settings of computing: where kernels run, how many frames circulate, which fault a test makes
// on purpose. The config room fills these structs, but for the fault.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace l3 {

/// Where kernels run. `automatic` is cuda if the machine has a device, else pool; hip and sycl must
/// be asked for.
enum class backend : std::uint8_t { automatic, serial, pool, shuffled, threaded, cuda, hip, sycl };

/// A fault made on purpose, for tests (selection/engine/faulty_engine.hpp).
enum class fault_kind : std::uint8_t {
  none,
  no_memory,
  error,
  no_restart, ///< an error, and the first restart after it fails
  dead,       ///< errors, and every restart fails
  lost,       ///< the same, and the device says that only a new process helps
  hang,
  stall, ///< a hang before the device has copied the input
  wrong_bit
};

/// Which frames the fault hits, counted from 1. One of `every`, `at` and `from` is not 0, unless
/// the kind is `none` or `no_memory`.
struct fault_plan {
  fault_kind kind = fault_kind::none;
  std::uint64_t every = 0;           ///< each frame whose number is a multiple
  std::uint64_t at = 0;              ///< one frame
  std::uint64_t from = 0;            ///< this frame and all after it, until the device is restarted
  std::chrono::nanoseconds lasts{0}; ///< how long a hang takes; 0: for ever
};

struct compute_settings {
  backend where = backend::automatic;
  std::uint16_t threads = 0; ///< threads of the pool; 0: one per processor
  std::chrono::nanoseconds time_limit =
      std::chrono::seconds(1);        ///< a frame that takes longer is taken away from the device
  std::uint32_t verify_one_in = 1000; ///< one event in so many is unpacked and compared; 0: none
  /// Folder for the batches on which the device failed; empty: no dumps.
  std::string dumps = "koto-l3d-dumps";
  fault_plan fault = {}; ///< hits the first of the devices; for tests, without a key
  /// Numbers of the CUDA devices; empty: all that there are.
  std::vector<std::uint16_t> devices = {};
};

struct frame_settings {
  std::uint16_t count = 4;   ///< on each device
  std::uint32_t events = 64; ///< capacity of a frame
  // Whether these are left to the daemon (daemon/compute/frame_choice.hpp).
  bool any_count = true;
  bool any_events = true;
  std::chrono::nanoseconds age =
      std::chrono::milliseconds(5); ///< a frame closes when its oldest event is this old
};

} // namespace l3
