// SPDX-License-Identifier: Apache-2.0
// .l3batch files: a batch of events as the kernels got it, all that is needed to compute it again
// elsewhere, and the results (docs/formats.md, section 12). A daemon writes one when its device
// failed on the batch; `koto-l3 replay` runs it again. A faulty file is an exception whose text
// names the file and the fault, because a person at a prompt reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "transport/format/batch.hpp"

namespace l3 {

/// The result of an event, as it lies in the file.
struct stored_result {
  std::uint64_t offset = 0; ///< of the packed event in the output
  std::uint32_t bytes = 0;
  std::uint32_t original_bytes = 0;
  std::uint32_t flags = 0;
  std::uint16_t boards_damaged = 0;
  std::uint16_t boards_opaque = 0;
  std::uint8_t kept = 0;
  std::uint8_t no_room = 0;
  std::uint8_t reserved[6] = {};
};
static_assert(sizeof(stored_result) == 32);

struct batch_file {
  std::string about;         ///< JSON: who, when, why
  std::string configuration; ///< as --print-config shows it
  std::string lines;         ///< content of the selection's files; empty without them
  std::string detector;
  std::string calibration;
  std::vector<event_entry> events;
  std::vector<fragment_entry> fragments;
  std::vector<piece_offset> pieces;
  std::vector<board_entry> boards;
  std::vector<std::byte> input;
  std::vector<stored_result> results; ///< none if nothing was computed
  std::vector<std::byte> output;
};

/// The length of the batch's file.
[[nodiscard]] std::uint64_t file_bytes(const batch_file& batch);

/// Writes NAME.new and renames it when it is whole and on disk; removes it after an error. Throws
/// std::runtime_error.
void write_batch_file(const std::filesystem::path& name, const batch_file& batch);

/// Whether a file has the magic number. Throws std::runtime_error if it cannot be read.
[[nodiscard]] bool is_batch_file(const std::filesystem::path& name);

/// Whether kernels may trust the tables of a batch that came from a file: its entries point inside
/// it and hold no more than admission lets pass, and its fragments together are no longer than the
/// input, so that an engine's output has room for every event. Only the number of results is
/// checked: the device's results may be wrong, and that is why the batch was kept. Returns the
/// first fault found; empty if there is none.
[[nodiscard]] std::string wrong_with(const batch_file& b);

/// Reads a file, checks every checksum, and that kernels may run on its tables (wrong_with());
/// its results may hold any values. Throws std::runtime_error.
[[nodiscard]] batch_file read_batch_file(const std::filesystem::path& name);

} // namespace l3
