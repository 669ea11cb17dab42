// SPDX-License-Identifier: Apache-2.0
// Saves columns to a file and loads them from it, on the host. A file is a header, the text of the
// schema, and the bytes of a collection as in memory, all little-endian. load_columns accepts a
// file only if it is complete, has the schema of the requested layout, and a valid checksum.
// Otherwise it throws std::runtime_error with the file and the fault. It checks the lengths in the
// header against the length of the file before it allocates memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>

#include <boost/crc.hpp>
#include <boost/pfr.hpp>

#include "gpu/columns/collection.hpp"
#include "gpu/columns/schema.hpp"

namespace l3 {

struct column_file_header {
  static constexpr std::array<char, 8> right_magic{'L', '3', 'C', 'O', 'L', 'U', 'M', 'N'};
  static constexpr std::uint32_t right_version = 1;

  std::array<char, 8> magic = right_magic;
  std::uint32_t version = right_version;
  std::uint32_t rows = 0;
  std::uint64_t schema_bytes = 0; ///< length of the schema's text, which follows the header
  std::uint64_t data_bytes = 0;   ///< length of the columns, which follow the schema
  std::uint32_t reserved = 0;
  std::uint32_t checksum = 0; ///< CRC-32C of the whole file, with this field 0
};
static_assert(sizeof(column_file_header) == 40);

namespace column_files {

[[nodiscard]] inline std::uint32_t checksum(column_file_header header, const std::string& schema,
                                            std::span<const std::byte> data) {
  header.checksum = 0;
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(&header, sizeof header);
  crc.process_bytes(schema.data(), schema.size());
  crc.process_bytes(data.data(), data.size());
  return crc.checksum();
}

[[noreturn]] inline void refuse(const std::filesystem::path& file, const std::string& why) {
  throw std::runtime_error(file.string() + ": " + why);
}

inline void read(std::ifstream& in, const std::filesystem::path& file, void* to, std::size_t n) {
  in.read(static_cast<char*>(to), static_cast<std::streamsize>(n));
  if (!in) refuse(file, "cannot be read");
}

/// Length of n rows in a file, as in a collection.
template <class Layout>
[[nodiscard]] std::uint64_t data_bytes(std::uint32_t n) {
  return round_up(Layout::bytes(n), region::alignment);
}

template <class E, range_checks Checks, class From>
void copy_column(const array_column<E, Checks>& to, const From& from) {
  if (to.size() != 0) std::memcpy(to.data(), from.data(), to.size() * sizeof(E));
}
template <class E, std::uint32_t R, std::uint32_t C, range_checks Checks, class From>
void copy_column(const matrix_column<E, R, C, Checks>& to, const From& from) {
  for (std::uint32_t k = 0; k < to.elements; ++k) copy_column(to.lane(k), from.lane(k));
}
template <class E, class From>
void copy_column(const scalar_column<E>& to, const From& from) {
  if (from.data() != nullptr) *to = *from;
}

} // namespace column_files

/// Copies a view into a new collection, wherever its columns are.
template <class Layout>
[[nodiscard]] host_columns<Layout> collect(const typename Layout::const_view& from) {
  host_columns<Layout> all(from.size());
  const typename Layout::view to = all.view();
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (column_files::copy_column(boost::pfr::get<I>(to.as_columns()),
                               boost::pfr::get<I>(from.as_columns())),
     ...);
  }
  (std::make_index_sequence<boost::pfr::tuple_size_v<typename Layout::declared>>{});
  return all;
}

/// Writes a view of host memory to the file and replaces its earlier content.
template <class Layout>
void save_columns(const std::filesystem::path& file, const typename Layout::const_view& columns) {
  const host_columns<Layout> all = collect<Layout>(columns);
  const std::string schema = schema_text<Layout>();
  column_file_header header;
  header.rows = all.size();
  header.schema_bytes = schema.size();
  header.data_bytes = all.bytes().size();
  header.checksum = column_files::checksum(header, schema, all.bytes());

  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  const auto write = [&](const void* from, std::size_t n) {
    out.write(static_cast<const char*>(from), static_cast<std::streamsize>(n));
  };
  write(&header, sizeof header);
  write(schema.data(), schema.size());
  write(all.bytes().data(), all.bytes().size());
  out.close();
  if (!out) column_files::refuse(file, "cannot be written");
}

template <class Layout>
[[nodiscard]] host_columns<Layout> load_columns(const std::filesystem::path& file) {
  using column_files::refuse;
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(file, "cannot be opened");
  std::error_code ignored;
  const std::uint64_t size = std::filesystem::file_size(file, ignored);
  column_file_header header;
  if (ignored || size < sizeof header) refuse(file, "too short to be a file of columns");
  column_files::read(in, file, &header, sizeof header);
  if (header.magic != column_file_header::right_magic) refuse(file, "not a file of columns");
  if (header.version != column_file_header::right_version) {
    refuse(file, "version " + std::to_string(header.version) + " of the format, not " +
                     std::to_string(column_file_header::right_version));
  }

  const std::uint64_t behind_header = size - sizeof header;
  if (header.schema_bytes > behind_header) {
    refuse(file, "truncated: it ends before its schema does");
  }
  const std::string expected = schema_text<Layout>();
  constexpr std::uint64_t longest_told = 4096; // limits the text: a file may claim any length
  std::string schema(std::min(header.schema_bytes, expected.size() + longest_told), '\0');
  column_files::read(in, file, schema.data(), schema.size());
  if (schema.size() != header.schema_bytes || schema != expected) {
    refuse(file, "has another schema:\n" + schema + "but this program reads\n" + expected);
  }

  const std::uint64_t behind_schema = behind_header - header.schema_bytes;
  const std::uint64_t needed = column_files::data_bytes<Layout>(header.rows);
  if (header.data_bytes != needed) {
    refuse(file, "says that its " + std::to_string(header.rows) + " rows take " +
                     std::to_string(header.data_bytes) + " bytes, but they take " +
                     std::to_string(needed));
  }
  if (behind_schema != needed) {
    refuse(file, (behind_schema < needed ? "truncated: " : "longer than it should be: ") +
                     std::to_string(behind_schema) + " bytes of columns where " +
                     std::to_string(needed) + " are due");
  }
  host_columns<Layout> all(header.rows);
  column_files::read(in, file, all.bytes().data(), all.bytes().size());
  if (column_files::checksum(header, schema, all.bytes()) != header.checksum) {
    refuse(file, "damaged: its checksum does not hold");
  }
  return all;
}

} // namespace l3
