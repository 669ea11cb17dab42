// SPDX-License-Identifier: Apache-2.0
// The columns of every table: schemas as those of kernels (gpu/columns/soa.hpp), with a name, a
// unit and a sentence for each field. What l3_read_fields tells, and what is written to a caller's
// arrays, come from these structs alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "gpu/columns/column_types.hpp"
#include "gpu/columns/fields.hpp"
#include "reading/include/koto_l3/read.h"

namespace l3::reading {

/// A row of a schema as a struct of values.
template <class T>
using value = T;

// The fields of EVENTS: three schemas, one after the other; the third are the quantities.

template <template <class> class column>
struct key_fields {
  column<std::uint64_t> session;
  column<std::uint32_t> run;
  column<std::uint32_t> node;
  column<std::uint32_t> settings;
  column<std::uint32_t> spill;
  column<std::uint32_t> number;
  column<std::uint8_t> state;
  column<std::uint16_t> flags;
  column<std::uint8_t> kept_waveforms;
  column<std::uint32_t> reference_time;
  column<std::uint32_t> bytes;
};

template <template <class> class column>
struct decision_fields {
  column<std::uint8_t> selected;
  column<std::uint32_t> settings_hash;
  column<std::uint32_t> fired;
  column<std::uint32_t> kept_by;
  column<std::uint32_t> vetoes;
  column<std::uint32_t> unknown;
  column<std::uint16_t> trigger;
  column<std::uint8_t> status;
  column<std::uint16_t> photons_found;
  column<std::uint32_t> asked;
  column<std::uint32_t> control;
};

template <template <class> class column>
struct photon_fields {
  column<std::int32_t> energy;
  column<std::int32_t> time;
  column<std::int16_t> x;
  column<std::int16_t> y;
  column<std::uint16_t> crystals;
};

template <template <class> class column>
struct hit_fields {
  column<std::int32_t> energy;
  column<std::int32_t> time;
  column<std::uint16_t> module;
  column<std::uint8_t> counter;
};

template <template <class> class column>
struct line_decision_fields {
  column<std::uint32_t> id;
  column<std::uint32_t> prescale;
  column<std::uint8_t> reason;
  column<std::uint8_t> payload;
  column<std::uint32_t> control;
};

template <template <class> class column>
struct session_fields {
  column<std::uint64_t> session;
  column<std::uint32_t> run;
  column<std::uint32_t> node;
  column<std::uint32_t> settings;
  column<std::uint64_t> blocks;
  column<std::uint64_t> events;
  column<std::uint64_t> left_out;
  column<std::uint64_t> bytes;
  column<std::uint64_t> begin;
  column<std::uint64_t> end;
};

template <template <class> class column>
struct settings_fields {
  column<std::uint32_t> hash;
  column<std::uint8_t> record;
};

template <template <class> class column>
struct line_fields {
  column<std::uint32_t> settings;
  column<std::uint8_t> bit;
  column<std::uint32_t> id;
  column<std::uint32_t> prescale;
  column<std::uint8_t> payload;
  column<std::uint32_t> control;
  column<std::uint8_t> priority;
};

template <template <class> class column>
struct counter_fields {
  column<std::uint32_t> settings;
  column<std::uint8_t> bit;
  column<std::int32_t> threshold;
  column<std::int32_t> from;
  column<std::int32_t> to;
  column<std::uint16_t> modules;
};

/// The address and the part of the detector; then the calibration.
template <template <class> class column>
struct channel_fields {
  column<std::uint32_t> settings;
  column<std::uint8_t> crate;
  column<std::uint8_t> slot;
  column<std::uint8_t> channel;
  column<std::uint16_t> length;
  column<std::uint8_t> kind;
  column<std::uint8_t> counter;
  column<std::uint16_t> module;
  column<std::uint8_t> end;
  column<double> x;
  column<double> y;
  column<double> size;
};

template <template <class> class column>
struct calibration_fields {
  column<std::uint8_t> dead;
  column<std::int32_t> gain;
  column<std::int32_t> time;
  column<std::uint16_t> least_height;
  column<double> pedestal;
  column<double> noise;
};

template <template <class> class column>
struct damage_fields {
  column<std::uint64_t> offset;
  column<std::uint64_t> bytes;
  column<std::uint64_t> events;
};

/// The first six are those of the slot `pulses` (selection/sequence/slots.hpp).
template <template <class> class column>
struct pulse_fields {
  column<std::uint16_t> pedestal;
  column<std::uint16_t> peak;
  column<std::uint8_t> peak_sample;
  column<std::uint8_t> flags;
  column<std::uint16_t> edge;
  column<std::int32_t> sum;
  column<std::int32_t> energy;
  column<std::int32_t> time;
};

/// The descriptions of a table's fields, in the order of its columns.
[[nodiscard]] std::span<const l3_read_field> fields_of(l3_read_table table);

/// Writes a row of a schema to the columns that a caller wants, which begin at `columns`.
template <template <template <class> class> class Fields>
void write_row(void* const* columns, std::size_t row, const Fields<value>& values) {
  const auto write = [&](auto v) {
    if (*columns != nullptr) static_cast<decltype(v)*>(*columns)[row] = v;
    ++columns;
  };
  with_fields<field_count<Fields>>(values, [&](auto... v) { (write(v), ...); });
}

/// Whether a caller wants one of these columns.
[[nodiscard]] inline bool wants_any(std::span<void* const> columns) {
  for (const void* const c : columns)
    if (c != nullptr) return true;
  return false;
}

} // namespace l3::reading
