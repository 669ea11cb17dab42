// SPDX-License-Identifier: Apache-2.0
// Adds up the histograms of the frames, by spill and over the run. All memory is allocated at the
// start: the run's sums, those of a few open spills, and copies for readers. The drain thread adds
// and never waits; a reader gets a copy, which is at most a second old.
//
// A spill ends when no frame has had one of its events for a while, or when later spills need its
// room. Late events of an ended spill begin new sums: another part of the same spill. Readers add
// up the parts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "gpu/memory/frame.hpp"
#include "transport/accounting/counters.hpp"
#include "transport/format/time.hpp"
#include "transport/histograms/histogram_set.hpp"
#include "transport/outbox/spilling_outbox.hpp"

namespace l3 {

class histogram_book {
public:
  /// Called by the drain thread with the sums of an ended spill and the number of events that found
  /// no room in their frame since the previous spill ended.
  using spill_end =
      std::function<void(std::uint32_t spill, const histogram_sums&, std::uint64_t left_out)>;

  /// `inputs`: number of inputs of the readout; 0 counts nothing.
  explicit histogram_book(std::size_t inputs, spill_end ended = {});

  // --- the drain thread ---

  /// Adds the counts of a computed frame.
  void add(const frame& f, time_point now);
  /// Ends idle spills and renews the copy for readers. Call it often; it looks at the clock itself.
  void look(time_point now);
  /// Ends all spills, because no more events come.
  void end_all();

  // --- any thread ---

  struct view {
    histogram_sums run;
    std::uint64_t left_out = 0;         ///< events that found no room in their frame
    std::optional<std::uint32_t> spill; ///< the latest ended spill
    histogram_sums of_spill;
  };
  [[nodiscard]] view latest() const;
  /// The number changes whenever latest() may have changed.
  [[nodiscard]] std::uint64_t edition() const { return edition_; }
  [[nodiscard]] static std::size_t memory_plan(std::size_t inputs);

private:
  /// The number of open spills: late events of one spill arrive beside those of the next one.
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

/// Puts the histograms of each ended spill into the output stream, as JSON after the events of a
/// block (docs/formats.md, sections 6 and 16). So the store holds them beside the events. The drain
/// thread writes the text once per spill, which takes a few ms with all inputs of KOTO.
class histogram_stream {
public:
  /// `of` is complete except for the sums and the spill. `out` outlives this object.
  histogram_stream(spilling_outbox& out, histogram_set of, histogram_names names);

  // --- the drain thread ---

  /// `left_out`: events that found no room in their frame since the previous spill ended.
  void add(std::uint32_t spill, const histogram_sums& sums, std::uint64_t left_out);
  /// Call it when no more histograms come. Returns false if the waiting text finds no room now.
  [[nodiscard]] bool finish();
  /// Counts the waiting histograms as not stored.
  void give_up();

  // --- any thread ---

  /// Number of spills whose histograms found no room.
  [[nodiscard]] std::uint64_t not_stored() const { return not_stored_; }

private:
  /// Counts them and logs the first.
  void leave_out(std::uint64_t spills);

  spilling_outbox& out_;
  histogram_set of_;
  histogram_names names_;
  counter not_stored_;
};

} // namespace l3
