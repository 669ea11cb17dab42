// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/histogram_book.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "monitor/log.hpp"
#include "transport/format/block_entries.hpp"
#include "transport/histograms/histogram_json.hpp"

namespace l3 {

namespace {

/// A spill has ended after this time without an event; frames close within milliseconds.
constexpr auto spill_patience = std::chrono::seconds(2);
/// Time between two copies for readers.
constexpr auto show_period = std::chrono::seconds(1);

} // namespace

histogram_book::histogram_book(std::size_t inputs, spill_end ended) : ended_(std::move(ended)) {
  if (inputs == 0) return;
  for (open_spill& o : open_) o.sums = histogram_sums(inputs);
  for (view* v : {&now_, &shown_}) {
    v->run = histogram_sums(inputs);
    v->of_spill = histogram_sums(inputs);
  }
}

void histogram_book::add(const frame& f, time_point now) {
  if (f.histograms.empty() || now_.run.counts.empty()) return;
  std::uint64_t counted = 0;
  for (const frame_histograms& h : f.histograms) {
    open(h.spill, now).sums.add(h.channels, h.counts);
    now_.run.add(h.channels, h.counts);
    counted += h.counts[count_of_events];
  }
  now_.left_out += f.input.used_events - counted;
  is_news_ = true;
}

/// Returns the sums of the spill. If a new spill needs room, the one that has waited longest ends.
histogram_book::open_spill& histogram_book::open(std::uint32_t spill, time_point now) {
  auto found =
      std::ranges::find_if(open_, [&](const open_spill& o) { return o.used && o.spill == spill; });
  if (found == open_.end()) {
    found = std::ranges::find(open_, false, &open_spill::used);
    if (found == open_.end()) {
      found = std::ranges::min_element(open_, {}, &open_spill::last_at);
      end(*found);
    }
    found->used = true;
    found->spill = spill;
  }
  found->last_at = now;
  return *found;
}

void histogram_book::end(open_spill& which) {
  if (ended_) ended_(which.spill, which.sums, now_.left_out - left_out_told_);
  left_out_told_ = now_.left_out;
  now_.spill = which.spill;
  std::swap(now_.of_spill, which.sums);
  which.sums.clear();
  which.used = false;
  is_news_ = true;
}

void histogram_book::look(time_point now) {
  if (now_.run.counts.empty()) return;
  for (open_spill& o : open_)
    if (o.used && now - o.last_at >= spill_patience) end(o);
  if (!is_news_ || now - shown_at_ < show_period) return;
  shown_at_ = now;
  show();
}

void histogram_book::end_all() {
  for (bool any = true; any;) {
    auto oldest = open_.end();
    for (auto o = open_.begin(); o != open_.end(); ++o)
      if (o->used && (oldest == open_.end() || o->last_at < oldest->last_at)) oldest = o;
    any = oldest != open_.end();
    if (any) end(*oldest);
  }
  if (is_news_) show();
}

/// Skips a turn while a reader copies.
void histogram_book::show() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  shown_ = now_; // same length, so no memory is allocated
  is_news_ = false;
  edition_ += 1;
}

histogram_book::view histogram_book::latest() const {
  const std::lock_guard lock(mutex_);
  return shown_;
}

std::size_t histogram_book::memory_plan(std::size_t inputs) {
  if (inputs == 0) return 0;
  constexpr std::size_t sums = most_open + 4; // current and shown, of run and spill
  return sums * (inputs * sizeof(channel_sums) + event_counts * sizeof(std::uint64_t));
}

histogram_stream::histogram_stream(spilling_outbox& out, histogram_set of, histogram_names names)
    : out_(out), of_(std::move(of)), names_(std::move(names)) {}

void histogram_stream::add(std::uint32_t spill, const histogram_sums& sums,
                           std::uint64_t left_out) {
  of_.spill = spill;
  of_.left_out = left_out;
  of_.sums = sums;
  std::vector<std::byte> entry;
  add_entry(entry, histograms_key, to_json(show(of_, names_)));
  if (!out_.add_once(std::move(entry))) leave_out(1);
}

bool histogram_stream::finish() { return out_.seal_once(); }

void histogram_stream::give_up() { leave_out(out_.once_waiting()); }

void histogram_stream::leave_out(std::uint64_t spills) {
  if (spills == 0) return;
  if (not_stored_.get() == 0)
    log_warning("histograms of {} spill{} did not fit beside the events and are not stored; "
                "koto_l3_histograms_not_stored_total has the total",
                spills, spills == 1 ? "" : "s");
  not_stored_.add(spills);
}

} // namespace l3
