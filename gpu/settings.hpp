// SPDX-License-Identifier: Apache-2.0
// The settings of computing: the executor of the kernels, the number of frames, and a test's
// injected fault. The config room fills these structs, except the fault.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace l3 {

/// The executor of the kernels. `automatic` is cuda if the machine has a device, else pool; hip and
/// sycl must be requested.
enum class backend : std::uint8_t { automatic, serial, pool, cuda, hip, sycl };

/// An injected fault for tests (selection/engine/faulty_engine.hpp).
enum class fault_kind : std::uint8_t {
  none,
  no_memory,
  error,
  no_restart, ///< an error, and the first restart after it fails
  dead,       ///< errors, and every restart fails
  lost,       ///< likewise, and the device says that only a new process helps
  hang,
  stall, ///< a hang before the device has copied the input
  wrong_bit,
  wrong_decision ///< an event that was kept is rejected
};

/// The frames that fail, counted from 1. One of `every`, `at` and `from` is not 0, unless the kind
/// is `none` or `no_memory`.
struct fault_plan {
  fault_kind kind = fault_kind::none;
  std::uint64_t every = 0;           ///< every frame whose number is a multiple
  std::uint64_t at = 0;              ///< one frame
  std::uint64_t from = 0;            ///< this and all later frames, until the device is restarted
  std::chrono::nanoseconds lasts{0}; ///< duration of a hang; 0: forever
};

struct compute_settings {
  backend where = backend::automatic;
  std::uint16_t threads = 0; ///< number of pool threads; 0: one per processor
  std::chrono::nanoseconds time_limit =
      std::chrono::seconds(1);        ///< time limit of a frame on the device
  std::uint32_t verify_one_in = 1000; ///< one event in this many is checked; 0: none
  /// Folder for batches on which the device failed; empty: no dumps.
  std::string dumps = "koto-l3d-dumps";
  fault_plan fault = {}; ///< applies to the first device; for tests, without a key
  /// Numbers of the CUDA devices; empty: all devices.
  std::vector<std::uint16_t> devices = {};
};

struct frame_settings {
  std::uint16_t count = 4;   ///< per device
  std::uint32_t events = 64; ///< capacity of a frame
  // Whether the daemon chooses these (daemon/machine_check.hpp).
  bool any_count = true;
  bool any_events = true;
  std::chrono::nanoseconds age =
      std::chrono::milliseconds(5); ///< age of the oldest event at which a frame closes
};

} // namespace l3
