// SPDX-License-Identifier: Apache-2.0
// The engine owns the frames of this process and the executor that computes on them. make_engine
// makes it once, with all memory that it will ever use; then its user only starts frames and waits
// for them, with a time limit. The output bytes are the same on every executor. at_rest() and
// restart() are for devices that fail; daemon/compute/supervised_engine.hpp uses them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/memory/frame.hpp"
#include "gpu/settings.hpp"
#include "selection/sequence/program.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/format/input_batch.hpp"

namespace l3 {

/// How packed events leave a device. A CPU writes them to host memory at once.
enum class output_path : std::uint8_t {
  mapped, ///< a kernel writes the packed events into host memory, and no byte more
  copied, ///< the queue copies the greatest length that the output can have, because the host does
          ///< not wait to learn the actual length
};

/// How kept events become packed events. The bytes are the same (docs/decisions/0008).
enum class packing_form : std::uint8_t {
  automatic,  ///< the form that measured faster: one pass on CPUs, two on devices
  two_passes, ///< kernels read packets to measure them, and those of kept events again to pack them
  one_pass,   ///< a kernel reads each packet once; only for runs that keep everything
};

struct engine_limits {
  batch_capacity batch;
  std::uint32_t frames = 4;
  std::size_t output_bytes = 0; ///< for each frame; 0: enough for every batch
  output_path output = output_path::mapped;
  packing_form packing = packing_form::automatic;
  /// Whether frames have memory for their input. If not, on a CPU only, the user sets
  /// `frame::input` to the input of another frame before each start.
  bool own_input = true;
};

/// An entry of the memory plan: a purpose, and the bytes reserved for it.
struct memory_use {
  std::string what;
  std::size_t bytes = 0;
};

/// The outcome of a wait.
enum class frame_outcome : std::uint8_t {
  done,   ///< results and output are in host memory
  failed, ///< the device failed: frame::error has the reason, and the frame has no results
  not_yet ///< the time limit came first; the user may wait again
};

class engine {
public:
  virtual ~engine() = default;
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Enqueues all work on a frame whose input is filled. Each fragment of the input belongs to one
  /// event, and fragments lie in the order of their events. On a device start() returns at once, on
  /// a CPU when the work is done. One thread at a time uses a frame; different threads may start
  /// and wait for different frames.
  virtual void start(frame& f) = 0;

  /// Returns when a started frame has ended, or after `limit`, which may be 0.
  [[nodiscard]] virtual frame_outcome wait_for(frame& f, std::chrono::nanoseconds limit) = 0;

  /// Whether the device has ended its work on a frame that the user gave up. Until then the device
  /// may write to the frame's output, and the user must not start the frame. Any thread may ask.
  [[nodiscard]] virtual bool at_rest(const frame& f) const = 0;

  /// Makes a new queue for a frame at rest, so that it can be started again. Returns false if that
  /// fails; f.error then has the reason.
  [[nodiscard]] virtual bool restart(frame& f) = 0;

  /// Waits without a limit; true if the frame is done.
  [[nodiscard]] bool wait(frame& f) {
    constexpr std::chrono::minutes turn{1};
    frame_outcome outcome = frame_outcome::not_yet;
    while (outcome == frame_outcome::not_yet) outcome = wait_for(f, turn);
    return outcome == frame_outcome::done;
  }

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

/// Receives the reason why the CPU computes although the settings prefer a device.
using engine_warning = std::function<void(std::string_view)>;

/// Makes the engine that the settings ask for. Without a program it keeps every event. With
/// backend::automatic and no device it is the pool, and `warn` receives the reason. Throws
/// std::runtime_error, with a text for the operator, if the settings ask for cuda and no device
/// answers, if memory is short, or if the program's sequence has a fault.
[[nodiscard]] std::unique_ptr<engine> make_engine(const compute_settings& settings,
                                                  const engine_limits& limits,
                                                  const selection_program* program = nullptr,
                                                  const engine_warning& warn = {});

} // namespace l3
