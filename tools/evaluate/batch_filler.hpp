// SPDX-License-Identifier: Apache-2.0
// Puts events from a file or a store into an engine's batch, without a network. Fragments that the
// event builder would refuse are stored raw.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "transport/file/record_parser.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/format/event_key.hpp"
#include "transport/format/input_batch.hpp"
#include "transport/format/readout.hpp"

namespace l3 {

class batch_filler {
public:
  explicit batch_filler(readout crates) : crates_(std::move(crates)) {}

  [[nodiscard]] const readout& crates() const { return crates_; }
  /// The capacity of a batch of this many events.
  [[nodiscard]] batch_capacity capacity(std::uint32_t events) const;

  /// Adds an event to a batch that has room for it. The fragments are sorted by crate place, as in
  /// the readout. Returns the entry in the batch.
  event_entry& add(input_batch& batch, event_key key,
                   std::span<const crate_fragment> fragments) const;

private:
  /// Returns the time stamp of its first board that is not opaque.
  std::optional<std::uint32_t> add_fragment(input_batch& batch, event_key key,
                                            const crate_fragment& fragment,
                                            event_entry& event) const;

  readout crates_;
};

} // namespace l3
