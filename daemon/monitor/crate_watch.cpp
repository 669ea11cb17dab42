// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/crate_watch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "transport/accounting/ledger.hpp"
#include "transport/building/spill_tracker.hpp"

namespace l3 {
namespace {

constexpr double seconds_per_clock = 8e-9;
/// Tolerance of a time stamp: level 2 jitters by whole clocks, and no crate is a microsecond off.
constexpr std::int32_t most_clocks_ahead = 125;
/// Number of looks with wrong stamps, each by another amount, until a drift is reported.
constexpr int looks_until_drift = 4;
/// Events of the other crates until a crate that sends none is called silent.
constexpr std::uint64_t events_until_silent = 10;
/// Crates do not begin and end a spill at the same moment, so one look between them may find only
/// the others sending. Two looks in a row do not.
constexpr int looks_until_silent = 2;
/// How far one crate may be ahead of another at a look, in events and in time.
constexpr std::uint64_t most_events_ahead = 16;
constexpr double longest_ahead = 0.02; // s

/// The median; of an even number of values the lower one in the middle.
template <class Value>
Value median(std::vector<Value> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The difference of two time stamps of 28 bits.
std::int32_t signed_clocks(std::uint32_t difference) {
  return static_cast<std::int32_t>(difference << 4) >> 4;
}

/// Whether the number exceeds the usual one by more than chance allows. A common cause may raise
/// all crates' numbers.
template <class Number>
bool stands_out(Number n, Number usual) {
  constexpr double deviations = 4;
  constexpr double few = 4; // may be lost together by chance, or by a stall of the whole sender
  const auto u = static_cast<double>(usual);
  return static_cast<double>(n) > 2 * u + deviations * std::sqrt(u) + few;
}
/// Events that a drop of the kernel left incomplete are given up within this time.
constexpr auto drops_matter_for = std::chrono::seconds(4);
/// Factor by which each look decays the count of lost or malformed fragments. A look finds few of
/// them, so without a sum chance would name a crate where all have some.
constexpr double kept_of_lost = 0.95;

} // namespace

const crate_report* worst_of(const std::vector<crate_report>& reports) {
  const auto worst = std::ranges::min_element(
      reports, {}, [](const crate_report& r) { return r.fault.value_or(crate_fault::count_); });
  return worst != reports.end() && worst->fault ? &*worst : nullptr;
}

crate_watch::crate_watch(const readout& crates) : crates_(crates.size()), reports_(crates.size()) {
  for (std::size_t c = 0; c < crates.size(); ++c) crates_[c].number = crates.crates[c].number;
}

void crate_watch::look(const building_counters& counted, time_point now, double wall,
                       std::uint64_t lost_here) {
  if (std::exchange(lost_here_, lost_here) != lost_here) dropped_at_ = now;
  dropped_here_ = dropped_at_ && now - *dropped_at_ < drops_matter_for;
  const double seconds = looked_at_ ? in_seconds(now - *looked_at_) : 0;
  looked_at_ = now;
  for (std::size_t c = 0; c < crates_.size(); ++c) {
    read(counted, c);
    if (crates_[c].risen.seen == 0 && !reports_[c].rate) continue;
    if (crates_[c].risen.seen != 0) reports_[c].last_fragment = wall;
    reports_[c].rate = seconds > 0 ? static_cast<double>(crates_[c].risen.seen) / seconds : 0;
  }
  compare(seconds);
  for (std::size_t c = 0; c < crates_.size(); ++c)
    tell(c, fault_of(crates_[c], counted, c), now, seconds);
}

void crate_watch::read(const building_counters& counted, std::size_t place) {
  crate& c = crates_[place];
  const std::uint64_t repeated = counted.fragments_duplicate[place];
  const counts now{counted.fragments_seen[place],
                   counted.fragments_missing[place],
                   counted.fragments_overdue[place],
                   repeated,
                   repeated + counted.fragments_alone[place] + counted.fragments_late[place] +
                       counted.astray[place],
                   counted.fragments_malformed.of(place).sum(),
                   counted.astray[place]};
  c.risen = now - std::exchange(c.before, now);
  c.lost_lately = kept_of_lost * c.lost_lately + static_cast<double>(c.risen.lost);
  c.overdue_lately = kept_of_lost * c.overdue_lately + static_cast<double>(c.risen.overdue);
  c.malformed_lately = kept_of_lost * c.malformed_lately + static_cast<double>(c.risen.malformed);
  c.latest = counted.latest[place];
  c.stamp = counted.time_ahead[place];
}

/// Finds the usual values, and how far each crate is from them.
void crate_watch::compare(double seconds) {
  const auto usual = [&](std::uint64_t counts::*count) {
    std::vector<std::uint64_t> all;
    for (const crate& c : crates_) all.push_back(c.risen.*count);
    return median(std::move(all));
  };
  std::vector<std::uint64_t> seen; // if one of two crates is silent, the other one counts
  for (const crate& c : crates_)
    if (c.risen.seen != 0) seen.push_back(c.risen.seen);
  usual_ = {.seen = median(std::move(seen)),
            .lost = usual(&counts::lost),
            .repeated = usual(&counts::repeated)};
  const auto usual_lately = [&](double crate::*lately) {
    std::vector<double> all;
    for (const crate& c : crates_) all.push_back(c.*lately);
    return median(std::move(all));
  };
  usual_lost_lately_ = usual_lately(&crate::lost_lately);
  usual_overdue_lately_ = usual_lately(&crate::overdue_lately);
  usual_malformed_lately_ = usual_lately(&crate::malformed_lately);
  find_where_most_are();
  if (!active_) return;

  std::vector<std::int32_t> stamps;
  for (const crate& c : crates_)
    if (c.sends()) stamps.push_back(signed_clocks(c.stamp));
  const auto reach =
      most_events_ahead +
      static_cast<std::uint64_t>(
          seconds > 0 ? longest_ahead / seconds * static_cast<double>(usual_.seen) : 0);
  const std::int32_t usual_stamp = median(std::move(stamps));
  for (std::size_t p = 0; p < crates_.size(); ++p) {
    crate& c = crates_[p];
    const auto apart = static_cast<std::uint64_t>(
        std::llabs(std::int64_t{c.latest.number} - std::int64_t{here_.number}));
    c.is_left_behind = c.latest.spill == here_.spill && apart > reach;
    if (!c.sends()) {
      c.unheard += usual_.seen;
      ++c.looks_unheard;
      continue;
    }
    c.unheard = 0;
    c.looks_unheard = 0;
    const bool elsewhere = c.latest.spill != here_.spill || apart > reach;
    c.looks_elsewhere = elsewhere ? c.looks_elsewhere + 1 : 0;
    const std::int32_t ahead = signed_clocks(c.stamp - static_cast<std::uint32_t>(usual_stamp));
    if (std::abs(ahead) <= most_clocks_ahead) {
      c.looks_drifting = 0;
    } else { // a drift is slow; a look may also find a single wrong stamp
      c.looks_drifting += std::abs(ahead - c.ahead) <= most_clocks_ahead ? looks_until_drift : 1;
    }
    c.ahead = ahead;
    reports_[p].time_ahead = ahead * seconds_per_clock;
  }
}

/// Finds the spill of most crates and the median event of those crates. Datagrams of no open spill
/// are not considered.
void crate_watch::find_where_most_are() {
  std::map<std::uint32_t, std::vector<std::uint32_t>> numbers; // by spill
  for (const crate& c : crates_)
    if (c.before.seen != 0) numbers[c.latest.spill].push_back(c.latest.number);
  const auto sends = [](const crate& c) { return c.sends(); };
  const auto sending = static_cast<std::size_t>(std::ranges::count_if(crates_, sends));
  active_ = 2 * sending >= crates_.size() && !numbers.empty();
  if (!active_) return;
  const auto most =
      std::ranges::max_element(numbers, {}, [](const auto& spill) { return spill.second.size(); });
  here_ = {most->first, median(most->second)};
}

/// Missing fragments may be counted after the data have ended.
std::optional<crate_watch::finding>
crate_watch::fault_of(const crate& c, const building_counters& counted, std::size_t place) const {
  const bool is_elsewhere =
      (active_ && c.looks_elsewhere >= 2) || (c.looks_elsewhere != 0 && c.risen.strange >= 2);
  if (is_elsewhere && c.latest.spill != here_.spill) {
    const int behind = spill_distance(c.latest.spill, here_.spill);
    return finding{crate_fault::other_spill,
                   fmt::format("is {} spill{} {}: it sends spill {}, and the others send spill {}",
                               std::abs(behind), std::abs(behind) == 1 ? "" : "s",
                               behind > 0 ? "behind" : "ahead", c.latest.spill, here_.spill)};
  }
  if (is_elsewhere) {
    return finding{crate_fault::jumped,
                   fmt::format("has a wrong event counter: it jumped by {:+}, to event {} of spill "
                               "{}, while the others were at {}",
                               std::int64_t{c.latest.number} - std::int64_t{here_.number},
                               c.latest.number, c.latest.spill, here_.number)};
  }
  if (stands_out(c.risen.repeated, usual_.repeated))
    return finding{crate_fault::repeats, fmt::format("repeats fragments: {} arrived again",
                                                     c.repeated + c.risen.repeated)};
  if (c.risen.malformed > 0 && stands_out(c.malformed_lately, usual_malformed_lately_)) {
    const reason_counts why = counts_of(counted.fragments_malformed.of(place));
    const auto worst =
        std::ranges::max_element(why, {}, [](const auto& reason) { return reason.second; });
    return finding{crate_fault::malformed, fmt::format("sends malformed fragments: {}, most of "
                                                       "them {}",
                                                       sum_of(why), worst->first)};
  }
  if (active_ && c.unheard >= events_until_silent &&
      (c.is_left_behind || c.looks_unheard >= looks_until_silent))
    return finding{crate_fault::silent,
                   fmt::format("is silent: it has sent nothing of the last {} events", c.unheard)};
  if (!dropped_here_ && c.risen.lost > 0 && stands_out(c.lost_lately, usual_lost_lately_))
    return finding{crate_fault::loses,
                   fmt::format("loses fragments: {} of the last {} events", c.lost + c.risen.lost,
                               c.events + usual_.seen + c.risen.lost)};
  if (!dropped_here_ && c.risen.overdue > 0 && stands_out(c.overdue_lately, usual_overdue_lately_))
    return finding{
        crate_fault::overdue,
        fmt::format("is overdue: its fragment of {} event{} had not arrived after 250 ms",
                    c.overdue + c.risen.overdue, c.overdue + c.risen.overdue == 1 ? "" : "s")};
  if (active_ && c.looks_drifting >= looks_until_drift)
    return finding{crate_fault::drifts,
                   fmt::format("has time stamps that differ from the others by {:+.3f} ms",
                               reports_[place].time_ahead * 1e3)};
  return std::nullopt;
}

/// A more significant fault of the same crate replaces another one at once. A less significant one
/// waits until that is over.
void crate_watch::tell(std::size_t place, const std::optional<finding>& found, time_point now,
                       double seconds) {
  crate& c = crates_[place];
  crate_report& r = reports_[place];
  c.without_sign = found ? 0 : c.without_sign + (active_ ? seconds : 0);
  if (r.fault &&
      (now >= c.told_until || c.without_sign >= in_seconds(trouble_board::hold_with_data))) {
    r.fault.reset();
    r.text.clear();
    c.lost = c.overdue = c.repeated = c.events = r.lost = 0;
    c.lost_lately = c.overdue_lately = c.malformed_lately = 0; // a repaired crate begins anew
  }
  if (found && (!r.fault || *r.fault >= found->fault)) {
    r.fault = found->fault;
    r.text = fmt::format("crate {} {}", c.number, found->text);
    c.told_until = now + hold;
  }
  r.lost_now = c.risen.lost + c.risen.malformed;
  if (!r.fault) return;
  r.lost += r.lost_now;
  c.lost += c.risen.lost;
  c.overdue += c.risen.overdue;
  c.repeated += c.risen.repeated;
  c.events += usual_.seen + c.risen.lost;
}

} // namespace l3
