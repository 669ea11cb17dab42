// SPDX-License-Identifier: Apache-2.0
// An engine that does not fail: it gives frames to a device, watches it, and computes a frame on
// the CPU if the device did not, or did it wrongly. Every executor gives the same bytes, so a frame
// differs only in the time it takes (docs/decisions/0012).
//
// A device is distrusted after an error, after a frame that took longer than its time limit, and
// after an event that did not unpack to what came in. From then on all frames are bypassed:
// computed on the CPU, from their input, which is host memory. After a pause, longer each time, the
// engine tries one frame on the device again and checks every event of it. After an error that
// lasts as long as the process the CPU computes for good. A
// frame that hangs goes back into circulation when the device has copied its input, most often at
// once. It gets no new work on it before it has released it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/compute/sampled_check.hpp"
#include "selection/engine/engine.hpp"
#include "transport/accounting/counters.hpp"
#include "transport/format/time.hpp"

namespace l3 {

struct supervision {
  std::chrono::nanoseconds time_limit = std::chrono::seconds(1);  ///< from start to results
  std::chrono::nanoseconds first_pause = std::chrono::seconds(1); ///< before the first; it doubles
  /// After good work of this length the next pause is the first one again.
  std::chrono::nanoseconds longest_pause = std::chrono::minutes(1);
  std::uint32_t verify_one_in = 1000; ///< events; 0: none
  std::uint32_t run = 0;
  std::function<time_point()> now = steady_clock::now;
};

class supervised_engine final : public engine {
public:
  // What it adds to the memory plan of the device's engine.
  [[nodiscard]] static memory_use for_bypass(std::size_t bytes) {
    return {"bypass: output, results and columns of a frame", bytes};
  }
  [[nodiscard]] static memory_use for_check(std::size_t bytes) {
    return {"sampled check: an event", bytes};
  }

  /// Takes a failure before the frame is computed again: wrong results are still there. Called by
  /// the thread that waits.
  using failure_report =
      std::function<void(engine_failure kind, std::string_view text, const frame& what)>;
  /// Takes news for the operator beside failures.
  using note = std::function<void(std::string_view)>;

  /// The device owns the frames. `cpu` has one frame, without memory for input. An event without
  /// room is a wrong result: a frame's output has room for every event. `reference`: as
  /// sampled_check takes it.
  supervised_engine(std::unique_ptr<engine> device, std::unique_ptr<engine> cpu,
                    supervision settings, failure_report failed, note tell,
                    std::unique_ptr<engine> reference = nullptr);

  /// One thread starts, one waits, frame after frame: results stay until the next wait.
  void start(frame& f) override;
  /// Never `failed`, unless the CPU cannot compute either.
  [[nodiscard]] frame_outcome wait_for(frame& f, std::chrono::nanoseconds limit) override;
  [[nodiscard]] bool at_rest(const frame& f) const override { return device_->at_rest(f); }
  [[nodiscard]] bool restart(frame& f) override { return device_->restart(f); }
  [[nodiscard]] bool reads_input(const frame& f) const override;
  [[nodiscard]] bool lost() const override { return device_->lost(); }

  // Any thread.
  [[nodiscard]] const engine_counters& counters() const { return counters_; }
  [[nodiscard]] bool bypassed() const { return bypassed_; }
  /// The device gave wrong results and was not restarted and checked since; or the CPU gave wrong
  /// ones.
  [[nodiscard]] bool wrong_results() const { return wrong_ || wrong_on_cpu_; }
  /// Whether the device still holds a frame that was given up.
  [[nodiscard]] bool hangs() const;

private:
  struct frame_state {
    bool on_device = false;
    bool is_trial = false;
    time_point started_at;
    std::atomic<bool> given_up = false; ///< the device must be restarted before it gets this frame
  };

  [[nodiscard]] bool may_use_device(frame& f);
  [[nodiscard]] bool may_try(frame& f, time_point now);
  void tell_if_lost();
  void put_off(time_point now);
  void worked(frame& f, bool verified);
  void failed(engine_failure kind, const std::string& text, frame& f);
  [[nodiscard]] frame_outcome compute_on_cpu(frame& f);
  [[nodiscard]] std::string wrong_with(const frame& f, bool all_events);

  std::unique_ptr<engine> device_;
  std::unique_ptr<engine> cpu_;
  supervision settings_;
  failure_report failed_;
  note tell_;
  sampled_check check_;
  engine_counters counters_;
  std::vector<frame_state> states_; ///< by frame::index; each is its holder's, except `given_up`

  std::mutex mutex_; ///< guards the members below; the atomics are written under it
  std::atomic<bool> bypassed_ = false;
  std::atomic<bool> wrong_ = false;
  std::atomic<bool> wrong_on_cpu_ = false;
  const frame* trial_ = nullptr; ///< the frame that tries the device
  bool lost_told_ = false;
  std::chrono::nanoseconds pause_;
  time_point next_try_;
  time_point works_since_;
};

} // namespace l3
