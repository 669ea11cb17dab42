// SPDX-License-Identifier: Apache-2.0
// The steps of the machine of the chain (chain_state.hpp): successors() gives every step that any
// part may take next. Timers may always have run out, a disk may always be slow, memory may be full
// whenever an event comes: what a part may do, it may also not do yet.
#pragma once

#include "tests/transport/outbox/chain_state.hpp"
#include "tests/transport/outbox/state_search.hpp"

namespace l3::test::chain {

class machine {
public:
  using visit = visit_step<state>;

  explicit machine(const rules& r) : rules_(r) {}

  void successors(const state& s, const visit& to) const {
    if (s.up != 0) {
      input(s, to);
      memory_and_disk(s, to);
      backlog(s, to);
      ends(s, to);
    } else {
      start(s, to);
    }
    receiver(s, to);
    receiver_trouble(s, to);
    liar(s, to);
  }

private:
  template <class Change>
  void step(const state& s, const visit& to, const char* name, const Change& change) const {
    state after = s;
    change(after);
    tidy(after);
    to(name, after);
  }
  void tidy(state& n) const;

  // The sender, and the daemon's way in (chain_daemon.cpp).
  void input(const state& s, const visit& to) const;
  void connect_again(state& n) const;
  void take_repeat(state& n) const;
  [[nodiscard]] number safe_up_to(const state& s) const;
  [[nodiscard]] bool is_secured(const state& s, number event) const;
  void memory_and_disk(const state& s, const visit& to) const;

  // The forwarder of what is on disk (the same).
  void backlog(const state& s, const visit& to) const;
  void next_lane(const state& s, const visit& to) const;

  void liar(const state& s, const visit& to) const;

  // How a life ends, and the next begins (the same).
  void ends(const state& s, const visit& to) const;
  template <class Change>
  void each_death(const state& s, const visit& to, const char* name, const Change& also) const;
  void start(const state& s, const visit& to) const;

  // The receiver (chain_receiver.cpp).
  void receiver(const state& s, const visit& to) const;
  void send_from_disk(const state& s, const visit& to, number index, number block) const;
  void take(state& n, number index, number block) const;
  void take_back(state& n, number index, number last) const;
  void receiver_trouble(const state& s, const visit& to) const;
  void survivors(const state& s, number index, const visit& to) const;
  void begin_receiver(state& n) const;

  rules rules_;
};

/// The last block that the forwarder of what is on disk has to send.
[[nodiscard]] inline std::uint8_t last_on_disk(const state& s) {
  return s.sends_own_lane() ? s.written : highest(s.lanes[s.backlog - 1U].disk);
}

} // namespace l3::test::chain
