// SPDX-License-Identifier: Apache-2.0
// The events of a .l2raw file as batches for an engine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/file/l2raw.hpp"
#include "transport/file/record_parser.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/format/event_key.hpp"
#include "transport/format/input_batch.hpp"
#include "transport/format/readout.hpp"

namespace l3 {

/// Puts events from a file or a store into an engine's batch, without a network. Fragments that the
/// event builder would refuse are stored raw.
class batch_filler {
public:
  explicit batch_filler(readout crates) : crates_(std::move(crates)) {}

  [[nodiscard]] const readout& crates() const { return crates_; }
  /// The capacity of a batch of this many events.
  [[nodiscard]] batch_capacity capacity(std::uint32_t events) const;

  /// Adds an event to a batch that has room for it. The fragments are sorted by crate place, as in
  /// the readout. Returns the entry in the batch, whose flags are unknown to a file and not set.
  event_entry& add(input_batch& batch, event_key key,
                   std::span<const crate_fragment> fragments) const;

private:
  /// Returns the time stamp of its first board that is not opaque.
  std::optional<std::uint32_t> add_fragment(input_batch& batch, event_key key,
                                            const crate_fragment& fragment) const;

  readout crates_;
};

class file_batches {
public:
  /// Throws std::runtime_error with the file and its fault.
  explicit file_batches(const std::filesystem::path& file);

  [[nodiscard]] std::uint32_t run() const { return reader_.run(); }
  [[nodiscard]] const readout& crates() const { return reader_.crates(); }
  [[nodiscard]] std::uint64_t size() const { return reader_.size(); } ///< bytes of the file
  [[nodiscard]] std::uint64_t position() const { return reader_.position(); }

  /// The capacity of a batch of this many events.
  [[nodiscard]] batch_capacity capacity(std::uint32_t events) const {
    return filler_.capacity(events);
  }

  /// Fills the batch with the next events, as many as fit; returns false if there are none. Throws
  /// like the constructor.
  bool fill(input_batch& batch);
  /// Time of an event of the last filled batch.
  [[nodiscard]] std::chrono::nanoseconds since_spill(std::size_t event) const {
    return since_spill_[event];
  }
  void rewind() { reader_.rewind(); }

private:
  std::filesystem::path file_;
  l2raw_reader reader_;
  batch_filler filler_;
  event_view event_;
  std::vector<std::chrono::nanoseconds> since_spill_; // by place in the batch
};

} // namespace l3
