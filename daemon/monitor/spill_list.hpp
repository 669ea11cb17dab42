// SPDX-License-Identifier: Apache-2.0
// The spills of a run for the ledger and the log: the latest ones as a list, the earlier ones as
// sums. A receive thread adds a spill when it sees its end. Any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "transport/accounting/ledger.hpp"
#include "transport/building/spill_table.hpp"
#include "transport/format/time.hpp"

namespace l3 {

class spill_list {
public:
  /// Number of spills in the list: about six hours.
  static constexpr std::size_t most_spills = 4096;
  /// fetch() returns at most this many of the spills that have ended since its last call.
  static constexpr std::size_t most_news = 4;

  void note(const spill_summary& ended);

  struct report {
    spill_summary now;
    std::optional<spill_summary> before; ///< what was reported of this spill before
  };
  struct news {
    std::vector<report> latest; ///< in order
    std::size_t count = 0;      ///< of all reports
  };
  /// The spills that have ended since the last call.
  [[nodiscard]] news fetch();

  [[nodiscard]] std::vector<spill_account> all() const { return latest(most_spills); }
  /// The latest spills, `most` at most, in order.
  [[nodiscard]] std::vector<spill_account> latest(std::size_t most) const;
  [[nodiscard]] earlier_spills_account earlier() const;
  /// The sums over all ended spills.
  [[nodiscard]] earlier_spills_account in_sum() const;

private:
  [[nodiscard]] std::optional<spill_summary> add(const spill_summary& ended);

  mutable std::mutex lock_;
  news new_;
  std::deque<spill_summary> all_;
  earlier_spills_account earlier_;
};

/// The log lines about ended spills: one for each spill with missing events, and at most one a
/// minute for all the others together. So a quiet log means a quiet run.
class spill_lines {
public:
  static constexpr auto interval = std::chrono::minutes(1);

  /// "spill 35: 1990 events admitted, 3 incomplete, 2000 sent, 7 missing", for each
  /// spill with missing events.
  [[nodiscard]] std::vector<std::string> note(const spill_list::news& ended);

  /// "spills 31 to 42: 12 whole ones, 24000 events", for the spills since the last such line. A
  /// spill counts once, and events of it that were reported later count in the next line.
  /// Returns nothing before its time, or without spills. Call it also when no spill ends.
  [[nodiscard]] std::optional<std::string> look(time_point now);

private:
  std::uint32_t first_ = 0;
  std::uint32_t last_ = 0;
  std::int64_t whole_ = 0; // without those that were logged as whole and are not
  std::uint64_t events_ = 0;
  std::optional<time_point> told_at_;
};

} // namespace l3
