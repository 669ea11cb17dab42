// SPDX-License-Identifier: Apache-2.0
// The contents of a spill's histograms: sums for each input of the readout, and bins for the
// events. The kernels of selection/histograms count into them, frame by frame; host programs add,
// send, store and show them (docs/formats.md). Plain structs, usable in device code.
//
// All values are integer sums, so the histograms of a spill do not depend on how its events were
// divided into frames, nodes and files: adding the parts in any order gives the same bits.
#pragma once

#include <cstdint>
#include <string_view>

#include "transport/format/function.hpp"
#include "transport/format/prescale.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

/// Number of samples for a waveform's noise: every 8 ns of its first 64 ns.
inline constexpr std::uint32_t noise_samples = 8;
/// The logarithm of their variance is counted in 1/256 octave.
inline constexpr std::uint32_t noise_log_unit = 256;

/// The sums of one input, over the events whose waveforms were sampled.
struct channel_sums {
  std::uint64_t waveforms = 0;
  std::uint64_t lit = 0;              ///< with a high enough pulse for the input
  std::uint64_t timed = 0;            ///< such pulses with a rising edge
  std::uint64_t quiet = 0;            ///< waveforms without a pulse, whose noise was measured
  std::uint64_t pedestal = 0;         ///< 1/4 count
  std::uint64_t pedestal_squares = 0; ///< 1/16 count²
  std::uint64_t noise_log = 0; ///< of quiet waveforms: noise_log_of() of their samples' variance
  std::uint64_t noise_log_squares = 0;
  std::int64_t time = 0; ///< of timed pulses, 1/128 ns relative to in-time pulses

  L3_FN channel_sums& operator+=(const channel_sums& o) {
    waveforms += o.waveforms;
    lit += o.lit;
    timed += o.timed;
    quiet += o.quiet;
    pedestal += o.pedestal;
    pedestal_squares += o.pedestal_squares;
    noise_log += o.noise_log;
    noise_log_squares += o.noise_log_squares;
    time += o.time;
    return *this;
  }
  friend bool operator==(const channel_sums&, const channel_sums&) = default;
};
static_assert(sizeof(channel_sums) == 72);

/// The bins of a histogram: values below `low`, then `bins` bins of `width`, then larger values.
struct histogram_axis {
  std::int32_t low = 0;
  std::int32_t width = 1;
  std::uint32_t bins = 0;

  [[nodiscard]] L3_FN constexpr std::uint32_t counts() const { return bins + 2; }
  /// The index of the count of a value.
  [[nodiscard]] L3_FN constexpr std::uint32_t place_of(std::int32_t value) const {
    if (value < low) return 0;
    // The difference of two 32-bit numbers fits 32 bits without sign.
    const std::uint32_t above = static_cast<std::uint32_t>(value) - static_cast<std::uint32_t>(low);
    const std::uint32_t bin = above / static_cast<std::uint32_t>(width);
    return bin < bins ? 1 + bin : 1 + bins;
  }
  friend bool operator==(const histogram_axis&, const histogram_axis&) = default;
};

/// The histograms of events.
enum class event_histogram : std::uint8_t {
  calorimeter_energy,
  crystals,
  clusters,
  photons,
  photon_energy,       ///< of each listed photon of the summary
  vertex_z,            ///< of two photons
  transverse_momentum, ///< of two photons
  pion_mass,           ///< of four photons: of each pair, at the vertex of the other pair
  count_
};
inline constexpr std::uint32_t event_histograms =
    static_cast<std::uint32_t>(event_histogram::count_);

struct event_histogram_form {
  std::string_view name;
  std::string_view unit; ///< unit for people
  double scale = 1;      ///< this unit in units of the axis
  histogram_axis axis;
};

[[nodiscard]] L3_FN constexpr histogram_axis axis_of(event_histogram h) {
  constexpr std::int32_t mega = 1000; // keV
  constexpr std::int32_t mm = 10;     // 0.1 mm
  switch (h) {
  case event_histogram::calorimeter_energy: return {0, 100 * mega, 60};
  case event_histogram::crystals: return {0, 4, 50};
  case event_histogram::clusters: return {0, 1, 32};
  case event_histogram::photons: return {0, 1, 16};
  case event_histogram::photon_energy: return {0, 25 * mega, 80};
  case event_histogram::vertex_z: return {-2000 * mm, 100 * mm, 82};
  case event_histogram::transverse_momentum: return {0, 5 * mega, 80};
  case event_histogram::pion_mass: return {0, 3 * mega, 100};
  case event_histogram::count_: break;
  }
  return {};
}

[[nodiscard]] constexpr event_histogram_form form_of(event_histogram h) {
  constexpr double mega = 1000;
  constexpr double mm = 10;
  switch (h) {
  case event_histogram::calorimeter_energy: return {"calorimeter_energy", "MeV", mega, axis_of(h)};
  case event_histogram::crystals: return {"crystals", "", 1, axis_of(h)};
  case event_histogram::clusters: return {"clusters", "", 1, axis_of(h)};
  case event_histogram::photons: return {"photons", "", 1, axis_of(h)};
  case event_histogram::photon_energy: return {"photon_energy", "MeV", mega, axis_of(h)};
  case event_histogram::vertex_z: return {"vertex_z", "mm", mm, axis_of(h)};
  case event_histogram::transverse_momentum:
    return {"transverse_momentum", "MeV/c", mega, axis_of(h)};
  case event_histogram::pion_mass: return {"pion_mass", "MeV", mega, axis_of(h)};
  case event_histogram::count_: break;
  }
  return {};
}

/// Times of a counter's hits above threshold, relative to the event's time: 1/128 ns.
inline constexpr std::int32_t veto_time_unit = 128;
inline constexpr histogram_axis veto_time_axis{-160 * veto_time_unit, 5 * veto_time_unit, 64};

/// All counts of events in one array: the number of events, the number of sampled events, the
/// histograms in their order, then the times of each counter.
inline constexpr std::uint32_t count_of_events = 0;
inline constexpr std::uint32_t count_of_sampled = 1;
[[nodiscard]] L3_FN constexpr std::uint32_t first_count(event_histogram h) {
  std::uint32_t at = count_of_sampled + 1;
  for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(h); ++k)
    at += axis_of(static_cast<event_histogram>(k)).counts();
  return at;
}
[[nodiscard]] L3_FN constexpr std::uint32_t first_veto_count(std::uint32_t counter) {
  return first_count(event_histogram::count_) + counter * veto_time_axis.counts();
}
inline constexpr std::uint32_t event_counts = first_veto_count(max_vetoes);

/// Whether an event's waveforms are sampled for the sums of its channels: one event in `one_in`,
/// the same ones on every node and in every replay.
[[nodiscard]] L3_FN constexpr bool is_sampled(std::uint32_t run, std::uint32_t spill,
                                              std::uint32_t number, std::uint32_t one_in) {
  constexpr std::uint32_t histograms = 0x68697374; // in place of a line's id
  if (one_in == 1) return true;
  const std::uint64_t when = mix_bits(std::uint64_t{run} << 32 | spill);
  const std::uint64_t mixed = mix_bits(when ^ (std::uint64_t{number} << 32 | histograms));
  return static_cast<std::uint32_t>(mixed >> 32) % one_in == 0;
}

/// Number of spills with histograms in a frame. Events of further spills are left out of the
/// histograms and counted.
inline constexpr std::uint32_t max_frame_spills = 8;

} // namespace l3
