// SPDX-License-Identifier: Apache-2.0
// A detector of seven boards that has something of everything: 64 crystals, counters with one end
// and with two, one of them with neighbours to ask, 500 MHz. Events of it are quick to make and to
// compute, so that tests can go through very many.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "selection/trigger/load_selection.hpp"
#include "tests/gpu/decode/make_boards.hpp"

namespace l3::test {

/// Its crates' places: a calorimeter of four boards, two boards of counters, one at 500 MHz.
inline readout small_readout() {
  readout r;
  r.crates = {{0, 4, board_kind::sampling_125_mhz},
              {1, 2, board_kind::sampling_125_mhz},
              {2, 1, board_kind::sampling_500_mhz}};
  return r;
}

inline detector make_small_detector() {
  detector d(small_readout());
  const auto run = d.run_of_inputs({0, l2::first_slot, 0}, 64);
  for (std::uint32_t i = 0; i < 64; ++i) {
    crystal c;
    c.x = 25.0 * (i % 8) + 112.5;
    c.y = 25.0 * (i / 8) - 87.5;
    c.size = 25;
    c.counts_per_mev = 11.8;
    c.at = run[i];
    d.add_crystal(c);
  }
  const auto add = [&](const char* name, std::uint32_t modules, std::uint32_t ends, double length,
                       input_address first, double counts_per_unit) {
    veto v;
    v.name = name;
    v.modules = modules;
    v.ends = ends;
    v.length = length;
    v.threshold = 1;
    v.window_from = -15;
    v.window_to = 15;
    v.counts_per_unit = counts_per_unit;
    v.inputs = d.run_of_inputs(first, std::size_t{modules} * ends);
    if (v.name == "barrel") v.shape = {veto_shape::kind::barrel, 1000, 1000, 2000, 3000};
    d.add_veto(v);
  };
  add("barrel", 8, 2, 1000, {1, 3, 0}, 30);
  add("wall", 15, 1, 0, {1, 4, 0}, 30);
  add("beam", 2, 2, 0, {2, 3, 0}, 20);
  d.kill({1, 3, 5}); // one end of a module
  d.kill({0, 4, 7});
  d.set_trigger_board({1, 4, 0});
  d.set_front(6148);
  signal_figures s;
  s.noise_typical = 2;
  s.noise_min = 1;
  s.noise_max = 3;
  s.pedestal_min = 300;
  s.pedestal_max = 900;
  s.time_offset = 5;
  s.pulse_time = 204;
  s.attenuation_length = 2700;
  s.light_speed = 181;
  s.seed = 1;
  d.set_signals(s);
  return d;
}

/// Cuts that events of make_selected_event() pass and fail alike.
inline constexpr const char* small_selection = R"(
[clusters]
crystal_threshold = 3.0
crystal_window = [-30.0, 30.0]
[photons]
threshold = 10.0
window = [-15.0, 15.0]
energy_correction = [[5.0, 2.0], [50.0, 6.0]]
[[counter]]
name = "wall"
neighbours = 2
within = 15.0
[[line]]
name = "two"
photons = [2, 2]
vetoes = "all"
[[line]]
name = "far"
photons = [2, inf]
photon_distance = [80.0, inf]
when_unknown = "refuse"
[[line]]
name = "vertex"
vertex_z = [-inf, inf]
transverse_momentum = [5.0, inf]
[[line]]
name = "barrel"
fired = ["barrel"]
calorimeter_energy = [30.0, 1000.0]
prescale = 3
[[line]]
name = "triggered"
trigger = ["two_clusters"]
when_unknown = "keep"
vetoes = ["beam"]
prescale = 2
[[line]]
name = "opaque"
undecodable = true
)";

/// A waveform of `samples` samples with pulses of a Gaussian form.
struct made_pulse {
  double at = 0; ///< sample of its peak
  double height = 0;
  double width = 3.5; ///< samples
};
inline std::vector<std::uint16_t> make_trace(std::uint32_t samples, std::uint16_t limit,
                                             const std::vector<made_pulse>& pulses, randomness& r) {
  const double pedestal = 300 + below(r, 600);
  std::vector<std::uint16_t> trace(samples);
  for (std::uint32_t s = 0; s < samples; ++s) {
    double v = pedestal + below(r, 7) - 3.0;
    for (const made_pulse& p : pulses)
      v += p.height * std::exp(-(s - p.at) * (s - p.at) / (2 * p.width * p.width));
    trace[s] = static_cast<std::uint16_t>(std::clamp<double>(v, 0, limit));
  }
  return trace;
}

/// A board whose channels hold a pulse near `peak`, each with a chance of one in `rarity`.
inline std::vector<std::uint16_t> make_lit_records(board_kind kind, std::uint32_t rarity,
                                                   randomness& r) {
  const bool slow = kind == board_kind::sampling_125_mhz;
  const std::uint32_t channels = slow ? 16 : 4;
  std::vector<std::uint16_t> all;
  for (std::uint32_t c = 0; c < channels; ++c) {
    std::vector<made_pulse> pulses;
    while (below(r, rarity) == 0) {
      const double height = std::exp(below(r, 700) / 100.0);
      pulses.push_back(slow ? made_pulse{22.0 + below(r, 80) / 10.0, height, 3.5}
                            : made_pulse{40.0 + below(r, 120), height, 4});
    }
    const auto trace = make_trace(1024 / channels, slow ? 0x3fff : 0x0fff, pulses, r);
    all.insert(all.end(), trace.begin(), trace.end());
  }
  return all;
}

/// Boards are expensive to make: events share some that were made before, with headers of their
/// own.
class made_boards {
public:
  made_boards(std::uint32_t of_each, std::uint64_t seed) : random_(seed) {
    constexpr std::array rarities{2U, 4U, 10U, 40U};
    for (std::uint32_t k = 0; k < of_each; ++k) {
      const std::uint32_t rarity = rarities[k % rarities.size()];
      for (const auto kind : {board_kind::sampling_125_mhz, board_kind::sampling_500_mhz})
        kept_[static_cast<std::size_t>(kind)].push_back(
            make_board(kind, l2::first_slot, 0, 0, 0, make_lit_records(kind, rarity, random_)));
    }
  }

  made_board any(board_kind kind, std::uint8_t slot, std::uint32_t spill, std::uint32_t number,
                 std::uint32_t time, std::uint16_t trigger) {
    const auto& from = kept_[static_cast<std::size_t>(kind)];
    made_board b = from[below(random_, static_cast<std::uint32_t>(from.size()))];
    b.slot = slot;
    for (int w = 0; w < l2::header_words; ++w)
      store_big(b.packet.data() + 2 * w,
                static_cast<std::uint16_t>(l2::expected_header_word(w, spill, number, slot, time) |
                                           (w == 0 ? trigger : 0)));
    return b;
  }

  randomness& random() { return random_; }

private:
  randomness random_;
  std::array<std::vector<made_board>, 2> kept_;
};

/// An event of the small detector, of one of so many spills; now and then something is missing,
/// opaque, damaged, or raw.
inline made_event make_selected_event(std::uint32_t number, made_boards& boards,
                                      std::uint32_t spills = 512) {
  randomness& r = boards.random();
  made_event e;
  e.spill = below(r, spills);
  e.number = number;
  e.reference_time = below(r, 1U << 28);
  const readout crates = small_readout();
  for (std::uint8_t place = 0; place < crates.size(); ++place) {
    const crate_readout& crate = crates.crates[place];
    if (below(r, 30) == 0) {
      e.flags |= event_incomplete;
      continue;
    }
    if (below(r, 60) == 0) {
      e.fragments.push_back(make_raw_fragment(place, below(r, 300), r));
      continue;
    }
    std::vector<made_board> made;
    for (std::uint8_t k = 0; k < crate.boards; ++k) {
      const auto slot = static_cast<std::uint8_t>(l2::first_slot + k);
      if (below(r, 40) == 0) continue;
      if (below(r, 60) == 0) {
        made.push_back(make_opaque_board(slot, 20 + below(r, 500), r));
        continue;
      }
      const bool is_trigger_board = place == 1 && k == 1;
      made.push_back(boards.any(crate.kind, slot, e.spill, number, e.reference_time,
                                is_trigger_board ? static_cast<std::uint16_t>(below(r, 16)) : 0));
      if (below(r, 60) == 0) { // a wrong tag
        std::byte* const word = made.back().packet.data() + 2 * (6 + below(r, 1024));
        *word ^= std::byte{0x40};
      }
    }
    e.fragments.push_back(make_fragment(place, number, std::move(made)));
  }
  return e;
}

} // namespace l3::test
