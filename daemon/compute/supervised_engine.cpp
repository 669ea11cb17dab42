// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/supervised_engine.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "gpu/memory/numa.hpp"
#include "transport/system/threads.hpp"

namespace l3 {

namespace {

std::string seconds(std::chrono::nanoseconds t) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(t).count();
  return ms % 1000 == 0 ? fmt::format("{} s", ms / 1000) : fmt::format("{} ms", ms);
}

bool lies_within(const event_result& r, std::span<const std::byte> output) {
  return r.offset <= output.size() && r.bytes <= output.size() - r.offset;
}

} // namespace

supervised_engine::supervised_engine(std::unique_ptr<engine> device, std::unique_ptr<engine> cpu,
                                     supervision settings, failure_report failed, note tell,
                                     std::unique_ptr<engine> reference)
    : device_(std::move(device)), cpu_(std::move(cpu)), settings_(std::move(settings)),
      failed_(std::move(failed)), tell_(std::move(tell)),
      check_(settings_.run, settings_.verify_one_in, std::move(reference)),
      states_(device_->frames().back()->index + 1), pause_(settings_.first_pause),
      works_since_(settings_.now()) {
  name_ = device_->name();
  frames_.assign(device_->frames().begin(), device_->frames().end());
  processors_.assign(device_->processors().begin(), device_->processors().end());
  memory_plan_.assign(device_->memory_plan().begin(), device_->memory_plan().end());
  memory_plan_.push_back(for_bypass(sum_of(cpu_->memory_plan())));
  if (check_.memory() != 0) memory_plan_.push_back(for_check(check_.memory()));
  bypass_ = std::jthread([this](const std::stop_token& stop) { bypass(stop); });
}

void supervised_engine::start(frame& f) {
  frame_state& s = states_[f.index];
  s.on_device = may_use_device(f);
  s.started_at = settings_.now();
  if (s.on_device) device_->start(f);
}

bool supervised_engine::wants_frames() const {
  return !bypassed_ || (!lost() && trial_ == nullptr && settings_.now() >= next_try_.load());
}

bool supervised_engine::may_use_device(frame& f) {
  frame_state& s = states_[f.index];
  s.is_trial = false;
  if (bypassed_) return may_try(f);
  if (!s.given_up) return true;
  // The frame was given up while the device was distrusted; now the device is trusted again.
  if (!device_->at_rest(f) || !device_->restart(f)) return false;
  s.given_up = false;
  return true;
}

bool supervised_engine::may_try(frame& f) {
  if (!wants_frames()) return false;
  trial_ = &f;
  frame_state& s = states_[f.index];
  s.is_trial = restarts(f);
  if (s.is_trial) return true;
  const std::lock_guard lock(mutex_);
  trial_ = nullptr;
  put_off();
  return false;
}

/// A device that still holds a frame is not tried, because it would only hold another one.
bool supervised_engine::restarts(frame& f) {
  if (hangs()) return false;
  counters_.restarts.add();
  frame_state& s = states_[f.index];
  s.given_up = !device_->restart(f);
  if (s.given_up) tell_("the device could not be restarted: " + std::exchange(f.error, {}));
  return !s.given_up;
}

void supervised_engine::put_off() {
  ++pauses_;
  if (lost()) {
    if (!std::exchange(lost_told_, true))
      tell_("this process has lost the device: only a restart of the daemon can recover it; the "
            "CPU computes until then");
    return;
  }
  next_try_ = settings_.now() + pause_;
  tell_("the CPU computes; the device is tried again in " + seconds(pause_));
  pause_ = std::min(2 * pause_, settings_.longest_pause);
}

bool supervised_engine::reads_input(const frame& f) const {
  return states_[f.index].given_up && device_->reads_input(f);
}

bool supervised_engine::hangs() const {
  return std::ranges::any_of(
      frames_, [&](const frame* f) { return states_[f->index].given_up && !device_->at_rest(*f); });
}

frame_outcome supervised_engine::wait_for(frame& f, std::chrono::nanoseconds limit) {
  frame_state& s = states_[f.index];
  if (!s.on_device) return wait_for_cpu(f, limit);

  const auto left = s.started_at + settings_.time_limit - settings_.now();
  const auto outcome = device_->wait_for(
      f, std::clamp<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(0), limit));
  if (outcome == frame_outcome::done) {
    const std::uint64_t verified_before = counters_.events_verified;
    const std::string wrong = wrong_with(f, s.is_trial || wrong_);
    if (wrong.empty()) {
      worked(f, counters_.events_verified != verified_before);
      return outcome;
    }
    failed(engine_failure::wrong, wrong, f);
  } else if (outcome == frame_outcome::wrong) {
    failed(engine_failure::wrong, f.error, f);
  } else if (outcome == frame_outcome::failed) {
    failed(engine_failure::error, f.error, f);
  } else {
    if (settings_.now() < s.started_at + settings_.time_limit) return outcome;
    failed(engine_failure::hang, "no result after " + seconds(settings_.time_limit), f);
  }
  s.on_device = false;
  return wait_for_cpu(f, limit);
}

void supervised_engine::worked(frame& f, bool verified) {
  const std::lock_guard lock(mutex_);
  if (trial_ == &f) {
    trial_ = nullptr;
    bypassed_ = false;
    works_since_ = settings_.now();
    tell_("the device computes again");
  }
  if (!bypassed_ && verified) wrong_ = false;
}

void supervised_engine::failed(engine_failure kind, const std::string& text, frame& f) {
  counters_.failures.add(kind);
  failed_(kind, text, f);
  const std::lock_guard lock(mutex_);
  states_[f.index].given_up = true;
  if (kind == engine_failure::wrong) wrong_ = true;
  if (trial_ == &f) {
    trial_ = nullptr;
  } else if (bypassed_) {
    return; // the frame was in progress when the first one failed
  } else if (settings_.now() - works_since_ >= settings_.longest_pause) {
    pause_ = settings_.first_pause;
    pauses_ = 0;
  }
  put_off(); // before receivers and starts see the bypass
  bypassed_ = true;
}

void supervised_engine::bypass(const std::stop_token& stop) {
  name_this_thread("bypass");
  run_on(processors_);
  std::unique_lock lock(cpu_mutex_);
  const auto is_asked = [&] { return on_cpu_ != nullptr && !computed_; };
  while (cpu_changed_.wait(lock, stop, is_asked)) {
    frame& here = *cpu_->frames().front();
    here.input = on_cpu_->input;
    lock.unlock();
    cpu_->start(here);
    const bool failed = !cpu_->wait(here);
    lock.lock();
    cpu_failed_ = failed;
    computed_ = true;
    cpu_changed_.notify_all();
  }
}

/// Hands the frame to the bypass if it is free, and waits for it. A result that the waiting thread
/// has not taken yet keeps the bypass from the next frame.
frame_outcome supervised_engine::wait_for_cpu(frame& f, std::chrono::nanoseconds limit) {
  const frame& here = *cpu_->frames().front();
  {
    std::unique_lock lock(cpu_mutex_);
    if (on_cpu_ == nullptr) {
      on_cpu_ = &f;
      computed_ = false;
      cpu_changed_.notify_all();
    }
    if (!cpu_changed_.wait_for(lock, limit, [&] { return computed_; }) || on_cpu_ != &f)
      return frame_outcome::not_yet;
    on_cpu_ = nullptr;
    if (cpu_failed_) {
      f.error = here.error;
      return frame_outcome::failed;
    }
  }
  f.error.clear();
  f.results = here.results;
  f.summaries = here.summaries;
  f.histograms = here.histograms;
  f.output = here.output;
  counters_.frames_bypassed.add();
  if (const std::string wrong = wrong_with(f, false); !wrong.empty()) {
    counters_.failures.add(engine_failure::wrong);
    failed_(engine_failure::wrong, "on the CPU, and no other engine can compute it: " + wrong, f);
  }
  return frame_outcome::done;
}

/// Describes the first fault of the chosen events; empty if they have none. Every kept event must
/// lie within the output; otherwise the drain thread would read outside it.
std::string supervised_engine::wrong_with(const frame& f, bool all_events) {
  std::string first;
  for (std::size_t e = 0; e < f.results.size(); ++e) {
    const event_result& r = f.results[e];
    const bool has_place = r.kept == 0 || lies_within(r, f.output);
    if (has_place && !all_events && !check_.chosen(f.input.events[e])) continue;
    counters_.events_verified.add();
    std::string wrong = check_.wrong_with(f, e);
    if (wrong.empty()) continue;
    counters_.events_wrong.add();
    if (first.empty()) first = std::move(wrong);
  }
  return first;
}

namespace {

void add(engine_counters& to, const engine_counters& more) {
  for (std::size_t f = 0; f < enumerators<engine_failure>; ++f) {
    const auto kind = static_cast<engine_failure>(f);
    to.failures.add(kind, more.failures[kind]);
  }
  to.frames_bypassed.add(more.frames_bypassed);
  to.restarts.add(more.restarts);
  to.events_verified.add(more.events_verified);
  to.events_wrong.add(more.events_wrong);
}

} // namespace

spread_engine::spread_engine(std::vector<std::unique_ptr<supervised_engine>> devices)
    : devices_(std::move(devices)) {
  for (const auto& d : devices_) {
    name_ += (name_.empty() ? "" : " + ") + std::string(d->name());
    frames_.insert(frames_.end(), d->frames().begin(), d->frames().end());
    for (const int p : d->processors()) processors_.push_back(p);
    for (const memory_use& use : d->memory_plan()) {
      const auto same = std::ranges::find(memory_plan_, use.what, &memory_use::what);
      if (same == memory_plan_.end()) {
        memory_plan_.push_back(use);
      } else {
        same->bytes += use.bytes;
      }
    }
  }
  std::ranges::sort(frames_, {}, &frame::index);
  for (std::size_t n = 0; n < frames_.size(); ++n)
    if (frames_[n]->index != n) std::abort(); // the engines were made with other frame numbers
}

engine_counters spread_engine::counters() const {
  engine_counters all = devices_.front()->counters();
  for (std::size_t d = 1; d < devices_.size(); ++d) add(all, devices_[d]->counters());
  return all;
}

bool spread_engine::lost() const {
  return std::ranges::any_of(devices_, [](const auto& d) { return d->lost(); });
}

bool spread_engine::bypassed() const {
  return std::ranges::any_of(devices_, [](const auto& d) { return d->bypassed(); });
}

bool spread_engine::hangs() const {
  return std::ranges::any_of(devices_, [](const auto& d) { return d->hangs(); });
}

} // namespace l3
