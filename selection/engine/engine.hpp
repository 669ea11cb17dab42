// SPDX-License-Identifier: Apache-2.0
// The engine owns the frames of this process and the executor that computes them. make_engine
// creates it once, with all memory that it will ever use; then its user only starts frames and
// waits for them, with a time limit. The output bytes are the same on every executor. at_rest() and
// restart() are for failing devices; daemon/compute/supervised_engine.hpp uses them.
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
#include "transport/format/block.hpp"
#include "transport/format/input_batch.hpp"

namespace l3 {

struct engine_limits {
  batch_capacity batch;
  std::uint32_t frames = 4;
  codec_id codec = codec_id::koto; ///< of packed events
  /// Whether frames have memory for their input. If not, on a CPU only, the user sets
  /// `frame::input` to another frame's input before each start.
  bool own_input = true;
  // Frame numbers of engines that share a numbering: every `index_step`-th from `first_index` on.
  std::uint32_t first_index = 0;
  std::uint32_t index_step = 1;
};

/// An entry of the memory plan: a purpose, and the bytes reserved for it.
struct memory_use {
  std::string what;
  std::size_t bytes = 0;
};

[[nodiscard]] inline std::size_t sum_of(std::span<const memory_use> plan) {
  std::size_t bytes = 0;
  for (const memory_use& use : plan) bytes += use.bytes;
  return bytes;
}

/// The outcome of a wait.
enum class frame_outcome : std::uint8_t {
  done,   ///< results and output are in host memory
  failed, ///< the device failed: frame::error has the reason, and there are no results
  wrong,  ///< there are results, but frame::error says why they cannot be right
  not_yet ///< the time limit was reached; the user may wait again
};

class engine {
public:
  virtual ~engine() = default;
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Enqueues all work on a frame whose input is filled. Each fragment of the input belongs to one
  /// event, and fragments are in the order of their events. On a device start() returns at once, on
  /// a CPU when the work is done. One thread at a time uses a frame; different threads may start
  /// and wait for different frames.
  virtual void start(frame& f) = 0;

  /// Returns when a started frame has ended, or after `limit`, which may be 0.
  [[nodiscard]] virtual frame_outcome wait_for(frame& f, std::chrono::nanoseconds limit) = 0;

  /// Whether the device has ended its work on a frame that the user gave up. Until then the device
  /// may write to the frame's output, and the user must not start the frame. Any thread.
  [[nodiscard]] virtual bool at_rest(const frame& f) const = 0;

  /// Whether the device may still read the input of a frame that the user gave up. Until it has
  /// copied the input, the user must not fill the frame: kernels could read anywhere if the tables
  /// change during the copy. Any thread.
  [[nodiscard]] virtual bool reads_input(const frame& /*f*/) const { return false; }

  /// Whether this process cannot use the device any more (gpu/executors/lost_device.hpp). True
  /// after a wait or restart that found it lost. Any thread.
  [[nodiscard]] virtual bool lost() const { return false; }

  /// Creates a new queue for a frame at rest, so that it can be started again. Returns false if
  /// that fails; f.error then has the reason, and the user must not start the frame before a
  /// successful restart.
  [[nodiscard]] virtual bool restart(frame& f) = 0;

  /// Waits without a limit; returns true if the frame is done.
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
  /// Processors near its devices, for threads that start and wait; empty: any.
  [[nodiscard]] std::span<const int> processors() const { return processors_; }
  void set_processors(std::vector<int> near) { processors_ = std::move(near); }

protected:
  engine() = default;

  std::string name_;
  std::vector<frame*> frames_;
  std::vector<memory_use> memory_plan_;
  std::vector<int> processors_;
};

/// The devices for which make_engines() would create engines.
struct found_devices {
  std::uint32_t count = 0;           ///< 0: the CPU computes
  std::string name;                  ///< of the first
  std::uint64_t memory = 0;          ///< bytes of the smallest one
  std::uint32_t multiprocessors = 0; ///< of the one with the fewest
};

/// Empty if they do not respond; make_engines() then reports why.
[[nodiscard]] found_devices find_devices(const compute_settings& settings);

/// A device is left out, or the CPU computes although the settings prefer a device.
enum class engine_news : std::uint8_t { device_left_out, cpu_instead };
/// `text`: the reason, for the operator.
using engine_warning = std::function<void(engine_news, std::string_view text)>;

/// Returns an empty string if a new process with these settings would have its device; else the
/// reason, for the operator.
[[nodiscard]] std::string why_no_device(const compute_settings& settings);

/// Why make_engines() would throw here for any limits: a device was requested but none responds, or
/// this program was built without its kind. Empty if nothing is wrong.
[[nodiscard]] std::string wrong_with_backend(const compute_settings& settings);

/// Creates the engine of the settings. Without a program it keeps every event. With
/// backend::automatic and no device it is the pool, and `warn` receives the reason. Throws
/// std::runtime_error, with a text for the operator, if the settings require cuda and no device
/// responds, if memory is short, or if the program's sequence is invalid.
[[nodiscard]] std::unique_ptr<engine> make_engine(const compute_settings& settings,
                                                  const engine_limits& limits,
                                                  const selection_program* program = nullptr,
                                                  const engine_warning& warn = {});

/// Creates one engine for each of the settings' devices, each with `limits.frames` frames: frame i
/// of engine d of n has the index d + i * n. A device that fails is left out, unless it is the only
/// one, and `warn` receives the reason. On the CPU it is one engine.
[[nodiscard]] std::vector<std::unique_ptr<engine>>
make_engines(const compute_settings& settings, const engine_limits& limits,
             const selection_program* program = nullptr, const engine_warning& warn = {});

/// The memory plan that a CPU engine would have. Allocates only the tables of the
/// selection.
[[nodiscard]] std::vector<memory_use>
memory_of_cpu_engine(const engine_limits& limits, const selection_program* program = nullptr);

/// Sets what the CUDA driver reads from the environment: numbers of devices in the order of their
/// PCI addresses, as `nvidia-smi` has them; all kernels loaded at the start; and connections for
/// this many streams per device, because more streams than connections wait for each other. Call it
/// before other threads start and CUDA is used.
void prepare_driver(std::uint32_t streams = 0);

} // namespace l3
