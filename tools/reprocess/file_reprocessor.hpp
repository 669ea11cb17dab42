// SPDX-License-Identifier: Apache-2.0
// Decides and packs the events of one store file again. Each input block gives one output block
// with the kept events in order, the same run, node, sequence number and time, and a session
// derived from the input's session and the selection. So the output depends only on the input and
// the selection. Events with missing waveforms cannot be decided again: they are left out and
// counted.
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

#include "tools/evaluate/selection_run.hpp"
#include "tools/verify/payload_tally.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

/// The selection, codec and software of the new file.
struct reprocessing {
  selection_options how;
  std::optional<codec_id> codec; ///< of the output's events; nothing: the input's codec
  std::string software;          ///< the output's creator
};

/// The outcome of a file's events: events = kept + rejected + limited + unreadable.
struct reprocess_account {
  std::uint64_t events = 0;
  std::uint64_t kept = 0;
  std::uint64_t rejected = 0;
  payload_tally limited;                      ///< left out because waveforms are missing
  std::map<std::uint32_t, std::string> names; ///< of the lines that limited them
  std::uint64_t unreadable = 0;
  std::uint64_t damaged_blocks = 0;
  std::uint64_t damaged_places = 0; ///< places without a block where one should begin
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  boost::json::array lines; ///< by line: fired, kept, refused by reason
};

class file_reprocessor {
public:
  /// Uses the readout of the file's settings. Throws command_error.
  file_reprocessor(std::filesystem::path in, reprocessing by, stop_question stop);
  ~file_reprocessor();
  file_reprocessor(const file_reprocessor&) = delete;
  file_reprocessor& operator=(const file_reprocessor&) = delete;

  /// Whether `out` is complete, and was made from this file with the same settings, codec and
  /// software.
  [[nodiscard]] bool has_made(const std::filesystem::path& out) const;
  /// Writes `out` and its sidecar. They get their names only if `accept` returns true. Throws
  /// command_error; scan_stopped on request.
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
  loaded_selection selection_;               ///< independent of the run
  std::unique_ptr<block_selector> selector_; ///< for the current block's run
  decision_totals totals_;
  reprocess_account account_;
  std::vector<std::uint64_t> sessions_; ///< of the output
};

} // namespace l3
