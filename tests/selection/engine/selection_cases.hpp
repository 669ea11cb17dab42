// SPDX-License-Identifier: Apache-2.0
// Whole events of a small detector through the whole selection, on any executor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "selection/trigger/parse_selection.hpp"
#include "tests/selection/detector/small_detector.hpp"
#include "tests/selection/engine/test_engines.hpp"

namespace l3::test {

/// The result of an event.
struct outcome {
  event_summary summary;
  bytes packed;

  friend bool operator==(const outcome&, const outcome&) = default;
};

class small_selecting {
public:
  explicit small_selecting(const std::string& text = small_selection,
                           selection_mode mode = selection_mode::select)
      : loaded_{make_small_detector(), parse_selection(text, "small"), {}, {}} {
    loaded_.tables =
        make_tables(loaded_.what, nominal_calibration(loaded_.what), loaded_.settings, 5, mode);
  }

  [[nodiscard]] const loaded_selection& loaded() const { return loaded_; }

  /// Runs the events in batches, on all frames in turn.
  [[nodiscard]] std::vector<outcome>
  select(const chosen_engine& where, const std::vector<made_event>& events, std::uint32_t batch,
         std::uint32_t frames, std::uint64_t seed, const std::vector<std::string>& sequence = {},
         codec_id codec = codec_id::koto) const {
    selection_program program = loaded_.program();
    if (!sequence.empty()) program.sequence = sequence;
    std::vector<outcome> all;
    const auto see = [&](const frame& f) {
      for (std::uint32_t k = 0; k < f.input.used_events; ++k) {
        const auto packed = f.output.subspan(f.results[k].offset, f.results[k].bytes);
        all.push_back({f.summaries[k], {packed.begin(), packed.end()}});
        EXPECT_EQ(f.results[k].kept, f.summaries[k].kept != 0);
      }
    };
    run(where, events, batch, frames, seed, program, see, codec);
    return all;
  }

  /// Runs the events likewise, and shows each frame when it is done.
  template <class See>
  void run(const chosen_engine& where, const std::vector<made_event>& events, std::uint32_t batch,
           std::uint32_t frames, std::uint64_t seed, selection_program program, See&& see,
           codec_id codec = codec_id::koto) const {
    program.check_promises = true;
    batch_capacity capacity;
    for (std::size_t at = 0; at < events.size(); at += batch)
      capacity = larger(capacity, capacity_for(part(events, at, batch), piece_bytes));
    engine_limits limits{capacity, frames};
    limits.codec = codec;
    const auto e = where.make(limits, &program);
    randomness r(seed);
    std::size_t turn = 0;
    for (std::size_t at = 0; at < events.size(); at += batch) {
      frame& f = *e->frames()[turn++ % frames];
      f.input.clear();
      for (const made_event& event : part(events, at, batch))
        add_event(f.input, event, piece_bytes, r);
      e->start(f);
      EXPECT_TRUE(e->wait(f)) << f.error;
      see(f);
    }
  }

private:
  static constexpr std::uint32_t piece_bytes = 1400;

  static std::vector<made_event> part(const std::vector<made_event>& all, std::size_t from,
                                      std::size_t n) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(from);
    return {first, first + static_cast<std::ptrdiff_t>(std::min(n, all.size() - from))};
  }
  static batch_capacity larger(const batch_capacity& a, const batch_capacity& b) {
    return {std::max(a.events, b.events), std::max(a.fragments, b.fragments),
            std::max(a.pieces, b.pieces), std::max(a.boards, b.boards), std::max(a.bytes, b.bytes)};
  }

  loaded_selection loaded_;
};

inline std::vector<made_event> make_selected_events(std::uint32_t n, std::uint64_t seed,
                                                    std::uint32_t spills = 512) {
  made_boards boards(64, seed);
  std::vector<made_event> events;
  for (std::uint32_t k = 1; k <= n; ++k) events.push_back(make_selected_event(k, boards, spills));
  return events;
}

inline std::uint64_t share_kept(const std::vector<outcome>& all) {
  std::uint64_t kept = 0;
  for (const outcome& o : all) kept += o.summary.kept;
  return kept;
}

/// The sequence that leaves the vetoes out.
inline const std::vector<std::string> sequence_without_vetoes{
    "measure_pulses", "find_clusters", "compute_quantities", "ignore_vetoes", "decide"};

} // namespace l3::test
