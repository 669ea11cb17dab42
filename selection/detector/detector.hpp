// SPDX-License-Identifier: Apache-2.0
// The inputs and their detector channels: the crystals of the calorimeter with their places, and
// the veto counters with their modules and ends. A detector is read from a description
// (deploy/detector.toml is compiled in). The description has a cable map
// (selection/detector/cable_map.hpp) with the channel of each input. Or the calorimeter is
// computed from a few rules, and the vetoes are runs of consecutive inputs. A part that does not
// fit the readout, or uses an input of another part, is refused with its place in the
// description.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "transport/format/readout.hpp"

namespace l3 {

/// An input of the readout in the electronics' numbering.
struct input_address {
  std::uint8_t crate = 0;
  std::uint8_t slot = 0;
  std::uint8_t channel = 0;

  friend auto operator<=>(const input_address&,
                          const input_address&) = default; // NOLINT(modernize-use-nullptr)
};

[[nodiscard]] std::string to_string(input_address at); ///< "11/3/0"

[[nodiscard]] constexpr int channels_of(board_kind kind) {
  return kind == board_kind::sampling_125_mhz ? 16 : 4;
}

/// Lengths in mm, energies in MeV, times in ns; heights in ADC counts.
struct crystal {
  double x = 0;
  double y = 0;
  double size = 0;
  double counts_per_mev = 0;  ///< height of a pulse
  double accidental_rate = 0; ///< pulses per second while there is beam
  input_address at;
  bool dead = false;
};

/// The place of a veto, for the simulator: a cylinder around the beam, or a wall across it.
struct veto_shape {
  enum class kind : std::uint8_t { none, barrel, wall } form = kind::none;
  double inner = 0; ///< radius of a barrel; half the side of a wall's square hole
  double outer = 0; ///< radius of a wall
  double z_from = 0;
  double z_to = 0;

  friend bool operator==(const veto_shape&, const veto_shape&) = default;
};

struct veto {
  std::string name;
  std::uint32_t modules = 0;
  std::uint32_t ends = 1; ///< inputs per module
  double threshold = 0;   ///< MeV, or photoelectrons in the beam
  double window_from = 0;
  double window_to = 0;
  std::uint32_t neighbours = 1; ///< number of adjacent modules with a hit …
  double within = 0;            ///< … within this time, ns
  double counts_per_unit = 0;   ///< height of a pulse of 1 MeV or 1 photoelectron
  double unit_per_mev = 1;      ///< units per MeV of a photon
  double accidental_rate = 0;   ///< per input
  double length = 0;            ///< of a module read at both ends, along the beam
  double t0 = 0;                ///< ns: delay of in-time hits after the trigger's time
  double delay = 0;             ///< ns: additional delay of its signals in tubes and cables
  double charged = 0; ///< above 0: thin; a charged particle deposits this energy, photons pass
  double passes = 0;  ///< fraction of a particle's energy that reaches the counters behind
  veto_shape shape;
  std::vector<input_address> inputs; ///< end e of module m is at m · ends + e
  std::vector<bool> dead;            ///< with the same index
};

/// The electronics, for the simulator.
struct signal_figures {
  double noise_typical = 0; ///< rms, counts
  double noise_min = 0;
  double noise_max = 0;
  double pedestal_min = 0;
  double pedestal_max = 0;
  double time_offset = 0;        ///< rms over the inputs
  double pulse_time = 0;         ///< time of an in-time pulse in the waveform
  double attenuation_length = 0; ///< of modules read at both ends
  double light_speed = 0;        ///< in them, mm/ns
  std::uint64_t seed = 0;        ///< of constants that differ between inputs
};

/// The detector part that an input reads.
struct element {
  enum class kind : std::uint8_t { none, crystal, veto } what = kind::none;
  std::uint16_t index = 0; ///< in crystals or in vetoes
  std::uint16_t module = 0;
  std::uint8_t end = 0;
};

/// Bits of the trigger word, header word 0 of the trigger board.
enum trigger_bit : std::uint16_t {
  trigger_two_clusters = 1 << 0,
  trigger_four_clusters = 1 << 1,
  trigger_five_clusters = 1 << 2,
  trigger_six_clusters = 1 << 3,
  trigger_minimum_bias = 1 << 4,
  trigger_accidental = 1 << 5,
  trigger_led = 1 << 8, ///< external triggers from here
  trigger_laser = 1 << 9,
  trigger_cosmic = 1 << 10,
  trigger_clock = 1 << 11,
  trigger_on_spill = 1 << 12,
};

class detector {
public:
  explicit detector(readout crates);

  // These throw std::runtime_error if the input is not in the readout, or already used.
  void add_crystal(const crystal& c);
  /// Its inputs are listed in v.
  void add_veto(veto v);
  /// Marks the input's channel as dead: it exists, but gives no signal.
  void kill(input_address at);
  void set_trigger_board(input_address board);
  void set_front(double z) { front_ = z; }
  void set_signals(const signal_figures& s) { signals_ = s; }

  [[nodiscard]] const readout& crates() const { return crates_; }
  [[nodiscard]] const std::vector<crystal>& crystals() const { return crystals_; }
  [[nodiscard]] const std::vector<veto>& vetoes() const { return vetoes_; }
  [[nodiscard]] const signal_figures& signals() const { return signals_; }
  [[nodiscard]] double front() const { return front_; } ///< z of the calorimeter's front face
  [[nodiscard]] input_address trigger_board() const {
    return trigger_board_;
  } ///< its channel means nothing

  /// Inputs are numbered board by board in the order of the readout, with 16 numbers per board.
  static constexpr std::uint32_t inputs_per_board = 16;
  [[nodiscard]] std::uint32_t input_count() const { return crates_.boards() * inputs_per_board; }
  [[nodiscard]] bool exists(input_address at) const;
  // For an existing input:
  [[nodiscard]] std::uint32_t number_of(input_address at) const;
  [[nodiscard]] board_kind kind_of(input_address at) const { return crate(at.crate)->kind; }
  [[nodiscard]] const element& at(std::uint32_t input_number) const { return map_[input_number]; }
  /// The element must not be of kind none.
  [[nodiscard]] input_address address_of(const element& e) const;
  [[nodiscard]] std::string
  name_of(const element& e) const; ///< "crystal 17", "CBAR module 3 end 1"

  /// `count` consecutive inputs: channel by channel, slot by slot, crate by crate of one kind.
  /// Throws if there are fewer.
  [[nodiscard]] std::vector<input_address> run_of_inputs(input_address first,
                                                         std::size_t count) const;

private:
  void claim(input_address at, element e);
  const crate_readout* crate(std::uint8_t number) const;

  readout crates_;
  std::vector<std::uint32_t> first_board_; // by crate of the readout
  std::vector<crystal> crystals_;
  std::vector<veto> vetoes_;
  std::vector<element> map_;
  signal_figures signals_;
  input_address trigger_board_;
  double front_ = 0;
};

/// The calorimeter's places, in the order of their inputs: small crystals tile by tile from the
/// lower left, where a tile is the 4 × 4 crystals of one board; then the large ones row by row.
struct calorimeter_rules {
  double small_size = 0;
  int columns = 0;      ///< small crystals across the square
  int hole_columns = 0; ///< of these, missing in the middle
  int tile_columns = 0;
  double large_size = 0;
  double large_radius = 0; ///< limit for the centres of large crystals
};
struct crystal_place {
  double x = 0;
  double y = 0;
  double size = 0;
};
[[nodiscard]] std::vector<crystal_place> calorimeter_places(const calorimeter_rules& rules);

/// The detector for these crates. These throw bad_file (config/toml/complaints.hpp).
[[nodiscard]] detector parse_detector(std::string_view toml, const std::string& name,
                                      readout crates = readout::koto());
/// The description followed by its cable map: everything about a detector in one text. Throws
/// bad_file.
[[nodiscard]] std::string detector_text(const std::filesystem::path& file);
[[nodiscard]] detector read_detector(const std::filesystem::path& file,
                                     readout crates = readout::koto());
/// The detector that is compiled in, on KOTO's crates.
[[nodiscard]] detector default_detector();
[[nodiscard]] std::string_view default_detector_text();

} // namespace l3
