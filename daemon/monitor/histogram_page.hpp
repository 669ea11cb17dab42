// SPDX-License-Identifier: Apache-2.0
// A summary of the differences from the reference run of histograms.reference, for metrics, /status
// and troubles. transport/histograms/comparison.hpp compares.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/compute/histogram_book.hpp"
#include "monitor/http_server.hpp"
#include "transport/format/time.hpp"
#include "transport/histograms/comparison.hpp"

namespace l3 {

struct run_changes; // transport/histograms/comparison.hpp

struct reference_report {
  std::uint64_t inputs = 0;     ///< number that changed
  std::string which_inputs;     ///< in short: "0/3/7, 12/4/0 (noise)", "256 of crate 4 (pedestal)"
  std::uint64_t histograms = 0; ///< of events; number that changed
  std::string which_histograms; ///< "calorimeter_energy (mean 1323 MeV, now 910 MeV)"

  friend bool operator==(const reference_report&, const reference_report&) = default;
};

/// Names a few inputs; of many it gives the number per crate, the largest first. Then it says what
/// changed, or that only one of the runs has them.
[[nodiscard]] reference_report report_of(const run_changes& changes);

/// The pages of histograms: /histograms has those of the run so far and of the latest ended spill,
/// /histograms/short those of the shifter's page. The HTTP server's thread makes them from copies,
/// and only when these have changed. They also list the inputs that changed since the configured
/// reference; the thread that looks around finds them now and then.
class histogram_page {
public:
  /// `of` is complete except for the sums and the spill; `book` outlives the page. `reference`: the
  /// file to compare with; "" for none. why_no_reference() says why a file cannot be used.
  histogram_page(const histogram_book& book, histogram_set of, histogram_names names,
                 std::string reference);

  /// Empty if there is a reference, or if none was requested.
  [[nodiscard]] const std::string& why_no_reference() const { return why_no_reference_; }

  /// Compares with the reference every ten seconds at most. One thread calls it.
  void look(time_point now);

  // --- any thread ---

  /// The differences from the reference; nothing without one.
  [[nodiscard]] std::optional<reference_report> since_reference() const;
  /// JSON: `run` and `spill`, each as transport/histograms/histogram_json.hpp makes it, `spill`
  /// null before one has ended; `reference`, the file or null; and the changes in the form of
  /// comparison.hpp.
  [[nodiscard]] std::string json() const;
  /// JSON as json(), of the run only and without its inputs.
  [[nodiscard]] std::string short_json() const;

  /// Adds both pages, which are "null" without histograms. One thread calls it.
  static void add_pages(const histogram_page* page, http_pages& to);

private:
  [[nodiscard]] shown_histograms show_run(histogram_book::view& now) const;
  [[nodiscard]] std::string ending() const;
  [[nodiscard]] std::uint64_t edition() const;

  const histogram_book& book_;
  histogram_set of_;
  histogram_names names_;
  std::string reference_name_;
  std::optional<shown_histograms> reference_;
  std::string why_no_reference_;
  time_point looked_at_{};

  mutable std::mutex mutex_; ///< guards the changes
  run_changes changes_;
  reference_report report_; ///< of the changes
  std::uint64_t changes_edition_ = 0;
};

} // namespace l3
