// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/pace.hpp"

#include <algorithm>
#include <cerrno>
#include <thread>

#include <sys/prctl.h>
#include <time.h>

#include "transport/format/units.hpp"

namespace l3 {
namespace {

constexpr std::uint64_t longest_sleep = 50'000'000;  // ns: then somebody looks whether to stop
constexpr std::uint64_t longest_spread = 10'000'000; // ns, of an event with the file's own times
constexpr std::uint64_t spin_time = 50'000;          // ns, if there are processors to spare
constexpr double second = 1e9;                       // ns

} // namespace

schedule::slot schedule::next_event(const replay_spill& spill, std::size_t i, std::size_t bytes) {
  slot s{next_, 0};
  switch (rate_.how) {
  case replay_rate::kind::recorded: {
    const auto at = static_cast<std::uint64_t>(spill.events[i].since_spill.count());
    s.due = spill_begin_ + at;
    if (i + 1 < spill.events.size()) {
      const auto next = static_cast<std::uint64_t>(spill.events[i + 1].since_spill.count());
      s.length = std::min(longest_spread, next > at ? next - at : 0);
    }
    next_ = s.due;
    break;
  }
  case replay_rate::kind::events:
    s.length = static_cast<std::uint64_t>(second / rate_.value);
    break;
  case replay_rate::kind::bits:
    s.length = static_cast<std::uint64_t>(8 * second * static_cast<double>(bytes) / rate_.value);
    break;
  case replay_rate::kind::unlimited: break;
  }
  if (rate_.how != replay_rate::kind::recorded) next_ += s.length;
  return s;
}

std::uint64_t schedule::end_spill(const replay_spill& spill, std::uint64_t last) {
  next_ = std::max(next_, last) + end_delay_;
  if (rate_.how == replay_rate::kind::recorded)
    next_ = std::max(next_, spill_begin_ + static_cast<std::uint64_t>(spill.cycle.count()));
  return next_;
}

pace_keeper::pace_keeper() {
  ::prctl(PR_SET_TIMERSLACK, 1UL);       // refused: the delays that are reported will show it
  constexpr unsigned few_processors = 2; // the receiver may need the one we would spin on
  if (std::thread::hardware_concurrency() > few_processors) spin_ = spin_time;
  start();
}

void pace_keeper::start() {
  start_ = steady_now();
  earliest_ = 0;
}

std::uint64_t pace_keeper::elapsed() const { return steady_now() - start_; }

std::chrono::nanoseconds pace_keeper::until(std::uint64_t due) const {
  const auto now = elapsed();
  return std::chrono::nanoseconds(due > now ? due - now : 0);
}

void pace_keeper::note(std::uint64_t due) {
  const auto now = elapsed();
  const auto delay = now > due ? now - due : 0;
  delays_.add(delay);
  longest_ = std::max(longest_, delay);
}

bool pace_keeper::sleep_until(std::uint64_t time) const {
  const auto now = steady_now();
  if (now >= time) return true;
  const bool whole = time - now <= longest_sleep;
  const auto wake = (whole ? time : now + longest_sleep) - std::min(spin_, time - now);
  const timespec at{static_cast<time_t>(wake / 1'000'000'000),
                    static_cast<long>(wake % 1'000'000'000)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
  if (!whole) return false;
  while (steady_now() < time) {
  }
  return true;
}

bool pace_keeper::wait(std::uint64_t due, std::uint64_t spacing) {
  if (!sleep_until(start_ + std::max(due, earliest_))) return false;
  note(due);
  earliest_ = elapsed() + spacing / 2;
  return true;
}

} // namespace l3
