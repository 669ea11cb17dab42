// SPDX-License-Identifier: Apache-2.0
// The truth of a simulated event, which is written beside the data, and its signals on the
// readout's inputs.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "selection/detector/detector.hpp"
#include "transport/accounting/enumerator_names.hpp"
#include "transport/format/event_key.hpp"

namespace l3 {

enum class event_type : std::uint8_t {
  pi0nunu,      ///< the signal: K_L → π⁰νν̄
  two_gamma,    ///< K_L → 2γ
  two_pi0_lost, ///< K_L → 2π⁰ with two photons in the calorimeter
  halo_neutron, ///< two showers of one neutron
  four_cluster, ///< K_L → 2π⁰
  five_cluster, ///< K_L → 3π⁰, one photon lost
  six_cluster,  ///< K_L → 3π⁰
  accidental,   ///< nothing in time
  ke3,          ///< K_L → π e ν, two clusters
  kmu3,         ///< K_L → π μ ν, two clusters
  charged_3pi,  ///< K_L → π⁺π⁻π⁰, two clusters
  minimum_bias, ///< K_L → 3π⁰ or 2π⁰, at least one photon in the calorimeter
  led,
  laser,
  cosmic,
  clock,
  recorded, ///< the inputs have recorded waveforms
  count_
};

[[nodiscard]] std::optional<event_type> event_type_named(std::string_view name);
[[nodiscard]] std::uint16_t trigger_bits_of(event_type t, bool on_spill);

/// A photon of the decay, or one of the showers of a neutron.
struct true_photon {
  double energy = 0;
  double deposit = 0; ///< energy in the calorimeter's crystals, including dead ones
  double x = 0;       ///< where it meets the calorimeter's front plane
  double y = 0;
  double time = 0; ///< ns, relative to the trigger
  enum class target : std::uint8_t { calorimeter, veto, nothing } hit = target::nothing;
  std::uint16_t veto = 0; ///< the veto that it hits, if any
};

/// A charged particle of the decay. Its energy in vetoes is among the hits.
struct true_charged {
  enum class kind : std::uint8_t { pion, muon, electron, count_ } what = kind::pion;
  double momentum = 0; ///< MeV/c
  double deposit = 0;  ///< MeV in the calorimeter; 0: does not reach it
  double x = 0;        ///< where it meets the calorimeter's front face
  double y = 0;
  double time = 0;
  bool showers = false; ///< true: energy spreads like a photon's; false: along its track
};

/// Energy in a module of a veto.
struct true_hit {
  std::uint16_t veto = 0;
  std::uint16_t module = 0;
  double energy = 0; ///< in the veto's unit
  double time = 0;
  double z = 0; ///< along the module, from its middle
  bool accidental = false;
};

/// An accidental pulse in a crystal, high and near enough in time to matter.
struct true_accidental {
  std::uint16_t crystal = 0;
  double energy = 0;
  double time = 0;
};

/// A pulse on an input.
struct signal {
  std::uint32_t input = 0; ///< number in the detector
  double height = 0;       ///< counts
  double time = 0;         ///< ns, relative to the trigger
};

/// Reuse one for many events to save allocations.
struct true_event {
  event_type type = event_type::recorded;
  std::uint16_t trigger_bits = 0;
  std::chrono::nanoseconds since_spill{}; ///< if it was read from a file
  double vertex_x = 0;
  double vertex_y = 0;
  double vertex_z = 0; ///< 0: no decay
  double kaon_momentum = 0;
  std::vector<true_photon> photons;
  std::vector<true_charged> charged;
  std::vector<true_hit> hits; ///< of the decay; also accidental ones above threshold in the window
  std::vector<true_accidental> accidentals;
  std::vector<signal> signals;

  void clear();
};

// Writes the truth beside the data: one JSON object per line and event, in the order of the file
// (tools/simulation/README.md).

/// Appends the event's line to `out`.
void append_truth(std::string& out, const detector& d, const true_event& e, event_key key,
                  std::chrono::nanoseconds since_spill);

/// Reads the truth beside simulated data, one line per event (tools/simulation/README.md).
class truth_reader {
public:
  /// Throws std::runtime_error if the file cannot be opened. `d` provides the counters' names.
  truth_reader(const std::filesystem::path& file, const detector& d);

  /// The next event's truth; signals are not in the file. Returns false at the end. Throws
  /// std::runtime_error with the line if it is invalid.
  bool next(true_event& out, event_key& key);

private:
  std::string name_;
  const detector& detector_;
  std::ifstream in_;
  std::uint64_t number_ = 0; // of the line
};

} // namespace l3
