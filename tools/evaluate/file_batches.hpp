// SPDX-License-Identifier: Apache-2.0
// Events of a .l2raw file as an engine's batches, without a network: a fragment that the event
// builder would refuse is carried byte for byte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "transport/file/l2raw.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/format/event_key.hpp"
#include "transport/format/input_batch.hpp"

namespace l3 {

class file_batches {
public:
  /// Throws std::runtime_error that names the file and its fault.
  explicit file_batches(const std::filesystem::path& file);

  [[nodiscard]] std::uint32_t run() const { return reader_.run(); }
  [[nodiscard]] const readout& crates() const { return reader_.crates(); }
  [[nodiscard]] std::uint64_t size() const { return reader_.size(); } ///< of the file, bytes
  [[nodiscard]] std::uint64_t position() const { return reader_.position(); }

  /// The capacity of a batch of this many events.
  [[nodiscard]] batch_capacity capacity(std::uint32_t events) const;

  /// Fills the batch with the next events, as many as it has room for; false if there are none.
  /// Throws like the constructor.
  bool fill(input_batch& batch);
  void rewind() { reader_.rewind(); }

private:
  void add(input_batch& batch, std::uint32_t spill);
  /// The time stamp of its first board that is not opaque.
  std::optional<std::uint32_t> add_fragment(input_batch& batch, event_key key,
                                            const crate_fragment& fragment, event_entry& event);

  std::filesystem::path file_;
  l2raw_reader reader_;
  event_view event_;
};

} // namespace l3
