// SPDX-License-Identifier: Apache-2.0
// A selection at work on stored events: it rebuilds their fragments, decides them and packs them
// again. The settings and the run, which enters the prescales, are those that it was made with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tools/evaluate/batch_filler.hpp"
#include "tools/evaluate/selection_run.hpp"
#include "transport/store/event_view.hpp"

namespace l3 {

class block_selector {
public:
  /// Throws command_error for a bad configuration, or without an engine.
  /// `codec` is that of the events that it packs.
  block_selector(const selection_options& how, const readout& crates, std::uint32_t run,
                 codec_id codec = codec_id::koto);
  /// `how` says where the kernels run. `selection` is of this readout and run.
  block_selector(const selection_options& how, loaded_selection selection, const readout& crates,
                 std::uint32_t run, codec_id codec = codec_id::koto);

  [[nodiscard]] std::uint32_t run() const { return run_; }
  [[nodiscard]] codec_id codec() const { return codec_; }
  [[nodiscard]] const loaded_selection& selection() const { return selection_; }
  [[nodiscard]] std::string_view executor() const { return kernels_->name(); }

  /// Throws command_error if the event does not fit the readout, or if not all its waveforms were
  /// kept; false: its data is damaged, and it is not added. Afterwards the batch may be full.
  [[nodiscard]] bool add(const packed_event_view& event);
  [[nodiscard]] bool is_full() const { return one_.input.used_events == one_.input.events.size(); }
  /// Decides the events that were added, and calls f for each, in their order.
  void decide(const std::function<void(decided_event)>& f);

private:
  batch_filler filler_;
  std::uint32_t run_;
  codec_id codec_;
  loaded_selection selection_;
  std::unique_ptr<engine> kernels_;
  frame& one_;
  std::vector<std::vector<std::byte>> fragments_; ///< of the event at hand
  std::vector<crate_fragment> views_;
};

} // namespace l3
