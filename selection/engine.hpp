// SPDX-License-Identifier: Apache-2.0
// The engine: the frames of this process and the machine that computes on them. It is made once,
// with all memory that it will ever use, and then only told to start a frame and to wait for one.
// Which executor is behind it, its user does not see; the bytes are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/frame.hpp"
#include "gpu/settings.hpp"
#include "selection/program.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/format/input_batch.hpp"

namespace l3 {

/// How packed events leave a device. On a CPU they are made where they are wanted.
enum class output_path : std::uint8_t {
  mapped, ///< a kernel writes them into host memory, as many bytes as there are
  copied, ///< they are copied back, as many bytes as the batch could have become: the host does not
          ///< wait to learn how many there are
};

/// How kept events become packed events. The bytes are the same (docs/decisions/0008).
enum class packing_form : std::uint8_t {
  automatic,  ///< the faster one, as far as that was measured: one pass on CPUs, two on devices
  two_passes, ///< packets are read to be measured, and those of kept events again to be packed
  one_pass,   ///< packets are read once; only for runs that keep everything
};

struct engine_limits {
  batch_capacity batch;
  std::uint32_t frames = 4;
  std::size_t output_bytes = 0; ///< of a frame; 0: so many that no batch can overflow it
  output_path output = output_path::mapped;
  packing_form packing = packing_form::automatic;
};

/// A line of the memory plan: what was reserved.
struct memory_use {
  std::string what;
  std::size_t bytes = 0;
};

class engine {
public:
  virtual ~engine() = default;
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Enqueues all work on a frame whose input is filled: each of its fragments belongs to one
  /// event, and they lie in the order of their events. On a device it returns at once, on a CPU
  /// when the work is done. A frame belongs to one thread at a time; different frames may be
  /// started and waited for by different threads.
  virtual void start(frame& f) = 0;

  /// Returns when results and output of a started frame are in host memory; false if the device
  /// failed, and then f.error says how and there are neither results nor output.
  [[nodiscard]] virtual bool wait(frame& f) = 0;

  /// For people: "pool (2 threads)", "cuda (NVIDIA H200)".
  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] std::span<frame* const> frames() const { return frames_; }
  [[nodiscard]] std::span<const memory_use> memory_plan() const { return memory_plan_; }

protected:
  engine() = default;

  std::string name_;
  std::vector<frame*> frames_;
  std::vector<memory_use> memory_plan_;
};

/// The engine that the settings ask for; without a program it keeps every event. Throws
/// std::runtime_error, with a text for the operator, if cuda was asked for and there is no device,
/// if memory is short, or if the program's sequence is not one.
[[nodiscard]] std::unique_ptr<engine> make_engine(const compute_settings& settings,
                                                  const engine_limits& limits,
                                                  const selection_program* program = nullptr);

} // namespace l3
