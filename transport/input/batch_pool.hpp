// SPDX-License-Identifier: Apache-2.0
// Where receivers get the batches that they fill. They take one, fill it, and submit it; where its
// memory comes from, and what is computed from it, they do not know.
#pragma once

#include "transport/format/input_batch.hpp"

namespace l3 {

/// The frames, as the receivers see them. Thread-safe. At most one batch is taken and not submitted
/// at a time, but for a moment while the receivers move from one to the next; batches are submitted
/// in the order of their serial numbers.
class batch_pool {
public:
  virtual ~batch_pool() = default;
  /// An empty batch, or nullptr if every frame is busy. Never blocks.
  virtual input_batch* try_take() = 0;
  /// Hands the batch to the compute side. An empty batch is allowed: its serial number counts as
  /// done.
  virtual void submit(input_batch& batch) = 0;
  /// All that was submitted is done with: the next batch would be worked on at once.
  [[nodiscard]] virtual bool idle() const = 0;
};

} // namespace l3
