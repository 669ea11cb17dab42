// SPDX-License-Identifier: Apache-2.0
// Decides and packs the events of a store's file again. Each block of the input gives one block of
// the output, with the kept events in their order, the same run, node, sequence number and time,
// and a session that follows from the input's session and from what decides. So the output is a
// function of the input file and the plan alone, whoever computes it, and a block of it can be led
// back to the one that it was made of. Events of which not all waveforms were kept cannot be
// decided again: they are left out and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/evaluate/block_selector.hpp"
#include "tools/evaluate/decision_totals.hpp"
#include "tools/evaluate/selection_run.hpp"
#include "tools/reprocess/reprocess_plan.hpp"
#include "tools/reprocess/task_record.hpp"
#include "tools/verify/payload_tally.hpp"
#include "transport/store/event_view.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

/// The session of the blocks that are made of a session's blocks by this plan; never 0.
[[nodiscard]] std::uint64_t session_made_of(std::uint64_t session, const reprocess_plan& plan);

/// A file's length and the CRC-32C of its bytes. Throws std::system_error.
[[nodiscard]] recorded_file look_through(const std::filesystem::path& file,
                                         const stop_question& stop);

class file_reprocessor {
public:
  /// `how`: where the kernels run. The plan must outlive it. For one thread.
  file_reprocessor(const reprocess_folder& folder, const reprocess_plan& plan,
                   const selection_options& how, std::string software, stop_question stop);
  ~file_reprocessor();
  file_reprocessor(const file_reprocessor&) = delete;
  file_reprocessor& operator=(const file_reprocessor&) = delete;

  /// Writes the output, its sidecar and the record. Throws command_error; scan_stopped when told.
  task_record run(const reprocess_task& task);

private:
  class output_file;

  block_selector& selector_of(std::uint32_t run, codec_id codec);
  void take_block(const stored_block& block, std::span<const std::byte> payload, task_record& to,
                  output_file& out);
  void read_settings(const std::filesystem::path& path, const store_file& in,
                     const stored_block& block);
  void decide(block_selector& with, std::vector<std::byte>& block);
  [[nodiscard]] std::vector<std::byte> settings_of(const block_selector& with) const;

  const reprocess_folder& folder_;
  const reprocess_plan& plan_;
  selection_options how_;
  std::string software_;
  stop_question stop_;
  std::unique_ptr<block_selector> selector_; ///< of the run of the block at hand
  std::optional<decision_totals> totals_;
  payload_tally limited_;                      ///< events of the file that were left out
  std::map<std::uint32_t, std::string> lines_; ///< the file's settings name them, by id
};

} // namespace l3
