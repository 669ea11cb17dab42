// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/histogram_stream.hpp"

#include <utility>
#include <vector>

#include "monitor/log.hpp"
#include "transport/format/block_entries.hpp"
#include "transport/histograms/histogram_json.hpp"

namespace l3 {

histogram_stream::histogram_stream(spilling_outbox& out, histogram_set of, histogram_names names)
    : out_(out), of_(std::move(of)), names_(std::move(names)) {}

void histogram_stream::add(std::uint32_t spill, const histogram_sums& sums,
                           std::uint64_t left_out) {
  of_.spill = spill;
  of_.left_out = left_out;
  of_.sums = sums;
  std::vector<std::byte> entry;
  add_entry(entry, histograms_key, to_json(show(of_, names_)));
  if (!out_.add_once(std::move(entry))) leave_out(1);
}

bool histogram_stream::finish() { return out_.seal_once(); }

void histogram_stream::give_up() { leave_out(out_.once_waiting()); }

void histogram_stream::leave_out(std::uint64_t spills) {
  if (spills == 0) return;
  if (not_stored_.get() == 0)
    log_warning("histograms of {} spill{} find no room and are not stored beside the events; how "
                "many in all is koto_l3_histograms_not_stored_total",
                spills, spills == 1 ? "" : "s");
  not_stored_.add(spills);
}

} // namespace l3
