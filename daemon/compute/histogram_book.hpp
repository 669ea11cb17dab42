// SPDX-License-Identifier: Apache-2.0
// Adds up what the frames counted, by spill and over the run. All memory is there from the start:
// the run's sums, those of a few spills that are under way, and copies for readers. The drain
// thread adds and never waits; a reader gets a copy, which is at most a second old.
//
// A spill is taken as ended when no frame has had an event of it for a while, or when later ones
// need its room. Events of it that still come begin its sums anew: these are then another part of
// the same spill, and the parts add up.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "gpu/memory/frame.hpp"
#include "transport/format/time.hpp"
#include "transport/histograms/histogram_set.hpp"

namespace l3 {

class histogram_book {
public:
  /// Takes the sums of a spill when it has ended, and how many events found no room in their frame
  /// since the spill that ended before. The drain thread calls it.
  using spill_end =
      std::function<void(std::uint32_t spill, const histogram_sums&, std::uint64_t left_out)>;

  /// `inputs`: of the readout; 0: nothing is ever counted.
  explicit histogram_book(std::size_t inputs, spill_end ended = {});

  // --- the drain thread ---

  /// Adds what a computed frame counted.
  void add(const frame& f, time_point now);
  /// Ends spills of which nothing has come for a while, and renews the copy for readers. To be
  /// called often; it looks at the clock itself.
  void look(time_point now);
  /// Ends all spills: nothing comes any more.
  void end_all();

  // --- any thread ---

  struct view {
    histogram_sums run;
    std::uint64_t left_out = 0;         ///< events that found no room in their frame
    std::optional<std::uint32_t> spill; ///< the latest one that has ended
    histogram_sums of_spill;
  };
  [[nodiscard]] view latest() const;
  /// Another number when latest() may have changed.
  [[nodiscard]] std::uint64_t edition() const { return edition_; }
  [[nodiscard]] static std::size_t memory_plan(std::size_t inputs);

private:
  /// So many spills may be under way: late events of the one before come beside those of the new
  /// one.
  static constexpr std::size_t most_open = 3;

  struct open_spill {
    bool used = false;
    std::uint32_t spill = 0;
    time_point last_at{};
    histogram_sums sums;
  };

  [[nodiscard]] open_spill& open(std::uint32_t spill, time_point now);
  void end(open_spill& which);
  void show();

  spill_end ended_;
  std::array<open_spill, most_open> open_;
  view now_;
  std::uint64_t left_out_told_ = 0;
  bool is_news_ = false;
  time_point shown_at_{};

  mutable std::mutex mutex_; ///< guards the copy
  view shown_;
  std::atomic<std::uint64_t> edition_ = 0;
};

} // namespace l3
