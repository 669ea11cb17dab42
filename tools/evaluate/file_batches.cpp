// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/file_batches.hpp"

#include <algorithm>
#include <stdexcept>

#include "tools/replay/file_fault.hpp"

namespace l3 {
file_batches::file_batches(const std::filesystem::path& file)
    : file_(file), reader_(file), filler_(reader_.crates()) {
  if (reader_.damage()) throw std::runtime_error(file.string() + " " + fault_of(reader_));
}

bool file_batches::fill(input_batch& batch) {
  batch.clear();
  while (batch.used_events < batch.events.size()) {
    const auto record = reader_.next();
    if (!record) break;
    if (record->header.type != record_type::event) continue;
    if (const auto wrong = parse_event(record->body, crates(), event_))
      throw std::runtime_error(file_.string() + " has an event record that contradicts itself: " +
                               std::string(name_of(*wrong)));
    std::ranges::sort(event_.fragments, {}, &crate_fragment::crate);
    filler_.add(batch, {record->header.spill, event_.number}, event_.fragments);
  }
  if (reader_.damage()) throw std::runtime_error(file_.string() + " " + fault_of(reader_));
  return batch.used_events != 0;
}

} // namespace l3
