// SPDX-License-Identifier: Apache-2.0
// Finds the crate that has a fault, and says which fault: it compares each crate with the others.
// The daemon calls it twice a second with what event building counted; it takes no lock of the data
// path. A fault is told for ten seconds after its last sign, longer than the pause between spills.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/format/readout.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// The most telling first: a crate that is a spill behind is also late, and misses in its events.
enum class crate_fault : std::uint8_t {
  other_spill, ///< it sends another spill than the others
  jumped,      ///< its event counter is elsewhere than the others'
  repeats,     ///< its fragments come again, and the others' do not
  malformed,   ///< the content of its fragments is wrong
  silent,      ///< it sends nothing, and the others do
  loses,       ///< events have ended without some of its fragments
  overdue,     ///< some of its fragments have not come for 250 ms, and may yet come
  drifts,      ///< its time stamps differ from the others'
  count_
};

struct crate_report {
  double rate = 0;          ///< fragments a second, at the latest look
  double last_fragment = 0; ///< when, to half a second; s since 1970-01-01 UTC; 0: never
  double time_ahead = 0;    ///< s: its time stamps minus the others'
  std::optional<crate_fault> fault;
  std::string text; ///< the fault in words: "crate 11 is silent: …"
};

/// The one with the most telling fault; nullptr: none has any.
[[nodiscard]] const crate_report* worst_of(const std::vector<crate_report>& reports);

class crate_watch {
public:
  static constexpr auto hold = std::chrono::seconds(10);

  explicit crate_watch(const readout& crates);

  /// `wall`: s since 1970-01-01 UTC.
  void look(const building_counters& counted, time_point now, double wall);

  /// By place in the readout's list.
  [[nodiscard]] const std::vector<crate_report>& reports() const { return reports_; }
  [[nodiscard]] bool any() const {
    return std::ranges::any_of(reports_, [](const crate_report& r) { return r.fault.has_value(); });
  }
  /// Texts of the faults that the latest look found first.
  [[nodiscard]] const std::vector<std::string>& news() const { return news_; }

private:
  /// What a crate counted.
  struct counts {
    std::uint64_t seen = 0;
    std::uint64_t lost = 0; ///< missing in events that have ended
    std::uint64_t overdue = 0;
    std::uint64_t repeated = 0;
    std::uint64_t strange = 0; ///< of another event than the others', or after its end
    std::uint64_t malformed = 0;
    std::uint64_t astray = 0;

    counts operator-(const counts& c) const {
      return {seen - c.seen,         lost - c.lost,       overdue - c.overdue,
              repeated - c.repeated, strange - c.strange, malformed - c.malformed,
              astray - c.astray};
    }
  };
  struct crate {
    unsigned number = 0;
    counts before;
    counts risen;              ///< since the look before
    double lost_lately = 0;    ///< lost, of which a twentieth is forgotten at each look
    double overdue_lately = 0; ///< likewise
    event_key latest{};
    std::uint32_t stamp = 0;
    std::int32_t ahead = 0;      ///< clocks, of the others
    std::uint64_t unheard = 0;   ///< events of the others since it sent anything
    int looks_unheard = 0;       ///< in a row at which the others sent, and it did not
    bool is_left_behind = false; ///< the others went on in the spill of its latest event
    int looks_elsewhere = 0;     ///< in a row at which it was at another event than the others
    int looks_drifting = 0;
    // Since its fault began.
    std::uint64_t lost = 0;
    std::uint64_t overdue = 0;
    std::uint64_t repeated = 0;
    std::uint64_t events = 0;
    time_point told_until{};

    [[nodiscard]] bool sends() const { return risen.seen + risen.astray != 0; }
  };
  struct finding {
    crate_fault fault;
    std::string text;
  };

  void read(const building_counters& counted, std::size_t place);
  void compare(double seconds);
  void find_where_most_are();
  [[nodiscard]] std::optional<finding> fault_of(const crate& c, const building_counters& counted,
                                                std::size_t place) const;
  void tell(std::size_t place, const std::optional<finding>& found, time_point now);

  std::vector<crate> crates_;
  std::vector<crate_report> reports_;
  std::vector<std::string> news_;
  std::optional<time_point> looked_at_;
  // What most crates do.
  counts usual_;
  double usual_lost_lately_ = 0;
  double usual_overdue_lately_ = 0;
  bool active_ = false; ///< at least half of them sent something, and an event of any is known
  event_key here_{};    ///< their latest event
};

} // namespace l3
