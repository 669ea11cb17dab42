// SPDX-License-Identifier: Apache-2.0
// Random faults at a random stream of datagrams, lost, repeated, reordered, late or damaged: both
// conservation sums hold, no event comes out twice, and without damage every event has the bytes
// that were sent.
#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <rapidcheck/gtest.h>

#include "tests/transport/building/rig.hpp"
#include "transport/building/event_builder.hpp"
#include "transport/format/block.hpp"

namespace l3::test {
namespace {

struct scenario {
  rig_options options;
  std::uint32_t seed = 0;
  std::uint32_t first_spill = 0;
  std::uint32_t spills = 1;
  std::uint32_t events = 1; // in a spill
  unsigned lost = 0;        // per cent of the datagrams, as the following
  unsigned repeated = 0;
  unsigned late = 0; // arrive much later, up to a spill
  unsigned damaged = 0;
  unsigned window = 1; // datagrams change places within it
  unsigned pauses = 0;
  unsigned busy = 0;  // no frame is free for a while
  unsigned gap = 3;   // ms from some spills to the next
  bool apart = false; // spills follow each other as those of the accelerator do
};

scenario any_scenario() {
  using rc::gen::inRange;
  scenario s;
  s.options.chunk_bytes = *rc::gen::element(544U, 1400U, 2072U, 4152U, 8000U, 34216U);
  s.options.batch_events = *inRange(1U, 6U);
  s.options.batches = *inRange<std::size_t>(1, 4);
  s.options.parked = *inRange(0U, 6U);
  s.options.max_events = 64;
  s.options.ring = *inRange(1U, 20U);
  s.options.incomplete = *rc::gen::element(incomplete_events::drop, incomplete_events::forward);
  s.seed = *rc::gen::arbitrary<std::uint32_t>();
  s.first_spill = *rc::gen::element(0U, 7U, 510U, 511U);
  s.spills = *inRange(1U, 4U);
  s.events = *inRange(1U, 30U);
  s.lost = *rc::gen::element(0U, 0U, 1U, 10U);
  s.repeated = *rc::gen::element(0U, 1U, 20U);
  s.late = *rc::gen::element(0U, 0U, 2U);
  s.damaged = *rc::gen::element(0U, 0U, 3U);
  s.window = *rc::gen::element(1U, 3U, 30U, 200U);
  s.pauses = *rc::gen::element(0U, 2U, 20U);
  s.busy = *rc::gen::element(0U, 0U, 10U);
  return s;
}

class storm {
public:
  explicit storm(const scenario& s)
      : scenario_(s), random_(s.seed), r_(s.options),
        second_(r_.builder, s.options.ring, r_.input) {}

  rig& run() {
    for (std::uint32_t s = 0; s < scenario_.spills; ++s) {
      send_spill((scenario_.first_spill + s) % 512);
      r_.pass(std::chrono::milliseconds(scenario_.apart || chance(50) ? 2500 : scenario_.gap));
    }
    send_all(late_);
    r_.pool.stop(false);
    r_.drain();
    return r_;
  }

private:
  bool chance(unsigned per_cent) { return random_() % 100 < per_cent; }

  void send_spill(std::uint32_t spill) {
    std::vector<wire_datagram> all;
    for (const auto& d : r_.whole_spill(spill, scenario_.events)) add(all, d);
    for (std::size_t at = 0; at < all.size(); at += scenario_.window) {
      const auto end = std::min(at + scenario_.window, all.size());
      std::shuffle(all.begin() + static_cast<std::ptrdiff_t>(at),
                   all.begin() + static_cast<std::ptrdiff_t>(end), random_);
    }
    send_all(all);
  }

  void add(std::vector<wire_datagram>& to, const wire_datagram& d) {
    if (chance(scenario_.lost)) return;
    auto sent = d;
    if (chance(scenario_.damaged)) damage(sent);
    if (chance(scenario_.late)) return late_.push_back(sent);
    to.push_back(sent);
    if (chance(scenario_.repeated)) to.push_back(sent);
  }

  void damage(wire_datagram& d) {
    const std::uint32_t flip = 1U << random_() % 32;
    switch (random_() % 5) {
    case 0: d.fragment_id ^= flip; break;
    case 1: d.chunk ^= flip; break;
    case 2: d.discriminator ^= flip; break;
    case 3: d.payload.resize(random_() % (scenario_.options.chunk_bytes + 1)); break;
    default:
      if (!d.payload.empty()) d.payload[random_() % d.payload.size()] ^= std::byte{0x10};
    }
  }

  void send_all(const std::vector<wire_datagram>& all) {
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t n = std::min<std::size_t>(1 + random_() % 40, all.size() - at);
      const std::vector<wire_datagram> some(all.begin() + static_cast<std::ptrdiff_t>(at),
                                            all.begin() + static_cast<std::ptrdiff_t>(at + n));
      r_.send(some, chance(30) ? second_ : r_.ring);
      at += n;
      if (chance(scenario_.busy)) r_.pool.stop(chance(50));
      if (chance(scenario_.pauses)) r_.pass(std::chrono::milliseconds(random_() % 8));
    }
  }

  scenario scenario_;
  std::mt19937 random_;
  rig r_;
  landing_ring second_;
  std::vector<wire_datagram> late_;
};

/// A sender without order: events of any number, whole or not, spills forward and back, ends of
/// spill, silence; and a builder with the fewest places.
class wanderer {
public:
  wanderer(const rig_options& o, std::uint32_t seed) : random_(seed), r_(o), spill_(below(512)) {}

  rig& run() {
    constexpr int steps = 150;
    for (int s = 0; s < steps; ++s) step();
    r_.pool.hold(false);
    r_.drain();
    return r_;
  }

private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  void step() {
    const std::uint32_t what = below(20);
    if (what < 12) return send_event();
    if (what < 14) return change_spill();
    if (what < 16) return r_.pass(std::chrono::milliseconds(below(20)));
    if (what < 18) return r_.pool.hold(below(2) != 0);
    if (what < 19) return r_.send(r_.ends_of_spill(spill_, 1 + below(most_events)));
    r_.pass(std::chrono::milliseconds(below(2500)));
  }

  void send_event() {
    auto all = r_.event({spill_, 1 + below(most_events)});
    if (below(2) != 0) all.erase(all.begin() + below(static_cast<std::uint32_t>(all.size())));
    if (below(3) == 0) std::shuffle(all.begin(), all.end(), random_);
    r_.send(all);
  }

  /// One back, the same, or one on; the last spill's chunks are told from the next one's by time.
  void change_spill() {
    spill_ = (spill_ + below(3) + 511) % 512;
    r_.pass(std::chrono::milliseconds(150));
  }

  static constexpr std::uint32_t most_events = 20;
  std::mt19937 random_;
  rig r_;
  std::uint32_t spill_;
};

rig_options tiny() {
  using rc::gen::inRange;
  rig_options o;
  o.crates = {{{4, 1, board_kind::sampling_125_mhz}}};
  if (*rc::gen::arbitrary<bool>()) o.crates.crates.push_back({5, 1, board_kind::sampling_125_mhz});
  o.chunk_bytes = 1024 + 4 * *inRange(0U, 300U);
  o.batch_events = *inRange(1U, 4U);
  o.batches = *inRange<std::size_t>(1, 5);
  o.parked = *inRange(0U, 4U);
  o.ring = *inRange(1U, 5U);
  o.max_events = 32;
  o.incomplete = *rc::gen::element(incomplete_events::drop, incomplete_events::forward);
  return o;
}

void expect_conserved(const rig& r) {
  RC_ASSERT(r.counters.fragments_seen.get() ==
            r.counters.fragments_admitted + r.counters.fragments_incomplete +
                r.counters.fragments_malformed.sum() + r.counters.fragments_late +
                r.counters.fragments_duplicate);
  RC_ASSERT(r.counters.events_admitted.get() ==
            r.pool.received.size() + r.outcomes.events_shed.sum());
  RC_ASSERT(r.pool.twice == 0U);
  RC_ASSERT(r.builder.open_events() == 0U);
  RC_ASSERT(r.builder.open_fragments() == 0U);
}

RC_GTEST_PROP(storms, lose_nothing_uncounted, ()) {
  storm s(any_scenario());
  expect_conserved(s.run());
}

RC_GTEST_PROP(storms, lose_nothing_uncounted_when_every_place_is_the_last, ()) {
  constexpr int walks = 20; // a walk is short
  const auto options = tiny();
  for (int i = 0; i < walks; ++i) {
    wanderer w(options, *rc::gen::arbitrary<std::uint32_t>());
    const rig& r = w.run();
    expect_conserved(r);
    r.expect_bytes();
  }
}

RC_GTEST_PROP(storms, without_damage_events_come_out_as_sent, ()) {
  auto what = any_scenario();
  what.damaged = 0;
  // A lost chunk that does not name its spill can be told from the same chunk of the next spill by
  // time alone.
  what.apart = true;
  storm s(what);
  const rig& r = s.run();
  expect_conserved(r);
  r.expect_bytes();
}

RC_GTEST_PROP(storms, of_order_alone_lose_no_event, ()) {
  auto what = any_scenario();
  what.damaged = what.lost = what.late = what.busy = 0;
  what.window = std::min(what.window, 30U);
  // A repeated chunk that does not name its spill can be told from the same chunk of the next spill
  // by time alone.
  what.gap = 100;
  what.options.batches = 24; // a ring may see as many batches of one event come and go
  what.options.parked = 40;
  storm s(what);
  const rig& r = s.run();
  expect_conserved(r);
  RC_LOG() << r.counted();
  RC_ASSERT(r.pool.received.size() == std::size_t{what.spills} * what.events);
}

} // namespace
} // namespace l3::test
