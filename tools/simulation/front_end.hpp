// SPDX-License-Identifier: Apache-2.0
// The electronics of a simulated detector: pedestals, noise, pulses, digitizing, board packets,
// fragments. It makes the level-2 data of one event (docs/formats.md, section 2). All boards of an
// event have the same time stamp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "selection/detector/detector.hpp"
#include "tools/simulation/baselines.hpp"
#include "tools/simulation/effects.hpp"
#include "tools/simulation/truth_file.hpp"
#include "transport/file/record_parser.hpp"
#include "transport/format/event_key.hpp"

namespace l3 {

/// Differences between the inputs and their calibration, drawn once from the simulation's seed, for
/// effects of an input and not of an event.
struct input_fault {
  enum class kind : std::uint8_t { none, dead, hot, stuck } what = kind::none;
  double noise = 1;      ///< factor
  double gain = 1;       ///< factor
  double time = 0;       ///< ns
  std::uint8_t form = 0; ///< of its pulses, 0 … pulse_forms − 1; the middle one is nominal
};

inline constexpr int pulse_forms = 9; ///< from two spreads too narrow to two too wide
inline constexpr double nominal_form = 4;

/// The factor on a pulse's width of form `form`.
[[nodiscard]] constexpr double width_of(int form, double spread) {
  constexpr double forms_per_spread = 2;
  return 1 + spread * (form - nominal_form) / forms_per_spread;
}

/// By input number.
[[nodiscard]] std::vector<input_fault>
draw_input_faults(const detector& d, const simulated_effects& effects, std::uint64_t seed);

/// Constant after construction, so threads share one.
class front_end {
public:
  front_end(const detector& d, std::uint64_t seed, const simulated_effects& effects = {});

  struct moment {
    event_key key;
    std::chrono::nanoseconds since_spill{};
    std::uint64_t before = 0; ///< earlier events of the run
  };

  /// Digitizes the event into `to`, event_bytes long. Sorts e.signals.
  void digitize(true_event& e, const moment& when, random_source& random,
                std::span<std::byte> to) const;
  /// Fills the inputs with recordings from piece `first` on: board by board, channel by channel.
  void carry(const recordings& r, std::uint64_t first, const true_event& e, const moment& when,
             std::span<std::byte> to) const;

  [[nodiscard]] std::size_t event_bytes() const { return detector_.crates().event_bytes(); }
  /// Number of pieces that carry() uses.
  [[nodiscard]] std::uint64_t pieces_per_event() const {
    return std::uint64_t{detector_.crates().boards()} * l2::waveforms_per_board;
  }
  /// The adjacent fragments in an event's bytes.
  [[nodiscard]] std::vector<crate_fragment> fragments_of(std::span<const std::byte> event) const;

  /// Constants of an input, by its number in the detector.
  struct constants {
    std::uint16_t pedestal = 0;
    std::int16_t noise_scale = 0;
    double time_offset = 0;
  };
  [[nodiscard]] const constants& constants_of(std::uint32_t input) const {
    return constants_[input];
  }

private:
  using board_samples = baselines::board; // counts, not yet limited to the digitizer's range

  template <class MakeSamples>
  void assemble(const true_event& e, const moment& when, std::span<std::byte> to,
                const MakeSamples& make) const;
  void add_noise(std::uint32_t board, board_kind kind, random_source& random,
                 board_samples& samples) const;
  void add_pulse(const signal& s, double shift, bool faulty, board_kind kind, random_source& random,
                 board_samples& samples) const;
  void add_undershoot(const signal& s, double shift, bool faulty, board_kind kind,
                      board_samples& to) const;
  void saturate(std::uint32_t board, board_kind kind, board_samples& samples) const;
  void spoil(std::uint32_t board, board_kind kind, random_source& random,
             board_samples& samples) const;
  /// The highest sample of a digitizer.
  [[nodiscard]] int top_of(board_kind kind) const;
  [[nodiscard]] double time_in_waveform(const signal& s, double shift) const;

  const detector& detector_;
  simulated_effects effects_;
  std::uint64_t effects_seed_;
  std::uint32_t trigger_board_; // index among the readout's boards
  noise_table slow_noise_;
  noise_table fast_noise_;
  std::vector<pulse_shape> slow_pulses_; // by rising width
  std::vector<pulse_shape> fast_pulses_; // likewise, for each length
  std::vector<constants> constants_;
  std::vector<input_fault> faults_;
};

} // namespace l3
