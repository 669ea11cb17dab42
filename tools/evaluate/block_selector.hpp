// SPDX-License-Identifier: Apache-2.0
// Runs a selection on stored events: rebuilds their fragments, decides and packs them again.
// Settings and run, which determine the prescales, are given to the constructor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tools/evaluate/file_batches.hpp"
#include "tools/evaluate/selection_run.hpp"
#include "transport/store/event_view.hpp"

namespace l3 {

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

} // namespace l3
