// SPDX-License-Identifier: Apache-2.0
// The pages of histograms: /histograms has those of the run so far and of the latest ended spill,
// /histograms/short those of the shifter's page. The HTTP server's thread makes them from copies,
// and only when these have changed. They also list the inputs that changed since the configured
// reference; the thread that looks around finds them now and then.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/compute/histogram_book.hpp"
#include "daemon/monitor/reference_report.hpp"
#include "monitor/http_server.hpp"
#include "transport/format/time.hpp"
#include "transport/histograms/comparison.hpp"

namespace l3 {

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
