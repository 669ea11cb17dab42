// SPDX-License-Identifier: Apache-2.0
// Decides which records of a connection may be acknowledged. A record is safe when its batch is
// safe, or for a record in no batch, when the batch before it is.
#pragma once

#include <cstdint>
#include <deque>

namespace l3 {

class acknowledgements {
public:
  /// The records of a connection up to one of them.
  struct record_count {
    std::uint64_t sequence = 0; ///< of the last one
    std::uint64_t known = 0;    ///< repeated events among them
  };

  /// Adds a record with its sequence number and the batch it waits for; both increase.
  void add(std::uint64_t sequence, std::uint64_t batch_serial, bool known = false) {
    if (known) ++known_;
    if (waiting_.empty() || waiting_.back().batch_serial < batch_serial)
      waiting_.push_back({{}, batch_serial});
    waiting_.back().upto = {sequence, known_};
  }

  void add_as_safe_as_the_last(std::uint64_t sequence) {
    (waiting_.empty() ? safe_ : waiting_.back().upto).sequence = sequence;
  }

  /// Call when all batches up to this one are safe. Returns the records that are safe.
  record_count safe_up_to(std::uint64_t batch_serial) {
    while (!waiting_.empty() && waiting_.front().batch_serial <= batch_serial) {
      safe_ = waiting_.front().upto;
      waiting_.pop_front();
    }
    return safe_;
  }

  /// The last result of safe_up_to(), and later records that are as safe.
  [[nodiscard]] record_count safe() const { return safe_; }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }

private:
  struct entry {
    record_count upto;
    std::uint64_t batch_serial = 0;
  };
  std::deque<entry> waiting_; // one per batch
  std::uint64_t known_ = 0;
  record_count safe_;
};

} // namespace l3
