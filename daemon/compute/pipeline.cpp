// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/pipeline.hpp"

#include <algorithm>

#include "gpu/memory/numa.hpp"
#include "transport/format/time.hpp"
#include "transport/format/units.hpp"
#include "transport/system/threads.hpp"

namespace l3 {
namespace {

/// How long the drain thread waits for a device or for room before it checks whether a block is
/// due.
constexpr auto look_around = std::chrono::milliseconds(1);
/// Time between two checks for free room.
constexpr auto room_period = std::chrono::milliseconds(10);
/// Time between two turns of an idle thread: see progress_watch.
constexpr auto idle_period = std::chrono::milliseconds(100);

} // namespace

pipeline::pipeline(engine& compute, frame_ring& frames, spilling_outbox& out, shedding& sheds,
                   outcome_counters& outcomes, histogram_book& histograms, report failed,
                   shadow_menu* shadow, histogram_stream* stored)
    : engine_(compute), frames_(frames), outbox_(out), sheds_(sheds), outcomes_(outcomes),
      histograms_(histograms), failed_(std::move(failed)), shadow_(shadow), stored_(stored),
      started_at_(compute.frames().size()),
      compute_thread_([this](const std::stop_token& stop) { this->compute(stop); }),
      drain_thread_([this](const std::stop_token& stop) { drain(stop); }) {}

pipeline::~pipeline() = default;

void pipeline::finish(time_point deadline) {
  deadline_ = deadline;
  compute_thread_.request_stop();
  compute_thread_.join();
  drain_thread_.request_stop();
  drain_thread_.join();
}

void pipeline::compute(const std::stop_token& stop) {
  name_this_thread("compute");
  run_on(engine_.processors());
  while (true) {
    compute_turns_.add();
    frame* f = frames_.wait_submitted(stop, idle_period);
    if (f != nullptr) {
      started_at_[f->index] = steady_clock::now();
      if (f->input.used_events != 0) engine_.start(*f);
      frames_.started(*f);
    } else if (stop.stop_requested()) {
      return; // no frame is submitted after that, and none is left
    }
  }
}

void pipeline::drain(const std::stop_token& stop) {
  name_this_thread("drain");
  run_on(engine_.processors());
  while (true) {
    drain_turns_.add();
    take_started(stop);
    if (frame* const f = next_ended(); f != nullptr) {
      drain_frame(*f);
    } else if (waiting_.empty() && stop.stop_requested()) {
      end_histograms();
      outbox_.seal();
      return;
    }
    histograms_.look(steady_clock::now());
    outbox_.seal_if_due(steady_clock::now());
    look_at_room();
  }
}

/// Waits only if there is nothing else to do.
void pipeline::take_started(const std::stop_token& stop) {
  std::chrono::nanoseconds limit{0};
  if (waiting_.empty()) {
    const auto due_in = outbox_.due_at() - steady_clock::now();
    // Shedding ends when room comes free, even without an event.
    const std::chrono::nanoseconds longest = sheds_.active() || holds_ ? room_period : idle_period;
    limit = std::clamp<std::chrono::nanoseconds>(due_in, {}, longest);
  }
  for (; frame* const f = frames_.wait_started(stop, limit); limit = {}) waiting_.push_back(f);
}

/// The oldest frame that has ended; waits a little for the oldest one of all.
frame* pipeline::next_ended() {
  auto at = std::ranges::find_if(waiting_, [&](frame* f) { return has_ended(*f, {}); });
  if (at == waiting_.end() && !waiting_.empty() && has_ended(*waiting_.front(), look_around))
    at = waiting_.begin();
  if (at == waiting_.end()) return nullptr;
  frame* const f = *at;
  waiting_.erase(at);
  return f;
}

bool pipeline::has_ended(frame& f, std::chrono::nanoseconds limit) {
  if (f.input.used_events == 0) return true;
  outcome_ = engine_.wait_for(f, limit);
  return outcome_ != frame_outcome::not_yet;
}

/// Puts the last histograms into the stream until the deadline.
void pipeline::end_histograms() {
  histograms_.end_all();
  while (stored_ != nullptr && !stored_->finish()) {
    if (steady_clock::now() >= deadline_.load()) return stored_->give_up();
    std::this_thread::sleep_for(look_around);
  }
}

void pipeline::drain_frame(frame& f) {
  const std::size_t events = f.input.used_events;
  if (events != 0) {
    const time_point computed_at = steady_clock::now();
    compute_time_.add(computed_at - started_at_[f.index]);
    if (outcome_ == frame_outcome::done) {
      histograms_.add(f, computed_at);
      for (std::size_t e = 0; e < events; ++e) {
        append(f, e);
        frames_.settled(f, 1);
      }
      if (shadow_ != nullptr) shadow_->judge(f, frames_are_scarce() && others_wait());
    } else {
      failed_frames_.add();
      give_up(shed::engine, events);
      frames_.settled(f, events);
      failed_(f.error);
    }
    drain_time_.add(steady_clock::now() - computed_at);
  }
  if (!unsafe_) tell_safe(f);
  if (!engine_.reads_input(f)) return frames_.release(f);
  frames_.hold(f);
  holds_ = true;
}

/// A batch is safe only with all batches before it, and some of them may still wait.
void pipeline::tell_safe(const frame& drained) {
  drained_ = std::max(drained_, drained.input.serial);
  outbox_.batch_done(waiting_.empty() ? drained_
                                      : std::min(drained_, waiting_.front()->input.serial - 1));
}

/// Releases held frames that the device has finished copying.
void pipeline::look_at_held() {
  if (!holds_) return;
  frames_.release_held([this](const frame& f) { return !engine_.reads_input(f); });
  holds_ = frames_.count_states()[static_cast<std::size_t>(frame_state::held)] != 0;
}

void pipeline::look_at_room() {
  const time_point now = steady_clock::now();
  if (now - looked_at_ < room_period) return;
  looked_at_ = now;
  look_at_held();
  sheds_.look(has_no_room() ? 1.0 : outbox_.fullness(), now);
}

/// A waiting event means full, even if smaller ones would fit or the disk is only slow. Free frames
/// absorb a slow disk, so as long as there are any the room is not full.
bool pipeline::has_no_room() const { return waiting_for_outbox_ && frames_are_scarce(); }

bool pipeline::frames_are_scarce() const {
  const std::uint32_t free = frames_.count_states()[static_cast<std::size_t>(frame_state::free)];
  return free <= std::max<std::size_t>(1, engine_.frames().size() / 4);
}

bool pipeline::others_wait() const {
  return frames_.count_states()[static_cast<std::size_t>(frame_state::running)] != 0;
}

/// Sheds an event if its sender keeps no copy and all its lines are being shed.
bool pipeline::is_shed(const frame& f, std::size_t event) {
  look_at_room();
  const event_summary* const summary = f.summaries.empty() ? nullptr : &f.summaries[event];
  if (sheds_.keeps(f.input.events[event], summary, steady_clock::now())) return false;
  outcomes_.events_shed.add(shed::priority);
  return true;
}

/// No batch counts as safe from now on: a sender that waits for an acknowledgement keeps these
/// events and sends them again after the next start.
void pipeline::give_up(shed reason, std::uint64_t events) {
  outcomes_.events_shed.add(reason, events);
  unsafe_ = true;
}

void pipeline::append(const frame& f, std::size_t event) {
  const event_result& result = f.results[event];
  outcomes_.computed_bytes.add(result.original_bytes);
  outcomes_.boards_damaged.add(result.boards_damaged);
  outcomes_.boards_opaque.add(result.boards_opaque);
  if (!f.summaries.empty()) lines_.add(f.summaries[event]);
  if (result.kept == 0) {
    outcomes_.events_rejected.add();
    return;
  }
  if (is_shed(f, event)) return;
  const auto packed = f.output.subspan(result.offset, result.bytes);
  while (!outbox_.append(packed, from_table(f.input.events[event].completed_at))) {
    waiting_for_outbox_ = true;
    drain_turns_.add();
    outbox_.seal(); // the open block itself may take the room
    if (!outbox_.wait_for_room(look_around, packed.size()) &&
        steady_clock::now() >= deadline_.load()) {
      give_up(shed::drain, 1);
      waiting_for_outbox_ = false;
      return;
    }
    if (is_shed(f, event)) {
      waiting_for_outbox_ = false;
      return;
    }
  }
  waiting_for_outbox_ = false;
  outcomes_.waveform_bytes.add(result.original_bytes);
  const event_payload payload =
      f.summaries.empty() ? event_payload::all : f.summaries[event].payload;
  outcomes_.packed_events.add(payload);
  outcomes_.packed_bytes.add(payload, packed.size());
  kept_.offer(packed, f.summaries.empty() ? 0U : f.summaries[event].kept_by, steady_clock::now());
}

} // namespace l3
