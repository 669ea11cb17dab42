// SPDX-License-Identifier: Apache-2.0
// Fills the columns of tables (schema.hpp): those of the whole reader, and those of an event's
// summary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "reading/include/koto_l3/read.h"
#include "reading/stored_data.hpp"
#include "transport/store/event_view.hpp"

namespace l3::reading {

/// Rows of a table of the whole reader; −1 for other tables.
[[nodiscard]] std::int64_t table_size(const stored_data& from, l3_read_table table);

/// Writes a row of such a table; throws std::out_of_range if it does not exist.
void write_table_row(const stored_data& from, l3_read_table table, std::uint64_t row,
                     std::size_t to, void* const* columns);

/// Null if the row has no such text.
[[nodiscard]] const std::string* table_text(const stored_data& from, l3_read_table table,
                                            std::uint64_t row, std::string_view field);

/// What EVENTS and the lists have of an event.
struct event_row {
  const unit* in = nullptr;
  packed_event header{};
  std::uint32_t spill = 0;
  std::uint32_t number = 0;
  bool damaged = false;
  bool selected = false;
  summary_parts summary{};
  packed_payload payload{};
  std::optional<packed_event_view> view{}; ///< if lines limit what is kept of the waveforms
};

/// Reads the row of event `index` of the unit. Reports damage.
[[nodiscard]] event_row read_event(payload_reader& in, const unit& u, std::uint32_t index);

void write_event(const stored_data& from, const event_row& event, std::size_t to,
                 void* const* columns);

/// The number of rows of an event's list, and these rows.
[[nodiscard]] std::size_t list_size(const event_row& event, l3_read_table table);
void write_list(const event_row& event, l3_read_table table, std::size_t to, void* const* columns);

} // namespace l3::reading
