// SPDX-License-Identifier: Apache-2.0
// The quality of a selection on simulated events: the kept fraction of each true type, the kept
// fraction of the offline analysis's signal, and the photon resolution. Counts only.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "selection/detector/detector.hpp"
#include "tools/evaluate/selection_run.hpp"
#include "tools/simulation/truth_file.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

/// A proportion with Wilson's confidence interval of 68.3 % (1927), which is also valid at 0 and 1.
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

/// Photons with true energies in [from, to), MeV, found within 60 mm of their impact.
struct photon_resolution {
  double from = 0;
  double to = 0;
  proportion found;
  deviation energy; ///< found / deposited in the crystals − 1
  deviation photon; ///< found / energy of the photon − 1: includes the calorimeter's resolution
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
  std::uint64_t bytes_out = 0;                       ///< of the kept events, packed
  std::array<std::uint64_t, max_lines> link_bytes{}; ///< packed bytes of each line's events
  std::array<std::array<std::uint64_t, 64>, max_lines> reasons{}; ///< [line][line_reason]

  // Signal that passes the offline cuts on truth, and the part that the signal line keeps.
  proportion signal;                              ///< by the published cuts
  proportion signal_fiducial;                     ///< with photons where the line looks
  std::array<std::uint64_t, 64> signal_reasons{}; ///< why the others were refused: line_reason
  deviation vertex;                               ///< mm, of fired events
  deviation momentum;                             ///< MeV/c, transverse

  std::vector<photon_resolution> photons{
      {50, 100, {}, {}, {}, {}, {}, {}},   {100, 200, {}, {}, {}, {}, {}, {}},
      {200, 400, {}, {}, {}, {}, {}, {}},  {400, 600, {}, {}, {}, {}, {}, {}},
      {600, 1000, {}, {}, {}, {}, {}, {}}, {1000, 2000, {}, {}, {}, {}, {}, {}}};

  /// An event kept by several lines counts for each of them. `packed` is 0 for a rejected event.
  void add_bytes(const event_summary& found, std::uint64_t raw, std::uint64_t packed);
  /// `signal_line`: the line that keeps the signal; max_lines if there is none.
  void add(const true_event& truth, const event_summary& found, const detector& d,
           std::uint32_t signal_line);

  [[nodiscard]] proportion kept() const { return {sum.kept, sum.events}; }
  [[nodiscard]] proportion calibration_kept() const;
  /// By selection and packing together; 0 if no event is kept.
  [[nodiscard]] double reduction() const {
    return bytes_out == 0 ? 0 : static_cast<double>(bytes_in) / static_cast<double>(bytes_out);
  }
};

/// {"some", "all", "value", "lower", "upper"}
[[nodiscard]] boost::json::object to_json(const proportion& p);

/// An evaluation as text and as JSON.
[[nodiscard]] std::string evaluation_text(const evaluation& e,
                                          const std::vector<std::string>& lines,
                                          const std::string& signal_line);
[[nodiscard]] boost::json::object evaluation_json(const evaluation& e,
                                                  const std::vector<std::string>& lines,
                                                  const std::string& signal_line);

// Whether a simulated signal event passes the offline selection by its truth, so that the online
// line must not lose it. Cuts of the K_L → π⁰νν̄ analysis: two photons of 100 to 2000 MeV in the
// calorimeter, more than 650 MeV together, vertex 3200 to 5000 mm, transverse momentum 130 to 250
// MeV/c, and no counter above its offline threshold within its offline window, including accidental
// hits.

/// The offline cuts that an event passes.
struct offline_judgement {
  bool photons = false; ///< energies, vertex and transverse momentum
  bool vetoes = false;
  /// The photons also hit where the online line and the offline analysis look: more than 150 mm
  /// from the axis in x or y, within 850 mm, 300 mm apart.
  bool fiducial = false;

  [[nodiscard]] bool passes() const { return photons && vetoes; }
};

/// Thresholds, windows and counters with neighbour conditions come from the detector's description,
/// not from the selection.
[[nodiscard]] offline_judgement judge_offline(const true_event& e, const detector& d);

/// Returns the transverse momentum of all photons in the calorimeter, in MeV/c, computed from their
/// directions. `front`: z of the calorimeter's front, in mm.
[[nodiscard]] double true_transverse_momentum(const true_event& e, double front);

/// Reads the truth beside a simulated file event by event; refuses the truth of another file.
class truth_beside {
public:
  /// `data`: name for messages. Throws command_error if the truth cannot be opened.
  truth_beside(std::string truth, std::string data, const detector& d);

  /// The truth of the file's next event. Throws command_error if it is missing or belongs to
  /// another event: another simulation has the same event numbers with other times and triggers.
  [[nodiscard]] const true_event& of(const decided_event& next);
  /// Call it after the last event. Throws command_error if the truth has more events.
  void finish();

private:
  std::string name_;
  std::string data_;
  truth_reader reader_;
  true_event event_;
  event_key key_;
};

inline constexpr const char* usual_signal_line = "pi0nunu"; // a selection may lack it

struct evaluated_file {
  std::string name; ///< of the selection's file
  std::vector<std::string> lines;
  evaluation result;
  std::vector<bool> kept; ///< by event
};

/// Runs a selection over a simulated file and compares it with the truth. `run.in` is the file of
/// `in`. Throws command_error.
[[nodiscard]] evaluated_file evaluate_file(const selection_options& run,
                                           const std::string& truth_file,
                                           const std::string& signal_line, file_batches& in,
                                           interrupt& signals);

} // namespace l3
