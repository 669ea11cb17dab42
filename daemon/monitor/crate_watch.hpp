// SPDX-License-Identifier: Apache-2.0
// Compares each crate with the others to find a faulty crate and its fault. The daemon calls it
// twice a second with the counters of event building; it takes no lock of the data path. A fault is
// over after 1.5 s of data without a sign of it, or after 4.5 s, which is longer than the pause
// between spills.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "monitor/trouble.hpp"
#include "transport/accounting/counters.hpp"
#include "transport/format/readout.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// The most significant fault first: a crate that is a spill behind is also late and missing in
/// events.
enum class crate_fault : std::uint8_t {
  other_spill, ///< it sends another spill than the others
  jumped,      ///< its event counter differs from the others'
  repeats,     ///< its fragments are repeated, and the others' are not
  malformed,   ///< the content of its fragments is wrong
  silent,      ///< it sends nothing, and the others send
  loses,       ///< events have ended without some of its fragments
  overdue,     ///< some of its fragments are 250 ms late, and may still come
  drifts,      ///< its time stamps differ from the others'
  count_
};

struct crate_report {
  double rate = 0;            ///< fragments per second at the latest look
  double last_fragment = 0;   ///< its time, to half a second; s since 1970-01-01 UTC; 0: never
  double time_ahead = 0;      ///< s: its time stamps minus the others'
  std::uint64_t lost = 0;     ///< events since the fault began without this crate's good fragment
  std::uint64_t lost_now = 0; ///< of these, since the previous look
  std::optional<crate_fault> fault;
  std::string text; ///< the fault in words: "crate 11 is silent: …"
};

/// The crate with the most significant fault; nullptr if no crate has any.
[[nodiscard]] const crate_report* worst_of(const std::vector<crate_report>& reports);

class crate_watch {
public:
  static constexpr auto hold = trouble_board::longest_hold;

  explicit crate_watch(const readout& crates);

  /// `wall`: s since 1970-01-01 UTC. `lost_here`: datagrams of fragments that this machine lost or
  /// refused. No crate is to blame for few lost fragments then.
  void look(const building_counters& counted, time_point now, double wall,
            std::uint64_t lost_here = 0);

  /// By place in the readout's list.
  [[nodiscard]] const std::vector<crate_report>& reports() const { return reports_; }

private:
  /// Counters of a crate.
  struct counts {
    std::uint64_t seen = 0;
    std::uint64_t lost = 0; ///< missing in ended events
    std::uint64_t overdue = 0;
    std::uint64_t repeated = 0;
    std::uint64_t strange = 0; ///< of another event than the others', or after its event ended
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
    counts risen;              ///< since the previous look
    double lost_lately = 0;    ///< lost fragments, decayed by a twentieth at each look
    double overdue_lately = 0; ///< likewise
    double malformed_lately = 0;
    event_key latest{};
    std::uint32_t stamp = 0;
    std::int32_t ahead = 0;      ///< clocks ahead of the others
    std::uint64_t unheard = 0;   ///< events of the others since this crate last sent
    int looks_unheard = 0;       ///< consecutive looks at which only the others sent
    bool is_left_behind = false; ///< the others went on in the spill of its latest event
    int looks_elsewhere = 0;     ///< consecutive looks at which it was at another event
    int looks_drifting = 0;
    // Counts since its fault began.
    std::uint64_t lost = 0;
    std::uint64_t overdue = 0;
    std::uint64_t repeated = 0;
    std::uint64_t events = 0;
    time_point told_until{};
    double without_sign = 0; ///< s of data since its last sign

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
  void tell(std::size_t place, const std::optional<finding>& found, time_point now, double seconds);

  std::vector<crate> crates_;
  std::vector<crate_report> reports_;
  std::optional<time_point> looked_at_;
  std::uint64_t lost_here_ = 0;
  bool dropped_here_ = false; ///< lately
  std::optional<time_point> dropped_at_;
  // Values of most crates.
  counts usual_;
  double usual_lost_lately_ = 0;
  double usual_overdue_lately_ = 0;
  double usual_malformed_lately_ = 0;
  bool active_ = false; ///< at least half of them sent, and an event of one is known
  event_key here_{};    ///< latest event of most crates
};

} // namespace l3
