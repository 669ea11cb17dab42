// SPDX-License-Identifier: Apache-2.0
// Histograms that an engine makes of whole events of the small detector, and the same worked out
// from the samples and the summaries by their definition, without code of the kernels.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tests/selection/algorithms/pulses_textbook.hpp"
#include "tests/selection/engine/selection_cases.hpp"
#include "tests/selection/histograms/counts_textbook.hpp"

namespace l3::test {

/// The histograms of a spill.
struct counted_spill {
  std::vector<channel_sums> channels;
  std::vector<std::uint64_t> counts;

  friend bool operator==(const counted_spill&, const counted_spill&) = default;
};
using counted_spills = std::map<std::uint32_t, counted_spill>;

/// Adds up what all frames counted.
inline counted_spills count_histograms(const small_selecting& s, const chosen_engine& where,
                                       const std::vector<made_event>& events, std::uint32_t batch,
                                       std::uint32_t frames, std::uint64_t seed,
                                       std::uint32_t one_in,
                                       const std::vector<std::string>& sequence = {}) {
  selection_program program = s.loaded().program();
  program.histograms_one_in = one_in;
  if (!sequence.empty()) program.sequence = sequence;
  counted_spills all;
  s.run(where, events, batch, frames, seed, program, [&](const frame& f) {
    for (const frame_histograms& h : f.histograms) {
      counted_spill& to = all[h.spill];
      to.channels.resize(h.channels.size());
      to.counts.resize(h.counts.size());
      for (std::size_t i = 0; i < h.channels.size(); ++i) to.channels[i] += h.channels[i];
      for (std::size_t i = 0; i < h.counts.size(); ++i) to.counts[i] += h.counts[i];
    }
  });
  return all;
}

/// As docs/formats.md, section 16, has it, by division.
inline std::uint64_t textbook_noise_log(std::int64_t variance) {
  if (variance == 0) return 0;
  std::int64_t octave = 0;
  std::int64_t power = 1;
  for (; 2 * power <= variance; power *= 2) ++octave;
  const std::int64_t above = (variance - power) * 32768 / power;
  const std::int64_t bend = 11 * above * (32768 - above) / 1048576;
  return static_cast<std::uint64_t>((32768 * octave + above + bend + 64) / 128);
}

inline void add_textbook_waveform(channel_sums& to, const std::vector<int>& samples,
                                  const pulse* rows, std::size_t n, unsigned lit,
                                  const input_entry& input) {
  to.waveforms += 1;
  to.pedestal += rows[0].pedestal;
  to.pedestal_squares += std::uint64_t{rows[0].pedestal} * rows[0].pedestal;
  to.lit += lit != 0 ? 1 : 0;
  bool quiet = true;
  for (std::size_t j = 0; j < n; ++j) {
    quiet = quiet && (rows[j].flags & (pulse_found | pulse_second)) == 0;
    if ((lit >> j & 1) == 0 || (rows[j].flags & pulse_no_edge) != 0) continue;
    to.timed += 1;
    to.time += (samples.size() == 64 ? 4 : 1) * std::int64_t{rows[j].time} - input.time;
  }
  if (!quiet) return;
  to.quiet += 1;
  std::int64_t sum = 0;
  std::int64_t squares = 0;
  const std::size_t step = samples.size() == 64 ? 1 : 4; // 8 ns
  for (std::size_t k = 0; k < 8; ++k) {
    sum += samples[step * k];
    squares += std::int64_t{samples[step * k]} * samples[step * k];
  }
  const std::uint64_t log = textbook_noise_log(8 * squares - sum * sum);
  to.noise_log += log;
  to.noise_log_squares += log * log;
}

/// What the events give their inputs, by spill.
inline std::map<std::uint32_t, std::vector<channel_sums>>
textbook_channels(const small_selecting& s, const std::vector<made_event>& events,
                  std::uint32_t one_in) {
  const selection_program program = s.loaded().program();
  const selection_tables& t = program.tables;
  std::map<std::uint32_t, std::vector<channel_sums>> all;
  for (const made_event& e : events) {
    auto& channels = all[e.spill];
    channels.resize(t.inputs.size());
    if (!is_sampled(t.constants.run, e.spill, e.number, one_in)) continue;
    for (const made_fragment& f : e.fragments) {
      for (const made_board& b : f.boards) {
        const std::uint32_t number = t.first_board[f.crate] + b.slot - l2::first_slot;
        if (number >= t.first_board[f.crate + 1U]) continue;
        const input_entry* const inputs = t.inputs.data() + 16 * number;
        const textbook_board_pulses found =
            textbook_pulses(b, static_cast<std::uint16_t>(number), inputs);
        if (found.number == board_signals::unread) continue;
        const textbook_board read = textbook_decode(b);
        const bool slow = b.kind == board_kind::sampling_125_mhz;
        const std::size_t rows = slow ? 1 : 4;
        for (std::size_t c = 0; c < 16 / rows; ++c)
          add_textbook_waveform(channels[16 * number + c],
                                channel_samples(read.samples, c, slow ? 64 : 256),
                                found.rows.data() + rows * c, rows,
                                found.lit >> rows * c & (slow ? 1U : 15U), inputs[c]);
      }
    }
  }
  return all;
}

/// Compares everything but masses and the times of counters, which have cases of their own.
inline void expect_textbook(const small_selecting& s, const std::vector<made_event>& events,
                            std::uint32_t one_in) {
  const auto found = count_histograms(s, {backend::serial, 0}, events, 50, 1, 1, one_in);
  std::vector<event_key> keys;
  for (const made_event& e : events) keys.push_back({e.spill, e.number});
  std::vector<event_summary> seen;
  for (const outcome& o : s.select({backend::serial, 0}, events, 50, 1, 1))
    seen.push_back(o.summary);
  const auto channels = textbook_channels(s, events, one_in);
  const std::uint32_t run = s.loaded().tables.constants.run;
  ASSERT_EQ(found.size(), channels.size());
  for (const auto& [spill, counted] : found) {
    ASSERT_EQ(counted.channels, channels.at(spill)) << "spill " << spill;
    const auto counts = textbook_counts(keys, seen, run, spill, one_in);
    for (std::uint32_t i = 0; i < first_count(event_histogram::pion_mass); ++i)
      ASSERT_EQ(counted.counts[i], counts[i]) << "spill " << spill << ", count " << i;
  }
}

} // namespace l3::test
