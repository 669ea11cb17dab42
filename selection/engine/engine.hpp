// SPDX-License-Identifier: Apache-2.0
// The engine: the frames of this process and the machine that computes on them. It is made once,
// with all memory that it will ever use, and then only told to start a frame and to wait for one,
// for as long as its user can afford. Which executor is behind it, its user does not see; the bytes
// are the same. Only where a device may fail does anybody ask more
// (daemon/compute/supervised_engine.hpp).
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
  /// Whether frames have memory for their input. Without it, on a CPU only, `frame::input` is set
  /// to that of another frame before each start.
  bool own_input = true;
};

/// A line of the memory plan: what was reserved.
struct memory_use {
  std::string what;
  std::size_t bytes = 0;
};

/// What a wait came to.
enum class frame_outcome : std::uint8_t {
  done,   ///< results and output are in host memory
  failed, ///< the device failed: frame::error says how, and there are neither results nor output
  not_yet ///< its time was over first; it may be waited for again
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

  /// Returns when a started frame has ended, or after `limit`, which may be 0.
  [[nodiscard]] virtual frame_outcome wait_for(frame& f, std::chrono::nanoseconds limit) = 0;

  /// Whether the device has let go of a frame that was given up: until then it may write into the
  /// frame's output and must not be given more work on it. Any thread.
  [[nodiscard]] virtual bool at_rest(const frame& f) const = 0;

  /// Makes anew what a frame at rest has of the device, so that it can be started again; false if
  /// that fails, and then f.error says how.
  [[nodiscard]] virtual bool restart(frame& f) = 0;

  /// For those who have nothing else to do: waits as long as it takes. True if it is done.
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

/// Hears why the CPU computes although a device was wished for.
using engine_warning = std::function<void(std::string_view)>;

/// The engine that the settings ask for; without a program it keeps every event. If they leave the
/// choice and the device is not to be had, it is the pool, and `warn` hears why. Throws
/// std::runtime_error, with a text for the operator, if cuda was asked for and there is no device,
/// if memory is short, or if the program's sequence is not one.
[[nodiscard]] std::unique_ptr<engine> make_engine(const compute_settings& settings,
                                                  const engine_limits& limits,
                                                  const selection_program* program = nullptr,
                                                  const engine_warning& warn = {});

} // namespace l3
