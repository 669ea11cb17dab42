// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/file_batches.hpp"

#include <algorithm>
#include <stdexcept>

namespace l3 {

file_batches::file_batches(const std::filesystem::path& file, at_damage what)
    : file_(file), reader_(file), filler_(reader_.crates()), at_damage_(what) {
  if (reader_.damage()) throw std::runtime_error(file.string() + " " + fault_of(reader_));
}

bool file_batches::fill(input_batch& batch) {
  batch.clear();
  since_spill_.clear();
  while (batch.used_events < batch.events.size()) {
    const auto record = reader_.next();
    if (!record && reader_.damage() && at_damage_ == at_damage::go_on &&
        step_over(reader_, left_out_))
      continue;
    if (!record) break;
    if (record->header.type != record_type::event) continue;
    const auto wrong = parse_event(record->body, crates(), event_);
    if (wrong && at_damage_ == at_damage::go_on) {
      ++left_out_.places;
      ++left_out_.records;
      left_out_.bytes += record->body.size();
      continue;
    }
    if (wrong)
      throw std::runtime_error(file_.string() + " has an event record that contradicts itself: " +
                               std::string(name_of(*wrong)) + offer(at_damage_, reader_));
    std::ranges::sort(event_.fragments, {}, &crate_fragment::crate);
    filler_.add(batch, {record->header.spill, event_.number}, event_.fragments);
    since_spill_.push_back(event_.since_spill);
  }
  if (reader_.damage() && at_damage_ != at_damage::go_on)
    throw std::runtime_error(file_.string() + " " + fault_of(reader_) + offer(at_damage_, reader_));
  return batch.used_events != 0;
}

left_out file_batches::skipped() const {
  left_out all = left_out_;
  all.records += reader_.records_left_out();
  return all;
}

} // namespace l3
