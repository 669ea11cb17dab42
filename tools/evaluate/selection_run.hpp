// SPDX-License-Identifier: Apache-2.0
// Runs a selection over a file of level-2 data: the options for the selection and its executor, and
// the loop over the file. `select` and `evaluate` share them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/settings.hpp"
#include "selection/engine/engine.hpp"
#include "selection/trigger/load_selection.hpp"
#include "tools/command_line.hpp"
#include "tools/evaluate/file_batches.hpp"
#include "tools/interrupt.hpp"

namespace l3 {

struct selection_options {
  std::string in;
  selection_files files{built_in, built_in, ""};
  compute_settings compute;
  std::uint32_t batch = 16;
};

/// --backend; `o` must live as long as the command.
void add_backend_option(command_line command, compute_settings& o);

/// --detector, --calibration, --backend, --threads and --batch; `o` must live as long as the
/// command. Each command adds its own selection option, because some accept several.
void add_selecting_options(command_line command, selection_options& o);
/// Adds the data option and these.
void add_selection_options(command_line command, selection_options& o);

/// --record of `select` and `verify`, which compare with a daemon's store.
option add_record_flag(command_line command, selection_files& files);

/// Loads the options' files for events of this run, which determines the prescales. Throws
/// command_error for a bad configuration.
[[nodiscard]] loaded_selection load_selection(const selection_options& o, const readout& crates,
                                              std::optional<std::uint32_t> run);

/// Loads the settings recorded in a stream.
[[nodiscard]] loaded_selection load_recorded(const recorded_settings& recorded,
                                             const std::string& name, std::uint32_t run);

/// A decided event; valid while its batch is.
struct decided_event {
  const event_entry& event;
  const event_result& result;
  const event_summary& summary;
  std::span<const std::byte> packed;      ///< empty if the event is rejected
  std::uint64_t bytes_in;                 ///< of its fragments
  std::chrono::nanoseconds since_spill{}; ///< from its record in the file
};

/// The stored summary of a kept event.
[[nodiscard]] std::vector<std::byte> summary_of(const decided_event& e);

/// Calls f for every event of the file in order. Throws command_error.
void for_each_decided(file_batches& in, engine& compute,
                      const std::function<void(decided_event)>& f, const char* label,
                      interrupt& signals);

/// Creates the engine with one frame of this capacity. Throws command_error if there is none.
[[nodiscard]] std::unique_ptr<engine> make_selecting_engine(const selection_options& o,
                                                            const batch_capacity& capacity,
                                                            const loaded_selection& selection,
                                                            codec_id codec = codec_id::koto);
/// Decides the events of a filled batch and packs the kept ones; calls f for each in order. Throws
/// command_error.
void decide_batch(engine& compute, frame& one, const std::function<void(decided_event)>& f);

} // namespace l3
