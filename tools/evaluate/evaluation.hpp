// SPDX-License-Identifier: Apache-2.0
// How good a selection is on simulated events, whose truth is known: the part of each true type
// that the lines keep, the part of the offline analysis's signal, and how well photons are
// measured. Counts only.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "selection/detector/detector.hpp"
#include "tools/simulation/true_event.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

/// A proportion with a confidence interval of 68.3 % after Wilson (1927), which holds at 0 and 1
/// too.
struct proportion {
  std::uint64_t some = 0;
  std::uint64_t all = 0;

  void add(bool yes) {
    some += yes ? 1 : 0;
    ++all;
  }
  [[nodiscard]] double value() const;
  [[nodiscard]] double lower() const;
  [[nodiscard]] double upper() const;
};

/// Deviations of a measured quantity from the truth.
struct deviation {
  std::uint64_t n = 0;
  double sum = 0;
  double squares = 0;

  void add(double d) {
    ++n;
    sum += d;
    squares += d * d;
  }
  [[nodiscard]] double mean() const { return n == 0 ? 0 : sum / static_cast<double>(n); }
  [[nodiscard]] double rms() const; ///< around zero: bias and spread together
};

/// Photons of true energies from … to, MeV, that were found within 60 mm of where they hit.
struct photon_resolution {
  double from = 0;
  double to = 0;
  proportion found;
  deviation energy; ///< found / left in the crystals − 1
  deviation photon; ///< found / energy of the photon − 1: the calorimeter's resolution included
  deviation x;      ///< mm
  deviation y;      ///< mm
  deviation time;   ///< ns
};

struct evaluation {
  struct row {
    std::uint64_t events = 0;
    std::uint64_t kept = 0;
    std::uint64_t not_judged = 0;
    std::array<std::uint64_t, max_lines> fired{};
    std::array<std::uint64_t, max_lines> kept_by{};
  };
  static constexpr std::size_t types = static_cast<std::size_t>(event_type::count_);

  std::array<row, types> by_type{};
  row sum;
  std::uint64_t bytes_in = 0;                        ///< of all events
  std::uint64_t bytes_out = 0;                       ///< of the kept ones, packed
  std::array<std::uint64_t, max_lines> link_bytes{}; ///< of those that each line keeps, packed
  std::array<std::array<std::uint64_t, 64>, max_lines> reasons{}; ///< [line][line_reason]

  // The signal that passes the offline cuts on truth, as the signal line keeps it.
  proportion signal;                              ///< as issue and paper list them
  proportion signal_fiducial;                     ///< with photons where the line looks
  std::array<std::uint64_t, 64> signal_reasons{}; ///< why the others were rejected: line_reason
  deviation vertex;                               ///< mm, of those that fired
  deviation momentum;                             ///< MeV/c, transverse

  std::vector<photon_resolution> photons{
      {50, 100, {}, {}, {}, {}, {}, {}},   {100, 200, {}, {}, {}, {}, {}, {}},
      {200, 400, {}, {}, {}, {}, {}, {}},  {400, 600, {}, {}, {}, {}, {}, {}},
      {600, 1000, {}, {}, {}, {}, {}, {}}, {1000, 2000, {}, {}, {}, {}, {}, {}}};

  /// An event that several lines keep counts for each of them. `packed` is 0 if none keeps it.
  void add_bytes(const event_summary& found, std::uint64_t raw, std::uint64_t packed);
  /// `signal_line`: the line that keeps the signal; max_lines: none.
  void add(const true_event& truth, const event_summary& found, const detector& d,
           std::uint32_t signal_line);

  [[nodiscard]] proportion kept() const { return {sum.kept, sum.events}; }
  [[nodiscard]] proportion calibration_kept() const;
  /// By selection and packing together; 0 if nothing is kept.
  [[nodiscard]] double reduction() const {
    return bytes_out == 0 ? 0 : static_cast<double>(bytes_in) / static_cast<double>(bytes_out);
  }
};

} // namespace l3
