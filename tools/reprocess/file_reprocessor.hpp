// SPDX-License-Identifier: Apache-2.0
// Decides and packs the events of one store file again. Each block of the input gives one block of
// the output, with the kept events in their order, the same run, node, sequence number and time,
// and a session that follows from the input's session and from what decides. So the output is a
// function of the input and of what decides alone. Events of which not all waveforms were kept
// cannot be decided again: they are left out and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/evaluate/block_selector.hpp"
#include "tools/evaluate/decision_totals.hpp"
#include "tools/verify/payload_tally.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

/// How events are decided and packed again.
struct reprocessing {
  selection_options how;
  std::optional<codec_id> codec; ///< of the output's events; nothing: as in the input
  std::string software;          ///< what the output says made it
};

/// What became of the events of one file: events = kept + rejected + limited + unreadable.
struct reprocess_account {
  std::uint64_t events = 0;
  std::uint64_t kept = 0;
  std::uint64_t rejected = 0;
  payload_tally limited;                      ///< left out: not all their waveforms were kept
  std::map<std::uint32_t, std::string> names; ///< of the lines that limited them
  std::uint64_t unreadable = 0;
  std::uint64_t damaged_blocks = 0;
  std::uint64_t damaged_places = 0; ///< where no block begins although one should
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  boost::json::array lines; ///< by line: fired, kept, refused by reason
};

class file_reprocessor {
public:
  /// Takes the readout from the file's settings. Throws command_error.
  file_reprocessor(std::filesystem::path in, reprocessing by, stop_question stop);
  ~file_reprocessor();
  file_reprocessor(const file_reprocessor&) = delete;
  file_reprocessor& operator=(const file_reprocessor&) = delete;

  /// Whether `out` is whole, and was made of this file by the same settings, codec and software.
  [[nodiscard]] bool has_made(const std::filesystem::path& out) const;
  /// Writes `out` and its sidecar. They get their names only if `accept` takes the account. Throws
  /// command_error; scan_stopped when told.
  reprocess_account run(const std::filesystem::path& out,
                        const std::function<bool(const reprocess_account&)>& accept);

private:
  class output_file;

  [[nodiscard]] std::uint64_t session_made_of(std::uint64_t session) const;
  [[nodiscard]] std::vector<std::byte> settings() const;
  block_selector& selector_of(std::uint32_t run, codec_id codec);
  void take_block(const stored_block& block, std::span<const std::byte> payload, output_file& out);
  void take_settings(const store_file& in, const stored_block& block);
  void decide(block_selector& with, std::vector<std::byte>& block);

  std::filesystem::path in_;
  reprocessing by_;
  stop_question stop_;
  readout crates_;
  loaded_selection selection_;               ///< of no run
  std::unique_ptr<block_selector> selector_; ///< of the run of the block at hand
  decision_totals totals_;
  reprocess_account account_;
  std::vector<std::uint64_t> sessions_; ///< of the output
};

} // namespace l3
