// SPDX-License-Identifier: Apache-2.0
// .l3batch files: a batch of events as the kernels got it, everything needed to compute it again
// elsewhere, and the results (docs/formats.md, section 12). A daemon writes one when its device
// failed on the batch; `koto-l3 rerun` runs it again. Faults throw an exception whose text names
// the file and the fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "transport/format/batch.hpp"

namespace l3 {

/// The result of an event, as stored in the file.
struct stored_result {
  std::uint64_t offset = 0; ///< of the packed event in the output
  std::uint32_t bytes = 0;
  std::uint32_t original_bytes = 0;
  std::uint32_t flags = 0;
  std::uint16_t boards_damaged = 0;
  std::uint16_t boards_opaque = 0;
  std::uint8_t kept = 0;
  std::uint8_t reserved[7] = {};
};
static_assert(sizeof(stored_result) == 32);

struct batch_file {
  std::string about;         ///< JSON: daemon, time, reason
  std::string configuration; ///< as --print-config shows it
  std::string lines;         ///< contents of the selection's files; empty without a selection
  std::string detector;
  std::string calibration;
  std::vector<event_entry> events;
  std::vector<fragment_entry> fragments;
  std::vector<piece_offset> pieces;
  std::vector<board_entry> boards;
  std::vector<std::byte> input;
  std::vector<stored_result> results; ///< empty if no results were computed
  std::vector<std::byte> output;
};

/// The length of the batch's file.
[[nodiscard]] std::uint64_t file_bytes(const batch_file& batch);

/// Writes NAME.new, syncs it and renames it; removes it after an error. Throws std::runtime_error.
void write_batch_file(const std::filesystem::path& name, const batch_file& batch);

/// Whether a file has the magic number. Throws std::runtime_error if it cannot be read.
[[nodiscard]] bool is_batch_file(const std::filesystem::path& name);

/// Whether kernels may use the tables of a batch from a file: its entries point inside it and keep
/// admission's limits, and its fragments together are no longer than the input, so that an engine's
/// output has room for every event. Only the number of the results is checked: they may be wrong,
/// which is why the batch was kept. Returns the first fault; empty if there is none.
[[nodiscard]] std::string wrong_with(const batch_file& b);

/// Reads a file, and checks every checksum and its tables (wrong_with()); its results may have any
/// values. Throws std::runtime_error.
[[nodiscard]] batch_file read_batch_file(const std::filesystem::path& name);

} // namespace l3
