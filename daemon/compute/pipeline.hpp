// SPDX-License-Identifier: Apache-2.0
// The two threads between the receivers and the outbox. The compute thread starts each submitted
// frame on the engine. The drain thread takes the oldest frame with results, copies the packed
// events into the outbox, and frees the frame at once. So a frame that hangs, or that the CPU
// computes, delays no other. A slow receiver fills the outbox and the disk, not pinned memory. When
// both are full, the drain thread waits and keeps its frame.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "daemon/compute/frame_ring.hpp"
#include "daemon/compute/histogram_book.hpp"
#include "daemon/compute/line_counts.hpp"
#include "daemon/compute/shadow_menu.hpp"
#include "daemon/compute/shedding.hpp"
#include "selection/display/kept_events.hpp"
#include "selection/engine/engine.hpp"
#include "transport/accounting/counters.hpp"
#include "transport/accounting/latency_distribution.hpp"
#include "transport/format/time.hpp"
#include "transport/outbox/spilling_outbox.hpp"

namespace l3 {

class pipeline {
public:
  /// Receives the text of an engine's failure, once per failed frame, from the pipeline's threads.
  using report = std::function<void(std::string_view)>;

  /// `shadow` may be null, and so may `stored`, which gets the histograms of spills from
  /// `histograms`.
  pipeline(engine& compute, frame_ring& frames, spilling_outbox& out, shedding& sheds,
           outcome_counters& outcomes, histogram_book& histograms, report failed,
           shadow_menu* shadow = nullptr, histogram_stream* stored = nullptr);
  /// Ends both threads without draining the frames under way: see finish().
  ~pipeline();
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  /// Call it when no more frames will be submitted: computes and drains the last frames, then ends
  /// both threads. Events that the outbox has not taken by the deadline are counted as shed(drain).
  void finish(time_point deadline);

  // Any thread.
  [[nodiscard]] bool waiting_for_outbox() const { return waiting_for_outbox_; }
  /// Both counters increase several times a second as long as the threads work: see progress_watch.
  [[nodiscard]] std::uint64_t compute_turns() const { return compute_turns_; }
  [[nodiscard]] std::uint64_t drain_turns() const { return drain_turns_; }
  [[nodiscard]] std::uint64_t failed_frames() const { return failed_frames_; }
  /// All counts are 0 without a selection.
  [[nodiscard]] const line_counts& lines() const { return lines_; }
  [[nodiscard]] const kept_events& kept() const { return kept_; }
  /// Time from start to results of each frame.
  [[nodiscard]] const latency_distribution& compute_time() const { return compute_time_; }
  /// Time from results to free of each frame.
  [[nodiscard]] const latency_distribution& drain_time() const { return drain_time_; }

private:
  void compute(const std::stop_token& stop);
  void drain(const std::stop_token& stop);
  void take_started(const std::stop_token& stop);
  [[nodiscard]] frame* next_ended();
  [[nodiscard]] bool has_ended(frame& f, std::chrono::nanoseconds limit);
  void drain_frame(frame& f);
  void tell_safe(const frame& drained);
  void append(const frame& f, std::size_t event);
  void look_at_room();
  void end_histograms();
  void look_at_held();
  [[nodiscard]] bool has_no_room() const;
  [[nodiscard]] bool frames_are_scarce() const;
  /// Whether frames wait behind the current one. With two frames none is ever free while one fills.
  [[nodiscard]] bool others_wait() const;
  [[nodiscard]] bool is_shed(const frame& f, std::size_t event);
  void give_up(shed reason, std::uint64_t events);

  engine& engine_;
  frame_ring& frames_;
  spilling_outbox& outbox_;
  shedding& sheds_;
  outcome_counters& outcomes_;
  histogram_book& histograms_;
  report failed_;
  shadow_menu* shadow_;
  histogram_stream* stored_;
  time_point looked_at_{};      // when the drain thread last looked at the room
  std::vector<frame*> waiting_; // drain thread: started frames, by rising serial number
  frame_outcome outcome_ = frame_outcome::not_yet; // drain thread: of the last wait
  std::uint64_t drained_ = 0; // drain thread: highest serial number of a drained frame
  bool holds_ = false;        // drain thread: some frames may still be read by the device
  bool unsafe_ =
      false; // set by the drain thread when it sheds an event that its sender may send again
  std::vector<time_point>
      started_at_; // by frame; written by the compute thread before it hands over the frame

  std::atomic<bool> waiting_for_outbox_ = false;
  std::atomic<time_point> deadline_ = never;
  counter compute_turns_;
  counter drain_turns_;
  counter failed_frames_;
  line_counts lines_;
  kept_events kept_;
  latency_distribution compute_time_;
  latency_distribution drain_time_;

  std::jthread compute_thread_;
  std::jthread drain_thread_;
};

} // namespace l3
