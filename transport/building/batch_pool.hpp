// SPDX-License-Identifier: Apache-2.0
// The source of the batches that receivers fill and submit. Receivers know neither where a batch's
// memory comes from nor how it is processed.
#pragma once

#include "transport/format/input_batch.hpp"

namespace l3 {

/// The receivers' view of the frames. Thread-safe. Receivers hold at most two batches, one filling
/// and one waiting for its last events, besides those that a thread still writes. They submit
/// batches in the order of their serial numbers.
class batch_pool {
public:
  virtual ~batch_pool() = default;
  /// Returns an empty batch, or nullptr if every frame is busy. Never blocks.
  virtual input_batch* try_take() = 0;
  /// Hands the batch to the compute side. It may be empty: its serial number then counts as done.
  virtual void submit(input_batch& batch) = 0;
  /// Whether every submitted batch is done, so that the next one would be taken at once.
  [[nodiscard]] virtual bool idle() const = 0;
};

} // namespace l3
