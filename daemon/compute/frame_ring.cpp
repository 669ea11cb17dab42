// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/frame_ring.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <utility>

namespace l3 {

frame_ring::frame_ring(std::span<frame* const> frames, preference first)
    : first_(std::move(first)), settled_(frames.size()) {
  slots_.reserve(frames.size());
  for (frame* f : frames) slots_.push_back({f, frame_state::free});
}

frame_ring::slot& frame_ring::slot_of(const input_batch& batch) {
  const auto at =
      std::ranges::find_if(slots_, [&](const slot& s) { return &s.what->input == &batch; });
  if (at == slots_.end()) std::abort(); // not a batch of this ring: a programming error
  return *at;
}

input_batch* frame_ring::try_take() {
  const std::lock_guard lock(mutex_);
  const auto is_free = [](const slot& s) { return s.state == frame_state::free; };
  auto at =
      std::ranges::find_if(slots_, [&](const slot& s) { return is_free(s) && first_(*s.what); });
  if (at == slots_.end()) at = std::ranges::find_if(slots_, is_free);
  if (at == slots_.end()) return nullptr;
  at->state = frame_state::filling;
  at->what->input.clear();
  at->what->input.serial = next_serial_++;
  return &at->what->input;
}

void frame_ring::submit(input_batch& batch) {
  {
    const std::lock_guard lock(mutex_);
    slot& s = slot_of(batch);
    assert(s.state == frame_state::filling);
    s.state = frame_state::running;
    submitted_.push_back(&s);
  }
  submitted_arrived_.notify_one();
}

bool frame_ring::idle() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::none_of(slots_, [](const slot& s) {
    return s.state == frame_state::running || s.state == frame_state::draining;
  });
}

frame* frame_ring::wait_for(std::deque<slot*>& queue, std::condition_variable_any& arrived,
                            const std::stop_token& stop, std::chrono::nanoseconds time_limit) {
  std::unique_lock lock(mutex_);
  if (!arrived.wait_for(lock, stop, time_limit, [&] { return !queue.empty(); })) return nullptr;
  slot* s = queue.front();
  queue.pop_front();
  return s->what;
}

frame* frame_ring::wait_submitted(const std::stop_token& stop,
                                  std::chrono::nanoseconds time_limit) {
  return wait_for(submitted_, submitted_arrived_, stop, time_limit);
}

void frame_ring::started(frame& f) {
  {
    const std::lock_guard lock(mutex_);
    slot& s = slot_of(f.input);
    s.state = frame_state::draining;
    started_.push_back(&s);
  }
  started_arrived_.notify_one();
}

frame* frame_ring::wait_started(const std::stop_token& stop, std::chrono::nanoseconds time_limit) {
  return wait_for(started_, started_arrived_, stop, time_limit);
}

void frame_ring::settle(frame& f, frame_state state) {
  const std::lock_guard lock(mutex_);
  slot_of(f.input).state = state;
  settled_[f.index] = 0;
}

void frame_ring::release(frame& f) { settle(f, frame_state::free); }

void frame_ring::hold(frame& f) { settle(f, frame_state::held); }

void frame_ring::release_held(const std::function<bool(const frame&)>& may_go) {
  const auto is_held = [&](const slot& s) {
    const std::lock_guard lock(mutex_);
    return s.state == frame_state::held;
  };
  for (const slot& s : slots_)
    if (is_held(s) && may_go(*s.what)) release(*s.what);
}

std::array<std::uint32_t, enumerators<frame_state>> frame_ring::count_states() const {
  const std::lock_guard lock(mutex_);
  std::array<std::uint32_t, enumerators<frame_state>> n{};
  for (const slot& s : slots_) ++n[static_cast<std::size_t>(s.state)];
  return n;
}

std::uint64_t frame_ring::events_under_way() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t n = 0;
  for (const slot& s : slots_) {
    if (s.state == frame_state::running || s.state == frame_state::draining)
      n += s.what->input.used_events - settled_[s.what->index];
  }
  return n;
}

} // namespace l3
