// SPDX-License-Identifier: Apache-2.0
// The model of trouble that page, /status, log, metrics and alert rules share. A program has one
// table of kinds. The function of a kind compares two consecutive snapshots and says what is wrong.
// The board turns these findings into a list, the most urgent trouble first, and into log lines.
// Alert rules, their tests and sections of the runbook are made from the same table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "monitor/family.hpp"
#include "monitor/log.hpp"
#include "transport/accounting/enumerator_names.hpp"
#include "transport/accounting/occasional.hpp"
#include "transport/format/time.hpp"

namespace l3 {

enum class severity : std::uint8_t {
  note, ///< shown, but neither amber nor red
  warning,
  critical,
  count_
};

/// Whether events are lost.
enum class losing : std::uint8_t { no, soon, now, count_ };

/// The sign of a trouble in two consecutive snapshots.
struct finding {
  severity how_bad = severity::warning;
  std::string text{}; ///< one sentence with numbers
  losing loses = losing::no;
  double share = 0;                     ///< of the events, that are lost now: 0 … 1
  std::optional<double> seconds_left{}; ///< until events are lost
  std::uint64_t events = 0;             ///< lost between the two snapshots
  std::string action{};                 ///< empty: that of the kind
  std::string what{};                   ///< another value is logged
  bool only_lasts = false;              ///< does not begin a trouble, but prolongs it
  bool is_said = false;                 ///< by another trouble, so this one ends
};

/// A trouble that is there, for /status and the pages.
struct trouble {
  std::string_view name;
  severity how_bad = severity::warning;
  losing loses = losing::no;
  double share = 0;
  std::optional<double> seconds_left;
  double since = 0;         ///< s since 1970-01-01 UTC
  std::uint64_t events = 0; ///< lost since it began
  std::string_view who;     ///< who acts
  std::string text;
  std::string action;

  friend bool operator==(const trouble&, const trouble&) = default;
};

/// A smaller value is more urgent. Notes come last. Before them, troubles that lose events now come
/// first, the largest share first, then those that will lose events, the soonest first.
inline constexpr auto urgency = [](const auto& t) {
  const double order = t.loses == losing::now    ? -t.share
                       : t.loses == losing::soon ? t.seconds_left.value_or(1e9)
                                                 : 0.0;
  return std::tuple(t.how_bad == severity::note, -static_cast<int>(t.loses), order,
                    -static_cast<int>(t.how_bad));
};

/// The metrics of a kind. They stay longer than the trouble, so that no scrape misses a short one.
struct trouble_flags {
  bool critical = false;
  bool warning = false;
  std::uint64_t events = 0;
};

struct trouble_list {
  std::vector<trouble> now;         ///< the most urgent first
  std::vector<trouble_flags> shown; ///< by row of the table

  /// "good", "note", "warning" or "critical": the worst of them.
  [[nodiscard]] std::string_view level() const;
  /// The trouble for the headline; nullptr if every trouble is a note, or the list is empty.
  [[nodiscard]] const trouble* headline() const;
  /// Names of those that are critical or warnings.
  [[nodiscard]] std::vector<std::string_view> degraded() const;
};

/// How long a trouble lasts.
enum class ends : std::uint8_t {
  at_once,  ///< with its sign: a state
  with_data ///< its sign comes with data, which pause between spills
};

/// A kind of trouble, as the alert rules and the runbook know it.
struct trouble_row {
  std::string_view name;
  ends when = ends::with_data;
  std::string_view who;
  /// The first sentence is the alert's. The rest is for the runbook, as Markdown.
  std::string_view meaning;
  std::string_view action;
  /// How long the trouble must last until the alert: "0s". Empty: it never has this severity.
  std::string_view critical_for;
  std::string_view warning_for;
  bool counts = false;         ///< whether it counts the events that are lost to it
  std::string_view named_by{}; ///< the alert names the series of this metric that are 1,
  std::string_view label{};    ///< by this label
};

template <class Snapshot>
struct trouble_kind : trouble_row {
  std::optional<finding> (*look)(const Snapshot& before, const Snapshot& now) = nullptr;
};

template <class Kinds>
[[nodiscard]] std::vector<trouble_row> rows_of(const Kinds& kinds) {
  return {kinds.begin(), kinds.end()};
}

/// For one thread.
class trouble_board {
public:
  /// The longest time for which a trouble that ends with data lasts without a sign. It is longer
  /// than the pause between spills.
  static constexpr auto longest_hold = std::chrono::milliseconds(4500);
  /// The same, counting only time in which data came. A trouble also keeps its severity this long.
  static constexpr auto hold_with_data = std::chrono::milliseconds(1500);
  /// How long the metrics show a trouble that is over: longer than the time between two scrapes.
  static constexpr auto shown_for = std::chrono::seconds(10);

  /// `rows`: see rows_of().
  explicit trouble_board(const std::vector<trouble_row>& rows);

  /// Call it about twice a second. `found`: by row. `data`: whether data came since the last call.
  /// `wall`: s since 1970-01-01 UTC.
  void look(std::span<const std::optional<finding>> found, bool data, time_point now, double wall);
  template <class Kinds, class Snapshot>
  void look(const Kinds& kinds, const Snapshot& before, const Snapshot& now_is, bool data,
            time_point now, double wall) {
    std::vector<std::optional<finding>> found;
    found.reserve(kinds.size());
    for (const auto& kind : kinds) found.push_back(kind.look(before, now_is));
    look(found, data, now, wall);
  }

  [[nodiscard]] const trouble_list& list() const { return list_; }

  struct line {
    log_level level = log_level::warning;
    std::string text;
  };
  /// The log lines of the last look(): troubles that began, changed or ended.
  [[nodiscard]] const std::vector<line>& news() const { return news_; }

private:
  struct entry {
    trouble_row row;
    line_budget lines{10, std::chrono::seconds(10)};
    std::optional<trouble> is{};
    std::string what{};
    std::chrono::nanoseconds data_without_sign{};
    std::chrono::nanoseconds milder_for{};
    time_point sign_at{};
    time_point began_at{};
    std::optional<time_point> critical_at{};
    std::optional<time_point> warning_at{};
  };
  void take(entry& e, const finding& f, std::chrono::nanoseconds passed, time_point now,
            double wall);
  void tell(entry& e, time_point now, std::string text);

  std::vector<entry> entries_;
  trouble_list list_;
  std::vector<line> news_;
  std::optional<time_point> looked_at_;
};

/// The keys of /status (state.level, state.degraded, problem, troubles) and the metrics: `metric`
/// is "trouble{name,severity}", and `events` is "trouble_events{name}", or empty for none.
[[nodiscard]] std::vector<family> families_of(std::span<const trouble_row> rows,
                                              const trouble_list& all, std::string_view metric,
                                              std::string_view events);

/// "577 of 1000 events"; "1 of 1 event".
[[nodiscard]] std::string part_of(std::uint64_t part, std::uint64_t all, std::string_view what);

} // namespace l3
