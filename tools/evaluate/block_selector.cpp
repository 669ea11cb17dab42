// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/block_selector.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gpu/codec/decode_all.hpp"
#include "tools/command_error.hpp"
#include "tools/verify/payload_tally.hpp"

namespace l3 {

block_selector::block_selector(const selection_options& how, const readout& crates,
                               std::uint32_t run, codec_id codec)
    : block_selector(how, load_selection(how, crates, run), crates, run, codec) {}

block_selector::block_selector(const selection_options& how, loaded_selection selection,
                               const readout& crates, std::uint32_t run, codec_id codec)
    : filler_(crates), run_(run), codec_(codec), selection_(std::move(selection)),
      kernels_(make_selecting_engine(how, filler_.capacity(how.batch), selection_, codec)),
      one_(*kernels_->frames()[0]) {
  one_.input.clear();
}

/// A stored event does not have the readout, only whether a crate or a board was missing.
bool block_selector::add(const packed_event_view& event) {
  if (!event.is_whole())
    throw command_error(fmt::format("event {} of spill {} {}, so it cannot be decided again",
                                    event.key().number, event.key().spill, why_not_whole(event)),
                        exit_bad_configuration);
  const std::uint32_t n = event.fragments();
  if (fragments_.size() < n) fragments_.resize(n);
  views_.clear();
  std::uint32_t raw = 0;
  const auto wrong = [&](const std::string& why) {
    return command_error(
        fmt::format("event {} of spill {} has a different readout than its settings: {}",
                    event.key().number, event.key().spill, why),
        exit_bad_configuration);
  };
  for (std::uint32_t i = 0; i < n; ++i) {
    const packed_fragment f = event.fragment(i);
    if (f.crate >= filler_.crates().size())
      throw wrong(fmt::format("it has a fragment for crate place {}, but the readout has {} crates",
                              f.crate, filler_.crates().size()));
    raw += f.form == fragment_form::raw ? 1U : 0U;
    if (!rebuild_fragment(event, i, fragments_[i], strong::decode_all)) return false;
    views_.push_back({f.crate, fragments_[i]});
  }
  input_batch& batch = one_.input;
  event_entry& entry = filler_.add(batch, event.key(), views_);
  const auto added = batch.fragments.subspan(entry.first_fragment, entry.fragments);
  if (std::ranges::count(added, 1, &fragment_entry::raw) != raw)
    throw wrong("its crates have different boards than the readout");
  entry.flags = event.header().flags & std::uint32_t{event_incomplete};
  entry.reference_time = event.header().reference_time;
  return true;
}

void block_selector::decide(const std::function<void(decided_event)>& f) {
  if (one_.input.used_events == 0) return;
  decide_batch(*kernels_, one_, f);
  one_.input.clear();
}

} // namespace l3
