// SPDX-License-Identifier: Apache-2.0
// An engine that does not fail. It gives frames to a device, watches it, and computes a frame on
// the CPU if the device failed or computed it wrongly. Every executor gives the same bytes, so only
// the time of a frame differs (docs/decisions/0012).
//
// A device is distrusted after an error, after a frame that exceeded its time limit, and after a
// wrong result. From then on all frames are bypassed: a thread of this engine computes them on the
// CPU from their input, which is in host memory. After a pause, longer each time, the engine tries
// one frame on the device again and checks every event of it. After an error that lasts as long as
// the process, and after ten tries in vain, the CPU computes for good.
//
// A hanging frame goes back into circulation when the device has copied its input, most often at
// once. The device gets no new work for that frame before it has finished the old work.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "daemon/compute/sampled_check.hpp"
#include "selection/engine/engine.hpp"
#include "transport/accounting/counters.hpp"
#include "transport/format/time.hpp"

namespace l3 {

struct supervision {
  std::chrono::nanoseconds time_limit = std::chrono::seconds(1);  ///< from start to results
  std::chrono::nanoseconds first_pause = std::chrono::seconds(1); ///< doubles each time
  /// After this much time without a failure the next pause is first_pause again.
  std::chrono::nanoseconds longest_pause = std::chrono::minutes(1);
  std::uint32_t most_tries = 10;      ///< so many in vain, and the device counts as lost
  std::uint32_t verify_one_in = 1000; ///< checks one event in this many; 0 checks none
  std::uint32_t run = 0;
  std::function<time_point()> now = steady_clock::now;
};

class supervised_engine final : public engine {
public:
  // Lines that this engine adds to the memory plan of the device's engine.
  [[nodiscard]] static memory_use for_bypass(std::size_t bytes) {
    return {"bypass: output, results and columns of a frame", bytes};
  }
  [[nodiscard]] static memory_use for_check(std::size_t bytes) {
    return {"sampled check: an event", bytes};
  }

  /// Receives a failure before the frame is computed again, so it can still read wrong results. The
  /// waiting thread calls it.
  using failure_report =
      std::function<void(engine_failure kind, std::string_view text, const frame& what)>;
  /// Receives other news for the operator.
  using note = std::function<void(std::string_view)>;

  /// The device owns the frames. `cpu` has one frame, without memory for input. `reference`: see
  /// sampled_check.
  supervised_engine(std::unique_ptr<engine> device, std::unique_ptr<engine> cpu,
                    supervision settings, failure_report failed, note tell,
                    std::unique_ptr<engine> reference = nullptr);

  /// One thread starts frames and one waits for them. Results stay until the next wait.
  void start(frame& f) override;
  /// Returns `failed` only if the CPU cannot compute either. While the CPU computes another frame,
  /// it is `not_yet`.
  [[nodiscard]] frame_outcome wait_for(frame& f, std::chrono::nanoseconds limit) override;
  [[nodiscard]] bool at_rest(const frame& f) const override { return device_->at_rest(f); }
  [[nodiscard]] bool restart(frame& f) override { return device_->restart(f); }
  [[nodiscard]] bool reads_input(const frame& f) const override;
  [[nodiscard]] bool lost() const override {
    return device_->lost() || pauses_ > settings_.most_tries;
  }

  // Any thread.
  [[nodiscard]] const engine_counters& counters() const { return counters_; }
  [[nodiscard]] bool bypassed() const { return bypassed_; }
  /// Whether the next frame is for the device: to compute it, or to try the device again.
  [[nodiscard]] bool wants_frames() const;
  /// Whether the device still holds a frame that was given up.
  [[nodiscard]] bool hangs() const;

private:
  struct frame_state {
    bool on_device = false;
    bool is_trial = false;
    time_point started_at;
    std::atomic<bool> given_up = false; ///< the device must be restarted before it gets the frame
  };

  [[nodiscard]] bool may_use_device(frame& f);
  [[nodiscard]] bool may_try(frame& f);
  [[nodiscard]] bool restarts(frame& f);
  void put_off();
  void worked(frame& f, bool verified);
  void failed(engine_failure kind, const std::string& text, frame& f);
  [[nodiscard]] frame_outcome wait_for_cpu(frame& f, std::chrono::nanoseconds limit);
  void bypass(const std::stop_token& stop);
  [[nodiscard]] std::string wrong_with(const frame& f, bool all_events);

  std::unique_ptr<engine> device_;
  std::unique_ptr<engine> cpu_;
  supervision settings_;
  failure_report failed_;
  note tell_;
  sampled_check check_;
  engine_counters counters_;
  std::vector<frame_state> states_; ///< by frame::index; a frame's holder uses all but `given_up`

  /// Guards the members below; the atomics are written under it. No call of a driver is made under
  /// it, because such a call may not return for a long time.
  std::mutex mutex_;
  std::atomic<bool> bypassed_ = false;
  std::atomic<bool> wrong_ = false; ///< until the device has computed a checked frame again
  std::atomic<const frame*> trial_ = nullptr; ///< the frame with which the device is tried again
  std::atomic<std::uint32_t> pauses_ = 0;     ///< since the last one after good work
  bool lost_told_ = false;
  std::chrono::nanoseconds pause_;
  std::atomic<time_point> next_try_{time_point{}};
  time_point works_since_;

  // Between the waiting thread and the bypass.
  std::mutex cpu_mutex_;
  std::condition_variable_any cpu_changed_;
  const frame* on_cpu_ = nullptr; ///< what the CPU computes, or has computed for the waiting thread
  bool computed_ = false;
  bool cpu_failed_ = false;
  std::jthread bypass_; // the last member
};

/// Combines the engines of several devices. Consecutive frames go to different devices, and each
/// device is watched, bypassed and tried again by itself (supervised_engine). With one device, or
/// on the CPU, it only forwards to that engine.
class spread_engine final : public engine {
public:
  /// Needs at least one engine. Engine d of n gets the frames whose index is d modulo n.
  explicit spread_engine(std::vector<std::unique_ptr<supervised_engine>> devices);

  void start(frame& f) override { of(f).start(f); }
  [[nodiscard]] frame_outcome wait_for(frame& f, std::chrono::nanoseconds limit) override {
    return of(f).wait_for(f, limit);
  }
  [[nodiscard]] bool at_rest(const frame& f) const override { return of(f).at_rest(f); }
  [[nodiscard]] bool restart(frame& f) override { return of(f).restart(f); }
  [[nodiscard]] bool reads_input(const frame& f) const override { return of(f).reads_input(f); }

  // Any thread. Counters are sums over all devices; a flag is true if it is true for any device.
  [[nodiscard]] engine_counters counters() const;
  [[nodiscard]] bool lost() const override;
  [[nodiscard]] bool bypassed() const;
  [[nodiscard]] bool hangs() const;
  [[nodiscard]] bool wants(const frame& f) const { return of(f).wants_frames(); }

private:
  [[nodiscard]] supervised_engine& of(const frame& f) const {
    return *devices_[f.index % devices_.size()];
  }

  std::vector<std::unique_ptr<supervised_engine>> devices_;
};

} // namespace l3
