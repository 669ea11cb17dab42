// SPDX-License-Identifier: Apache-2.0
// A batch pool instead of the compute side: a few batches, each free again when it is submitted.
// Optionally it compares the built events with the sent ones.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>

#include "bench/building/traffic.hpp"
#include "transport/building/held_batches.hpp"

namespace l3::bench {

class reused_batches final : public batch_pool {
public:
  reused_batches(std::uint32_t batches, std::uint32_t events_in_each);

  /// Resets the counts. With `sent`, every submitted event is compared with the sent event of its
  /// number, in memory that had other contents before.
  void begin(const made_up_events* sent);

  input_batch* try_take() override;
  void submit(input_batch& batch) override;
  [[nodiscard]] bool idle() const override { return true; }

  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] bool all_as_sent() const { return as_sent_; }
  /// The memory of a batch.
  [[nodiscard]] std::span<std::byte> memory(std::size_t batch) const {
    return batches_[batch].input().bytes;
  }
  [[nodiscard]] std::size_t size() const { return batches_.size(); }
  /// The limits of each batch.
  [[nodiscard]] const batch_capacity& capacity() const { return capacity_; }

private:
  class one_batch : public held_batch {
  public:
    using held_batch::held_batch;
    [[nodiscard]] input_batch& input() { return batch_; }
    [[nodiscard]] const input_batch& input() const { return batch_; }
    bool taken = false;
  };

  std::mutex mutex_;
  std::deque<one_batch> batches_;
  batch_capacity capacity_;
  std::uint64_t serial_ = 0;
  std::uint64_t events_ = 0;
  const made_up_events* sent_ = nullptr;
  bool as_sent_ = true;
};

} // namespace l3::bench
