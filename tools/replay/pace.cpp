// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/pace.hpp"

#include <algorithm>
#include <cerrno>
#include <thread>

#include <sys/prctl.h>
#include <time.h>

namespace l3 {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr nanoseconds longest_sleep = 50ms;  // then the caller checks for a stop
constexpr nanoseconds longest_spread = 10ms; // of an event with the file's own times
constexpr nanoseconds spin_time = 50us;      // if there are spare processors

nanoseconds seconds(double n) {
  return std::chrono::round<nanoseconds>(std::chrono::duration<double>(n));
}

} // namespace

nanoseconds schedule::begin_spill() {
  next_ = std::max(next_, cycle_end_);
  return spill_begin_ = next_;
}

schedule::slot schedule::next_event(const replay_spill& spill, std::size_t i, std::size_t bytes) {
  slot s{next_, 0s};
  switch (rate_.how) {
  case replay_rate::kind::recorded: {
    const nanoseconds at = spill.events[i].since_spill;
    s.due = spill_begin_ + at;
    if (i + 1 < spill.events.size())
      s.length = std::clamp(spill.events[i + 1].since_spill - at, nanoseconds(0), longest_spread);
    next_ = s.due;
    break;
  }
  case replay_rate::kind::events: s.length = seconds(1 / rate_.value); break;
  case replay_rate::kind::bits:
    s.length = seconds(8 * static_cast<double>(bytes) / rate_.value);
    break;
  case replay_rate::kind::unlimited: break;
  }
  if (rate_.how != replay_rate::kind::recorded) next_ += s.length;
  return s;
}

nanoseconds schedule::end_spill(const replay_spill& spill, nanoseconds last) {
  next_ = std::max(next_, last) + end_delay_;
  if (rate_.how == replay_rate::kind::recorded) cycle_end_ = spill_begin_ + spill.cycle;
  return next_;
}

pace_keeper::pace_keeper() {
  constexpr unsigned few_processors = 2; // the receiver may need the spinning one
  if (std::thread::hardware_concurrency() > few_processors) spin_ = spin_time;
  start();
}

void pace_keeper::start() {
  ::prctl(PR_SET_TIMERSLACK, 1UL); // if refused, the reported delays show it
  start_ = steady_clock::now();
  earliest_ = 0s;
}

nanoseconds pace_keeper::elapsed() const { return steady_clock::now() - start_; }

nanoseconds pace_keeper::until(nanoseconds due) const {
  return std::max<nanoseconds>(due - elapsed(), 0s);
}

void pace_keeper::note(nanoseconds due) {
  const auto delay = std::max<nanoseconds>(elapsed() - due, 0s);
  delays_.add(delay);
  longest_ = std::max(longest_, delay);
}

void pace_keeper::add(const pace_keeper& other) {
  delays_.add(other.delays_);
  longest_ = std::max(longest_, other.longest_);
}

bool pace_keeper::sleep_until(time_point time) const {
  const auto now = steady_clock::now();
  if (now >= time) return true;
  const bool whole = time - now <= longest_sleep;
  const auto wake = (whole ? time : now + longest_sleep) - std::min(spin_, time - now);
  const nanoseconds since_boot = wake.time_since_epoch();
  const timespec at{since_boot / 1s, (since_boot % 1s).count()};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
  if (!whole) return false;
  while (steady_clock::now() < time) {
  }
  return true;
}

bool pace_keeper::wait(nanoseconds due, nanoseconds spacing) {
  if (!sleep_until(start_ + std::max(due, earliest_))) return false;
  note(due);
  earliest_ = elapsed() + spacing / 2;
  return true;
}

} // namespace l3
