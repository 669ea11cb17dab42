// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/histogram_stream.hpp"

#include <utility>
#include <vector>

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
  if (!out_.add_once(std::move(entry))) not_stored_.add();
}

bool histogram_stream::finish() { return out_.seal_once(); }

void histogram_stream::give_up() { not_stored_.add(out_.once_waiting()); }

} // namespace l3
