// SPDX-License-Identifier: Apache-2.0
// Effects of a real detector that an ideal one lacks: noise, baselines, times, unknown constants,
// faulty inputs, saturation, activity. Each effect is an option of `koto-l3 simulate` with a size.
// The selection knows none of them and uses the nominal calibration. Default sizes add nothing.
// Effects have their own random streams, so that the same events are made with and without them.
#pragma once

#include <array>
#include <string_view>

namespace l3 {

/// Heights in ADC counts, times in ns; spreads and noise are rms.
struct simulated_effects {
  // Noise.
  double noise_factor = 1;   ///< of each input's usual noise
  double noise_spread = 0;   ///< relative spread of this factor between inputs
  double noise_white = 0;    ///< counts, independent for each input, after the filter
  double noise_filtered = 0; ///< counts, independent for each input, before the filter
  double noise_board = 0;    ///< counts, common to all inputs of a board
  double noise_crate = 0;    ///< counts, common to all inputs of a crate

  // Baselines of each input in each event.
  double slope = 0;           ///< counts, from the first sample to the last
  double wander = 0;          ///< counts: amplitude of a sine of 0.3 to 3 µs
  double recovering = 0;      ///< fraction of inputs that recover from an earlier pulse …
  double recovery_depth = 50; ///< … from this many counts below their pedestal at the first sample
  double recovery_time = 1000; ///< ns: decay time of this and of an undershoot
  double undershoot = 0;       ///< of each pulse, relative to its height; below 0: a tail

  // Times.
  double event_shift = 0;  ///< ns, for every event
  double event_jitter = 0; ///< whole clocks of 8 ns, ±, for an event
  double crate_jitter = 0; ///< likewise, for a crate in an event

  // Deviations from the calibration, by input or by counter.
  double time_spread = 0;         ///< ns
  double counter_time_spread = 0; ///< ns, common to all inputs of a counter
  double gain_spread = 0;         ///< relative
  double pulse_spread = 0;        ///< of the pulse width, relative

  // Faulty inputs, as fractions of all inputs.
  double dead = 0;
  double hot = 0;         ///< about ten pulses of 300 counts in each waveform
  double stuck = 0;       ///< all samples are equal
  double faulty_from = 1; ///< first faulty event, counted from the run's begin

  double saturation = 0; ///< largest amplifier output over pedestal, counts; 0: no limit
  double full_scale = 1; ///< fraction of the digitizer's range at which samples are clipped

  // Activity.
  double accidentals = 1;       ///< factor on the rate of accidental pulses
  double beam_pile_up = 1;      ///< additional factor for the counters in the beam
  double beam_tail = 0;         ///< fraction of their pulses with thirty times the energy
  double veto_inefficiency = 0; ///< fraction of hits that leave no energy
  double backsplash = 0;        ///< hits from a photon's shower, per GeV
};

/// An effect and its option: `--noise-board 5`.
struct effect_option {
  std::string_view name;
  double simulated_effects::*size;
  double least;
  double most;
  std::string_view what;
  bool whole = false; ///< only whole numbers are allowed
};

inline constexpr std::array effect_options{
    effect_option{"noise-factor", &simulated_effects::noise_factor, 0, 30,
                  "factor on the noise of each input"},
    effect_option{"noise-spread", &simulated_effects::noise_spread, 0, 1,
                  "relative rms spread of the noise factor among inputs"},
    effect_option{"noise-white", &simulated_effects::noise_white, 0, 100,
                  "additional noise of each input after the filter, in counts rms"},
    effect_option{"noise-filtered", &simulated_effects::noise_filtered, 0, 100,
                  "additional noise of each input before the filter, in counts rms"},
    effect_option{"noise-board", &simulated_effects::noise_board, 0, 100,
                  "noise common to the inputs of a board, in counts rms"},
    effect_option{"noise-crate", &simulated_effects::noise_crate, 0, 100,
                  "noise common to the inputs of a crate, in counts rms"},
    effect_option{"slope", &simulated_effects::slope, 0, 1000,
                  "slope of the baseline from the first sample to the last, in counts rms"},
    effect_option{"wander", &simulated_effects::wander, 0, 1000,
                  "amplitude of a baseline that swings within 0.3 to 3 µs, in counts rms"},
    effect_option{"recovering", &simulated_effects::recovering, 0, 1,
                  "fraction of inputs that recover from an earlier pulse in each event"},
    effect_option{"recovery-depth", &simulated_effects::recovery_depth, -10000, 10000,
                  "counts below the pedestal at the first sample; negative: a tail above it"},
    effect_option{"recovery-time", &simulated_effects::recovery_time, 10, 1e6,
                  "time in ns in which a recovery or an undershoot falls to 1/e"},
    effect_option{"undershoot", &simulated_effects::undershoot, -0.5, 0.5,
                  "fraction of its height by which each pulse undershoots; negative: a tail"},
    effect_option{"event-shift", &simulated_effects::event_shift, -200, 200,
                  "ns by which every event is late"},
    effect_option{"event-jitter", &simulated_effects::event_jitter, 0, 20,
                  "clocks of 8 ns by which an event is early or late, at most", true},
    effect_option{"crate-jitter", &simulated_effects::crate_jitter, 0, 20,
                  "clocks of 8 ns by which each crate of an event is early or late, at most", true},
    effect_option{"time-spread", &simulated_effects::time_spread, 0, 100,
                  "unknown time offset of each input, in ns rms"},
    effect_option{"counter-time-spread", &simulated_effects::counter_time_spread, 0, 100,
                  "unknown time offset of each counter as a whole, in ns rms"},
    effect_option{"gain-spread", &simulated_effects::gain_spread, 0, 1,
                  "unknown change of each input's gain, relative rms"},
    effect_option{"pulse-spread", &simulated_effects::pulse_spread, 0, 0.4,
                  "relative rms spread of the pulse width among inputs"},
    effect_option{"dead", &simulated_effects::dead, 0, 1, "fraction of inputs that are dead"},
    effect_option{"hot", &simulated_effects::hot, 0, 1,
                  "fraction of inputs with about ten pulses of 300 counts in each event"},
    effect_option{"stuck", &simulated_effects::stuck, 0, 1,
                  "fraction of inputs whose samples are all equal"},
    effect_option{"faulty-from", &simulated_effects::faulty_from, 1, 1e9,
                  "first event of the run with dead, hot and stuck inputs", true},
    effect_option{
        "saturation", &simulated_effects::saturation, 0, 16383,
        "highest pulse that the amplifier can give, in counts over the pedestal; 0: no limit"},
    effect_option{"full-scale", &simulated_effects::full_scale, 0.1, 1,
                  "fraction of the digitizer's range above which pulses have flat tops"},
    effect_option{"accidentals", &simulated_effects::accidentals, 0, 100,
                  "factor on the rate of accidental pulses"},
    effect_option{"beam-pile-up", &simulated_effects::beam_pile_up, 0, 100,
                  "additional factor on this rate for the counters in the beam"},
    effect_option{"beam-tail", &simulated_effects::beam_tail, 0, 1,
                  "fraction of pulses in the beam's counters that have thirty times the energy"},
    effect_option{"veto-inefficiency", &simulated_effects::veto_inefficiency, 0, 1,
                  "fraction of hits that leave nothing in their counter"},
    effect_option{"backsplash", &simulated_effects::backsplash, 0, 100,
                  "hits in the counters in front of the calorimeter per GeV of photons"},
};

} // namespace l3
