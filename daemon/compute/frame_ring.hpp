// SPDX-License-Identifier: Apache-2.0
// The frames in circulation: free → filling → running → draining → free. A frame is held before it
// is free as long as a failed device may still read its input. Receivers see a batch_pool, the
// compute thread takes submitted frames, and the drain thread takes started ones, in the order of
// the batches' serial numbers. The number of frames bounds memory, latency and back-pressure. One
// lock, taken a few times per frame, never per event.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <stop_token>
#include <vector>

#include "daemon/monitor/snapshot.hpp"
#include "gpu/memory/frame.hpp"
#include "transport/building/held_batches.hpp"

namespace l3 {

class frame_ring final : public batch_pool {
public:
  /// Whether receivers should get this free frame before others. Called under the lock.
  using preference = std::function<bool(const frame&)>;

  /// The engine owns the frames; all are free at first.
  explicit frame_ring(
      std::span<frame* const> frames, preference first = [](const frame&) { return true; });

  // For receivers.
  input_batch* try_take() override;
  void submit(input_batch& batch) override;
  [[nodiscard]] bool idle() const override;

  // For the compute thread: the next submitted frame, or nullptr after the time limit or a stop.
  [[nodiscard]] frame* wait_submitted(const std::stop_token& stop,
                                      std::chrono::nanoseconds time_limit);
  /// Hands a frame whose kernels are under way to the drain thread.
  void started(frame& f);

  // For the drain thread: the next started frame, or nullptr after the time limit or a stop.
  [[nodiscard]] frame* wait_started(const std::stop_token& stop,
                                    std::chrono::nanoseconds time_limit);
  /// Counts events of the frame that are now in the outbox, rejected or shed.
  void settled(const frame& f, std::uint64_t events) { settled_[f.index] += events; }
  /// Frees a frame after all its events were settled.
  void release(frame& f);
  /// Keeps the frame from the receivers until release_held() finds that the device no longer reads
  /// it. It asks without the lock, because a driver may take its time to answer.
  void hold(frame& f);
  void release_held(const std::function<bool(const frame&)>& may_go);

  // Any thread.
  [[nodiscard]] std::array<std::uint32_t, enumerators<frame_state>> count_states() const;
  /// Events of submitted frames that are not settled yet.
  [[nodiscard]] std::uint64_t events_under_way() const;

private:
  struct slot {
    frame* what = nullptr;
    frame_state state = frame_state::free;
  };
  slot& slot_of(const input_batch& batch);
  void settle(frame& f, frame_state state);
  frame* wait_for(std::deque<slot*>& queue, std::condition_variable_any& arrived,
                  const std::stop_token& stop, std::chrono::nanoseconds time_limit);

  preference first_;
  mutable std::mutex mutex_;
  std::condition_variable_any submitted_arrived_;
  std::condition_variable_any started_arrived_;
  std::vector<slot> slots_;
  std::vector<std::atomic<std::uint64_t>> settled_; // by frame; increased without the lock
  std::deque<slot*> submitted_;
  std::deque<slot*> started_;
  std::uint64_t next_serial_ = 1;
};

} // namespace l3
