// SPDX-License-Identifier: Apache-2.0
// Where receivers get the batches that they fill and submit. They know neither where a batch's
// memory comes from nor what is computed from it.
#pragma once

#include "transport/format/input_batch.hpp"

namespace l3 {

/// The frames, as the receivers see them. Thread-safe. Receivers hold two batches at most, one that
/// they fill and one whose last events they await, besides those into which a thread still writes.
/// They submit batches in the order of their serial numbers.
class batch_pool {
public:
  virtual ~batch_pool() = default;
  /// An empty batch, or nullptr if every frame is busy. Never blocks.
  virtual input_batch* try_take() = 0;
  /// Hands the batch to the compute side. It may be empty: its serial number then counts as done.
  virtual void submit(input_batch& batch) = 0;
  /// Every submitted batch is done with: the compute side would take the next one at once.
  [[nodiscard]] virtual bool idle() const = 0;
};

} // namespace l3
