// SPDX-License-Identifier: Apache-2.0
// .l3batch files: a batch of events as the kernels got it, with everything that is needed to
// compute it once more elsewhere, and what came out (docs/formats.md, section 12). A daemon writes
// one when its device failed on the batch; `koto-l3 replay` runs it again. What is wrong with a
// file is an exception with a text that names it: whoever reads one is a person at a prompt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "transport/format/batch.hpp"

namespace l3 {

/// What became of an event, as it lies in the file.
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
  std::string lines;         ///< content of the selection's files; empty if built in, or none
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

/// How long its file will be.
[[nodiscard]] std::uint64_t file_bytes(const batch_file& batch);

/// Under NAME.new until it is whole and on disk; what cannot be written is taken away again. Throws
/// std::runtime_error.
void write_batch_file(const std::filesystem::path& name, const batch_file& batch);

/// Whether a file begins like one. Throws std::runtime_error if it cannot be read.
[[nodiscard]] bool is_batch_file(const std::filesystem::path& name);

/// Every checksum is right, and its tables are such that kernels may run on it (check_batch.hpp);
/// its results may say anything. Throws std::runtime_error.
[[nodiscard]] batch_file read_batch_file(const std::filesystem::path& name);

} // namespace l3
