// SPDX-License-Identifier: Apache-2.0
#include "reading/tables.hpp"

#include <stdexcept>

#include "reading/schema.hpp"
#include "selection/detector/cable_map.hpp"
#include "transport/format/record.hpp"

namespace l3::reading {

namespace {

/// A row of the tables that have rows for each of the settings.
struct row_of_settings {
  const loaded_settings* in;
  std::uint32_t settings;
  std::size_t row;
};

std::size_t rows_in(const loaded_settings& s, l3_read_table table) {
  if (table == L3_READ_LINES) return s.selection() ? s.selection()->settings.lines.size() : 0;
  if (table == L3_READ_COUNTERS) return s.selection() ? s.selection()->what.vetoes().size() : 0;
  std::size_t n = 0;
  for (const crate_readout& c : s.crates().crates)
    n += c.boards * static_cast<std::size_t>(channels_of(c.kind));
  return n;
}

row_of_settings find_row(const stored_data& from, l3_read_table table, std::uint64_t row) {
  std::uint32_t settings = 0;
  for (const loaded_settings& s : from.settings()) {
    const std::size_t rows = rows_in(s, table);
    if (row < rows) return {&s, settings, static_cast<std::size_t>(row)};
    row -= rows;
    ++settings;
  }
  throw std::out_of_range("the table has no such row");
}

/// Input number `row` of those that exist.
input_address address_of(const readout& crates, std::size_t row) {
  for (const crate_readout& c : crates.crates) {
    const auto channels = static_cast<std::size_t>(channels_of(c.kind));
    if (row < c.boards * channels)
      return {c.number, static_cast<std::uint8_t>(l2::first_slot + row / channels),
              static_cast<std::uint8_t>(row % channels)};
    row -= c.boards * channels;
  }
  throw std::out_of_range("the table has no such row");
}

void write_channel(const row_of_settings& at, std::size_t to, void* const* columns) {
  const input_address input = address_of(at.in->crates(), at.row);
  channel_fields<value> c{};
  calibration_fields<value> calibrated{};
  c.settings = at.settings;
  c.crate = input.crate;
  c.slot = input.slot;
  c.channel = input.channel;
  const detector* const d = at.in->channels();
  for (const crate_readout& crate : at.in->crates().crates)
    if (crate.number == input.crate)
      c.length = crate.kind == board_kind::sampling_125_mhz ? 64 : 256;
  if (d != nullptr) {
    const std::uint32_t number = d->number_of(input);
    const element& e = d->at(number);
    c.kind = static_cast<std::uint8_t>(e.what);
    c.module = e.what == element::kind::crystal ? e.index : e.module;
    if (e.what == element::kind::veto) c.counter = static_cast<std::uint8_t>(e.index);
    c.end = e.end;
    if (e.what == element::kind::crystal) {
      const crystal& k = d->crystals()[e.index];
      c.x = k.x;
      c.y = k.y;
      c.size = k.size;
    }
    const channel_calibration& k = at.in->calibrated()[number];
    calibrated.dead = k.dead ? 1 : 0;
    calibrated.pedestal = k.pedestal;
    calibrated.noise = k.noise;
    if (const loaded_selection* const s = at.in->selection()) {
      const input_entry& entry = s->tables.inputs[number];
      calibrated.gain = entry.gain;
      calibrated.time = entry.time;
      calibrated.least_height = entry.least_height;
    }
  }
  write_row<channel_fields>(columns, to, c);
  write_row<calibration_fields>(columns + field_count<channel_fields>, to, calibrated);
}

void write_line(const row_of_settings& at, std::size_t to, void* const* columns) {
  const loaded_selection& s = *at.in->selection();
  const line_entry& line = s.tables.lines[at.row];
  write_row<line_fields>(columns, to,
                         {at.settings, static_cast<std::uint8_t>(at.row), line.id, line.prescale,
                          static_cast<std::uint8_t>(line.payload), line.control, line.priority});
}

void write_counter(const row_of_settings& at, std::size_t to, void* const* columns) {
  const veto_entry& v = at.in->selection()->tables.vetoes[at.row];
  write_row<counter_fields>(
      columns, to,
      {at.settings, static_cast<std::uint8_t>(at.row), v.threshold, v.from, v.to, v.modules});
}

const std::string* channel_text(const row_of_settings& at, std::string_view field) {
  static const std::string calorimeter(calorimeter_name);
  static const std::string unused;
  const detector* const d = at.in->channels();
  if (d == nullptr) return &unused;
  const std::uint32_t number = d->number_of(address_of(at.in->crates(), at.row));
  if (field == "name") return &at.in->names()[number];
  if (field != "detector") return nullptr;
  const element& e = d->at(number);
  return e.what == element::kind::none      ? &unused
         : e.what == element::kind::crystal ? &calorimeter
                                            : &d->vetoes()[e.index].name;
}

const std::string* settings_text(const recorded_settings& s, std::string_view field) {
  return field == "software"      ? &s.software
         : field == "menu"        ? &s.lines
         : field == "detector"    ? &s.detector
         : field == "calibration" ? &s.calibration
                                  : nullptr;
}

} // namespace

std::int64_t table_size(const stored_data& from, l3_read_table table) {
  std::size_t n = 0;
  switch (table) {
  case L3_READ_EVENTS: n = from.events(); break;
  case L3_READ_SESSIONS: n = from.sessions().size(); break;
  case L3_READ_SETTINGS: n = from.settings().size(); break;
  case L3_READ_DAMAGE: n = from.damages(); break;
  case L3_READ_LINES:
  case L3_READ_COUNTERS:
  case L3_READ_CHANNELS:
    for (const loaded_settings& s : from.settings()) n += rows_in(s, table);
    break;
  default: return -1;
  }
  return static_cast<std::int64_t>(n);
}

void write_table_row(const stored_data& from, l3_read_table table, std::uint64_t row,
                     std::size_t to, void* const* columns) {
  switch (table) {
  case L3_READ_SESSIONS: {
    static_cast<void>(from.settings());
    const session& s = from.sessions().at(row);
    return write_row<session_fields>(columns, to,
                                     {s.number, s.run, s.node, s.settings, s.blocks, s.events,
                                      s.left_out, s.bytes, s.begin, s.end});
  }
  case L3_READ_SETTINGS: {
    const loaded_settings& s = from.settings().at(row);
    const bool record = s.recorded().mode == selection_mode::record;
    const std::uint32_t hash = columns[0] != nullptr && s.selection() != nullptr
                                   ? s.selection()->tables.constants.settings
                                   : 0;
    return write_row<settings_fields>(columns, to, {hash, std::uint8_t{record}});
  }
  case L3_READ_DAMAGE: {
    const damage& d = from.damage_at(row);
    return write_row<damage_fields>(columns, to, {d.offset, d.bytes, d.events});
  }
  case L3_READ_LINES: return write_line(find_row(from, table, row), to, columns);
  case L3_READ_COUNTERS: return write_counter(find_row(from, table, row), to, columns);
  case L3_READ_CHANNELS: return write_channel(find_row(from, table, row), to, columns);
  default: throw std::invalid_argument("this table has no rows of its own");
  }
}

const std::string* table_text(const stored_data& from, l3_read_table table, std::uint64_t row,
                              std::string_view field) {
  switch (table) {
  case L3_READ_SETTINGS: return settings_text(from.settings().at(row).recorded(), field);
  case L3_READ_DAMAGE: {
    const damage& d = from.damage_at(row);
    return field == "file" ? &d.file : field == "what" ? &d.what : nullptr;
  }
  case L3_READ_CHANNELS: return channel_text(find_row(from, table, row), field);
  case L3_READ_LINES:
  case L3_READ_COUNTERS: {
    const row_of_settings at = find_row(from, table, row);
    if (field != "name") return nullptr;
    return table == L3_READ_LINES ? &at.in->selection()->settings.lines[at.row].name.value
                                  : &at.in->selection()->what.vetoes()[at.row].name;
  }
  default: return nullptr;
  }
}

// Events.

event_row read_event(payload_reader& in, const unit& u, std::uint32_t index) {
  event_row row;
  row.in = &u;
  row.damaged = true;
  if (!in.may_read(u)) return row;
  const auto refuse = [&](const char* what) { in.from().report(u, what, 1); };
  if (u.spill) {
    const auto body = in.payload(u);
    if (body.size() < sizeof(event_body)) {
      refuse("it ends within a record");
      return row;
    }
    row.spill = *u.spill;
    row.number = load<event_body>(body.data()).number;
    row.header.bytes = u.bytes;
    row.damaged = false;
    return row;
  }
  const auto* const event = in.event(u, index);
  if (event == nullptr) {
    if (in.has(u, index)) refuse("an event of this block is damaged");
    return row;
  }
  row.header = event->header();
  row.spill = row.header.spill;
  row.number = row.header.number;
  const auto bytes = event->summary();
  const auto summary = summary_parts::find(bytes);
  if (!bytes.empty() && !summary) {
    refuse(load<packed_summary>(bytes.data()).version == packed_summary{}.version
               ? "a summary of this block is damaged"
               : "a summary of this block has a version that this library does not know");
    return row;
  }
  row.selected = summary.has_value();
  if (summary) row.summary = *summary;
  if (event->payload_lines() > 0) {
    row.payload = event->payload();
    row.view = *event;
  }
  row.damaged = false;
  return row;
}

namespace {

template <class T>
T row_of(std::span<const std::byte> rows, std::size_t n) {
  return load<T>(rows.data() + n * sizeof(T));
}

template <class T>
std::size_t rows_in(std::span<const std::byte> rows) {
  return rows.size() / sizeof(T);
}

} // namespace

void write_event(const stored_data& from, const event_row& event, std::size_t to,
                 void* const* columns) {
  const session& s = from.session_of(*event.in);
  const packed_event& e = event.header;
  write_row<key_fields>(
      columns, to,
      {s.number, s.run, s.node, from.settings_of(*event.in), event.spill, event.number,
       static_cast<std::uint8_t>(event.damaged ? L3_READ_DAMAGED : L3_READ_PRESENT), e.flags,
       static_cast<std::uint8_t>(e.payload), e.reference_time, e.bytes});
  columns += field_count<key_fields>;
  const packed_summary& h = event.summary.head;
  write_row<decision_fields>(columns, to,
                             {std::uint8_t{event.selected}, h.settings, h.fired, h.kept_by,
                              h.vetoes, h.unknown, h.trigger, h.status, h.photons_found,
                              event.payload.asked, event.payload.control});
  columns += field_count<decision_fields>;
  const std::size_t known = rows_in<std::int32_t>(event.summary.quantities);
  for (std::size_t q = 0; q < quantities; ++q)
    if (columns[q] != nullptr)
      static_cast<std::int32_t*>(columns[q])[to] =
          q < known ? row_of<std::int32_t>(event.summary.quantities, q) : undefined_quantity;
}

std::size_t list_size(const event_row& event, l3_read_table table) {
  return table == L3_READ_PHOTONS ? rows_in<photon_summary>(event.summary.photons)
         : table == L3_READ_HITS  ? rows_in<veto_hit_summary>(event.summary.hits)
                                  : rows_in<packed_line>(event.summary.lines);
}

void write_list(const event_row& event, l3_read_table table, std::size_t to, void* const* columns) {
  const summary_parts& s = event.summary;
  for (std::size_t n = 0; n < list_size(event, table); ++n, ++to) {
    if (table == L3_READ_PHOTONS) {
      const auto p = row_of<photon_summary>(s.photons, n);
      write_row<photon_fields>(columns, to, {p.energy, p.time, p.x, p.y, p.crystals});
    } else if (table == L3_READ_HITS) {
      const auto h = row_of<veto_hit_summary>(s.hits, n);
      write_row<hit_fields>(columns, to, {h.energy, h.time, h.module, h.counter});
    } else {
      const auto line = row_of<packed_line>(s.lines, n);
      const bool is_limited = event.view && n < event.view->payload_lines();
      const auto p = is_limited ? event.view->payload_of_line(static_cast<std::uint32_t>(n))
                                : packed_line_payload{};
      write_row<line_decision_fields>(columns, to,
                                      {line.id, line.prescale, row_of<std::uint8_t>(s.reasons, n),
                                       static_cast<std::uint8_t>(p.payload), p.control});
    }
  }
}

} // namespace l3::reading
