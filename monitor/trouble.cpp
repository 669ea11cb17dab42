// SPDX-License-Identifier: Apache-2.0
#include "monitor/trouble.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include <fmt/format.h>

#include "monitor/in_words.hpp"

namespace l3 {

namespace json = boost::json;

trouble_board::trouble_board(const std::vector<trouble_row>& rows) {
  for (const trouble_row& row : rows) entries_.push_back({.row = row});
  list_.shown.resize(rows.size());
}

void trouble_board::look(std::span<const std::optional<finding>> found, bool data, time_point now,
                         double wall) {
  assert(found.size() == entries_.size());
  const std::chrono::nanoseconds passed = looked_at_ ? now - *looked_at_ : now - now;
  looked_at_ = now;
  news_.clear();
  list_.now.clear();
  for (std::size_t n = 0; n < entries_.size(); ++n) {
    entry& e = entries_[n];
    const bool is_said = found[n] && found[n]->is_said;
    if (found[n] && !is_said && (e.is || !found[n]->only_lasts)) {
      take(e, *found[n], passed, now, wall);
    } else if (e.is) {
      if (data) e.data_without_sign += passed;
      if (is_said || e.row.when == ends::at_once || e.data_without_sign >= hold_with_data ||
          now - e.sign_at >= longest_hold) {
        std::string text = fmt::format("is over after {}", in_words(in_seconds(now - e.began_at)));
        if (e.is->events != 0) text += fmt::format(": {} events were lost", e.is->events);
        tell(e, now, std::move(text));
        e.is.reset();
      }
    }
    if (e.is) list_.now.push_back(*e.is);
    if (e.is && e.is->how_bad == severity::critical) e.critical_at = now;
    if (e.is && e.is->how_bad == severity::warning) e.warning_at = now;
    const auto shows = [&](const auto& at) { return at && now - *at <= shown_for; };
    trouble_flags& flags = list_.shown[n];
    flags = {shows(e.critical_at), shows(e.warning_at), e.is ? e.is->events : flags.events};
  }
  std::ranges::stable_sort(list_.now, std::ranges::less(), urgency);
}

void trouble_board::take(entry& e, const finding& f, std::chrono::nanoseconds passed,
                         time_point now, double wall) {
  e.data_without_sign = {};
  e.sign_at = now;
  if (e.is && f.only_lasts) return;
  const bool begins = !e.is;
  if (begins) {
    e.is.emplace();
    e.is->name = e.row.name;
    e.is->who = e.row.who;
    e.is->since = wall;
    e.began_at = now;
  }
  trouble& t = *e.is;
  const severity before = t.how_bad;
  t.events += f.events;
  e.milder_for = f.how_bad < before ? e.milder_for + passed : std::chrono::nanoseconds();
  const bool keeps_severity = !begins && f.how_bad < before && e.row.when == ends::with_data &&
                              e.milder_for < hold_with_data;
  if (!keeps_severity) {
    t.how_bad = f.how_bad;
    t.loses = f.loses;
  }
  t.share = f.share;
  t.seconds_left = f.seconds_left;
  t.text = f.text;
  t.action = f.action.empty() ? std::string(e.row.action) : f.action;
  if (begins)
    tell(e, now, fmt::format("begins: {}; {}", t.text, t.action));
  else if (t.how_bad != before)
    tell(e, now, fmt::format("is now {}: {}", name_of(t.how_bad), t.text));
  else if (f.what != e.what)
    tell(e, now, fmt::format("goes on: {}", t.text));
  e.what = f.what;
}

void trouble_board::tell(entry& e, time_point now, std::string text) {
  const auto left_out = e.lines.take(now);
  if (!left_out) return;
  if (*left_out > 0) text += fmt::format(" ({} lines before it left out)", *left_out);
  constexpr std::array levels{log_level::info, log_level::warning, log_level::error};
  news_.push_back(
      {levels[static_cast<std::size_t>(e.is->how_bad)], fmt::format("{} {}", e.row.name, text)});
}

std::string_view trouble_list::level() const {
  if (now.empty()) return "good";
  return name_of(std::ranges::max_element(now, {}, &trouble::how_bad)->how_bad);
}

const trouble* trouble_list::headline() const {
  return now.empty() || now.front().how_bad == severity::note ? nullptr : &now.front();
}

std::vector<std::string_view> trouble_list::degraded() const {
  std::vector<std::string_view> names;
  for (const trouble& t : now)
    if (t.how_bad != severity::note) names.push_back(t.name);
  return names;
}

std::vector<family> families_of(std::span<const trouble_row> rows, const trouble_list& all,
                                std::string_view metric, std::string_view events) {
  json::object flags;
  json::object lost;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    const trouble_flags is = n < all.shown.size() ? all.shown[n] : trouble_flags();
    json::object flag;
    if (!rows[n].critical_for.empty()) flag["critical"] = is.critical;
    if (!rows[n].warning_for.empty()) flag["warning"] = is.warning;
    if (!flag.empty()) flags[rows[n].name] = std::move(flag);
    if (rows[n].counts) lost[rows[n].name] = is.events;
  }
  json::array list;
  for (const trouble& t : all.now) {
    list.push_back(json::object{{"name", t.name},
                                {"severity", name_of(t.how_bad)},
                                {"losing", name_of(t.loses)},
                                {"share", t.share},
                                {"seconds_left", json::value_from(t.seconds_left)},
                                {"since", t.since},
                                {"events", t.events},
                                {"who", t.who},
                                {"text", t.text},
                                {"action", t.action}});
  }
  const trouble* const first = all.headline();
  std::vector<family> families{
      {"state.level", "`good`, `note`, `warning` or `critical`: the worst of the troubles.",
       all.level()},
      {"state.degraded", "Names of the troubles that are critical or warnings.", all.degraded()},
      {family::kind::gauge, metric, "",
       "1 for each trouble and its severity, and for ten seconds longer.", flags},
      {"problem.name", "The most urgent trouble, unless it is only a note.",
       first == nullptr ? json::value(nullptr) : json::value(first->name)},
      {"problem.text", "The trouble in one sentence, and what to do.",
       first == nullptr ? json::value(nullptr) : json::value(first->text + "; " + first->action)},
      {"troubles",
       "All troubles, the most urgent first: `name`, `severity` (`critical`, `warning`, `note`), "
       "`losing` events (`now`, `soon`, `no`), the `share` of events lost now, `seconds_left` "
       "until events are lost, `since`, in seconds since 1970-01-01 UTC, `events` lost since then, "
       "`who` acts, `text` and `action`.",
       list}};
  if (!events.empty())
    families.emplace_back(
        family::kind::gauge, events, "",
        "Events that were lost to a trouble since it began, or from its last start to its end.",
        lost);
  return families;
}

std::string part_of(std::uint64_t part, std::uint64_t all, std::string_view what) {
  return fmt::format("{} of {} {}{}", part, all, what, all == 1 ? "" : "s");
}

} // namespace l3
