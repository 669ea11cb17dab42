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
  /// A thread is known from the first round that it begins.
  void begin(const landing_strip& thread, time_point now) { of(thread).began = now; }
  /// The round ends, and the next one begins.
  void end(const landing_strip& thread, time_point now) {
    round& r = of(thread);
    r.finished = r.began;
    r.began = now;
    read_up_to_ = std::ranges::min(rounds_, {}, &round::finished).finished;
  }

  /// Datagrams that had arrived by then have been read.
  [[nodiscard]] time_point read_up_to() const { return read_up_to_; }

private:
  struct round {
    const landing_strip* thread = nullptr;
    time_point began{};
    time_point finished{}; // when the one before it began
  };

  round& of(const landing_strip& thread) {
    const auto at = std::ranges::find(rounds_, &thread, &round::thread);
    return at != rounds_.end() ? *at : rounds_.emplace_back(round{&thread});
  }

  std::vector<round> rounds_; // one for each thread
  time_point read_up_to_{};
};

} // namespace l3
