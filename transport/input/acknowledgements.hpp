// SPDX-License-Identifier: Apache-2.0
// Which records of a connection may be acknowledged: a record is safe when its batch is, or, for
// one that lies in none, the batch before it.
#pragma once

#include <cstdint>
#include <deque>

namespace l3 {

class acknowledgements {
public:
  /// The record's sequence number and the batch it waits for; both rise.
  void add(std::uint64_t sequence, std::uint64_t batch_serial) {
    if (!waiting_.empty() && waiting_.back().batch_serial >= batch_serial) {
      waiting_.back().sequence = sequence;
    } else {
      waiting_.push_back({sequence, batch_serial});
    }
  }

  void add_as_safe_as_the_last(std::uint64_t sequence) {
    (waiting_.empty() ? safe_ : waiting_.back().sequence) = sequence;
  }

  /// Call when all batches up to this one are safe. Returns the last sequence number that is safe.
  std::uint64_t safe_up_to(std::uint64_t batch_serial) {
    while (!waiting_.empty() && waiting_.front().batch_serial <= batch_serial) {
      safe_ = waiting_.front().sequence;
      waiting_.pop_front();
    }
    return safe_;
  }

  [[nodiscard]] bool empty() const { return waiting_.empty(); }

private:
  struct entry {
    std::uint64_t sequence = 0;
    std::uint64_t batch_serial = 0;
  };
  std::deque<entry> waiting_; // one for each batch
  std::uint64_t safe_ = 0;
};

} // namespace l3
