// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/shedding.hpp"

#include <algorithm>
#include <set>

#include "transport/format/prescale.hpp"

namespace l3 {

namespace {

using namespace std::chrono_literals;

/// Time that a step needs to show its effect.
constexpr auto step_time = 50ms;
/// An event that could not wait counts as recent for this time.
constexpr auto recent = 1s;
/// Mixed into a line's id, so that this prescale chooses independently of the line's own.
constexpr std::uint32_t salt = 0x73686564; // "shed"

} // namespace

shedding::shedding(std::uint32_t run, std::vector<line> lines)
    : run_(run), lines_(std::move(lines)) {
  std::set<std::uint8_t> priorities;
  for (const line& l : lines_) priorities.insert(l.priority);
  for (const line& l : lines_) {
    class_of_.push_back(
        static_cast<std::uint32_t>(std::distance(priorities.begin(), priorities.find(l.priority))));
  }
  classes_ = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(priorities.size()));
  // The highest priority is never shed completely: its remaining events show whether shedding can
  // end.
  most_ = classes_ * static_cast<std::uint32_t>(steps.size()) - 1;
}

void shedding::look(double fullness, time_point now) {
  if (fullness < ends_at) {
    level_ = 0;
    return;
  }
  const bool comes_what_cannot_wait = unkept_at_ && now - *unkept_at_ < recent;
  const auto next_class = level_ / static_cast<std::uint32_t>(steps.size());
  const double limit = begins_at + (1 - begins_at) * next_class / classes_;
  if (fullness < limit || !comes_what_cannot_wait || level_ == most_ ||
      now - changed_at_ < step_time)
    return;
  changed_at_ = now;
  ++level_;
}

std::uint32_t shedding::prescale_of_class(std::uint32_t priority_class) const {
  const auto each = static_cast<std::uint32_t>(steps.size());
  const std::uint32_t before = priority_class * each;
  const std::uint32_t level = level_;
  if (level <= before) return 1;
  return steps[std::min(level - before, each) - 1];
}

std::uint32_t shedding::prescale(std::size_t which) const {
  return prescale_of_class(class_of_[which]);
}

bool shedding::survives(std::size_t which, const event_entry& event) const {
  const std::uint32_t factor = prescale(which);
  return factor == 1 || (factor != 0 && survives_prescale(run_, event.spill, event.number,
                                                          lines_[which].id ^ salt, factor));
}

bool shedding::keeps(const event_entry& event, const event_summary* summary, time_point now) {
  if ((event.flags & event_kept_by_sender) != 0) return true;
  unkept_at_ = now;
  if (level_ == 0) return true;
  const std::uint32_t kept_by = summary != nullptr ? summary->kept_by : 0;
  if (kept_by == 0) { // recorded events that no line kept go first, other events last
    const bool is_recorded = summary != nullptr && (summary->status & recorded) != 0;
    const std::uint32_t factor = prescale_of_class(is_recorded ? 0 : classes_ - 1);
    return factor == 1 ||
           (factor != 0 && survives_prescale(run_, event.spill, event.number, salt, factor));
  }
  for (std::size_t n = 0; n < lines_.size(); ++n)
    if ((kept_by >> n & 1) != 0 && survives(n, event)) return true;
  for (std::size_t n = 0; n < lines_.size(); ++n)
    if ((kept_by >> n & 1) != 0) shed_[n].add();
  return false;
}

} // namespace l3
