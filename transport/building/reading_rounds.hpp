// SPDX-License-Identifier: Apache-2.0
// How far the receive threads have read. Each thread reads its ports in turn, round after round. A
// datagram that lay in a socket when a round began has been read when it ends (behind a long queue,
// it lies as deep as those sent with it to the other ports). So every datagram that had arrived
// when the last finished rounds of all threads began has been read. A thread that has nothing to
// read makes no rounds, and then only the time limit ends the wait. Guarded by the event builder's
// lock.
#pragma once

#include <algorithm>
#include <vector>

#include "transport/building/landing_strip.hpp"

namespace l3 {

class reading_rounds {
public:
  /// What the thread has read has been taken. A thread is known from the first time on.
  void tell(const landing_strip& thread) {
    const auto at = std::ranges::find(threads_, &thread, &read_by::thread);
    read_by& r = at != threads_.end() ? *at : threads_.emplace_back(read_by{&thread});
    if (r.up_to == thread.read_up_to() && at != threads_.end()) return;
    r.up_to = thread.read_up_to();
    read_up_to_ = std::ranges::min(threads_, {}, &read_by::up_to).up_to;
  }

  /// Datagrams that had arrived by then have been read.
  [[nodiscard]] time_point read_up_to() const { return read_up_to_; }

private:
  struct read_by {
    const landing_strip* thread = nullptr;
    time_point up_to{};
  };

  std::vector<read_by> threads_;
  time_point read_up_to_{};
};

} // namespace l3
