// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/spill_list.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace l3 {

namespace {

constexpr std::size_t recent = 8; // at least as many as may be reported again

spill_account account_of(const spill_summary& s) {
  return {s.spill, s.admitted, s.incomplete, s.expected, s.missing};
}

} // namespace

void spill_list::note(const spill_summary& ended) {
  const std::lock_guard guard(lock_);
  const auto before = add(ended);
  if (before == ended) return;
  ++new_.count;
  if (new_.latest.size() == most_news) new_.latest.erase(new_.latest.begin());
  new_.latest.push_back({ended, before});
}

spill_list::news spill_list::fetch() {
  const std::lock_guard guard(lock_);
  return std::exchange(new_, {});
}

/// A spill with more events after its end replaces its earlier report, which is returned.
std::optional<spill_summary> spill_list::add(const spill_summary& ended) {
  const auto from = all_.end() - static_cast<std::ptrdiff_t>(std::min(recent, all_.size()));
  const auto again = std::ranges::find(from, all_.end(), ended.nth, &spill_summary::nth);
  if (again != all_.end()) return std::exchange(*again, ended);
  all_.push_back(ended);
  if (all_.size() > most_spills) {
    const spill_summary& oldest = all_.front();
    ++earlier_.spills;
    earlier_.admitted += oldest.admitted;
    earlier_.incomplete += oldest.incomplete;
    earlier_.missing += oldest.missing;
    all_.pop_front();
  }
  return std::nullopt;
}

std::vector<spill_account> spill_list::latest(std::size_t most) const {
  const std::lock_guard guard(lock_);
  const std::size_t count = std::min(most, all_.size());
  std::vector<spill_account> accounts;
  accounts.reserve(count);
  std::transform(all_.end() - static_cast<std::ptrdiff_t>(count), all_.end(),
                 std::back_inserter(accounts), account_of);
  return accounts;
}

earlier_spills_account spill_list::earlier() const {
  const std::lock_guard guard(lock_);
  return earlier_;
}

earlier_spills_account spill_list::in_sum() const {
  const std::lock_guard guard(lock_);
  earlier_spills_account sum = earlier_;
  sum.spills += all_.size();
  for (const spill_summary& s : all_) {
    sum.admitted += s.admitted;
    sum.incomplete += s.incomplete;
    sum.missing += s.missing;
  }
  return sum;
}

namespace {

bool is_whole(const spill_summary& s) {
  return s.incomplete == 0 && s.expected.value_or(s.admitted) == s.admitted;
}

std::string line_of(const spill_summary& s) {
  std::string line =
      fmt::format("spill {}: {} events admitted, {} incomplete, {} sent", s.spill, s.admitted,
                  s.incomplete, s.expected ? fmt::to_string(*s.expected) : "?");
  if (s.missing != 0) line += fmt::format(", {} missing", s.missing);
  return line;
}

} // namespace

std::vector<std::string> spill_lines::note(const spill_list::news& ended) {
  std::vector<std::string> lines;
  for (const auto& [s, before] : ended.latest) {
    if (before && is_whole(*before)) { // it was counted
      --whole_;
      events_ -= before->admitted;
    }
    if (!is_whole(s)) {
      lines.push_back(line_of(s));
      continue;
    }
    if (whole_++ == 0) first_ = s.spill;
    last_ = s.spill;
    events_ += s.admitted;
  }
  if (const auto more = ended.count - ended.latest.size(); more != 0)
    lines.push_back(fmt::format("and {} earlier spills", more));
  return lines;
}

std::optional<std::string> spill_lines::look(time_point now) {
  if (whole_ <= 0 || (told_at_ && now < *told_at_ + interval)) return std::nullopt;
  told_at_ = now;
  const std::uint64_t events = std::exchange(events_, 0);
  const std::int64_t whole = std::exchange(whole_, 0);
  if (whole == 1) return fmt::format("spill {}: whole, {} events", last_, events);
  return fmt::format("spills {} to {}: {} whole ones, {} events", first_, last_, whole, events);
}

} // namespace l3
