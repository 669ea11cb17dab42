// SPDX-License-Identifier: Apache-2.0
// Runs a selection over a file of level-2 data: the options for the selection and its executor, and
// the loop over the file. `select` and `evaluate` share them.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "gpu/settings.hpp"
#include "selection/engine/engine.hpp"
#include "selection/trigger/load_selection.hpp"
#include "tools/command_line.hpp"
#include "tools/evaluate/file_batches.hpp"
#include "tools/interrupt.hpp"
#include "transport/store/event_view.hpp"

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

/// Runs a selection on stored events: rebuilds their fragments, decides and packs them again.
/// Settings and run, which determine the prescales, are given to the constructor.
class block_selector {
public:
  /// Throws command_error for a bad configuration, or without an engine. `codec`: of the packed
  /// events.
  block_selector(const selection_options& how, const readout& crates, std::uint32_t run,
                 codec_id codec = codec_id::koto);
  /// `how` selects the executor. `selection` must match this readout and run.
  block_selector(const selection_options& how, loaded_selection selection, const readout& crates,
                 std::uint32_t run, codec_id codec = codec_id::koto);

  [[nodiscard]] std::uint32_t run() const { return run_; }
  [[nodiscard]] codec_id codec() const { return codec_; }
  [[nodiscard]] const loaded_selection& selection() const { return selection_; }
  [[nodiscard]] std::string_view executor() const { return kernels_->name(); }

  /// Throws command_error if the event does not fit the readout, or if some waveforms were not
  /// kept. Returns false for damaged data, which are not added. The batch may be full afterwards.
  [[nodiscard]] bool add(const packed_event_view& event);
  [[nodiscard]] bool is_full() const { return one_.input.used_events == one_.input.events.size(); }
  /// Decides the added events, and calls f for each in order.
  void decide(const std::function<void(decided_event)>& f);

private:
  batch_filler filler_;
  std::uint32_t run_;
  codec_id codec_;
  loaded_selection selection_;
  std::unique_ptr<engine> kernels_;
  frame& one_;
  std::vector<std::vector<std::byte>> fragments_; ///< of the current event
  std::vector<crate_fragment> views_;
};

/// The totals of a selection's decisions: how often each line fired, kept and refused, with
/// reasons.
struct line_total {
  std::uint64_t fired = 0;
  std::uint64_t kept = 0;
  std::array<std::uint64_t, 256> reasons{}; ///< events by the reason why the line refused them
};

struct decision_totals {
  explicit decision_totals(std::size_t line_count) : lines(line_count) {}

  void add(const event_summary& s);

  std::uint64_t events = 0;
  std::uint64_t kept = 0;
  std::uint64_t not_judged = 0;  ///< overfull, kept or not
  std::vector<line_total> lines; ///< in the order of their bits
};

/// Events by the reason why a line did not keep them, the most frequent first. `events` is indexed
/// by line_reason.
[[nodiscard]] std::vector<std::pair<std::uint64_t, std::string>>
reasons_by_frequency(std::span<const std::uint64_t> events);
/// The same as an object, in the order of the reasons.
[[nodiscard]] boost::json::object reasons_to_json(std::span<const std::uint64_t> events);
/// An object for each line: `line`, `id`, `prescale`, `fired`, `kept`, `refused` by reason.
[[nodiscard]] boost::json::array lines_to_json(const decision_totals& t,
                                               const loaded_selection& selection);
/// Prints a table of the lines and the number of kept events to standard output.
void print_totals(const decision_totals& t, const loaded_selection& selection);

} // namespace l3
