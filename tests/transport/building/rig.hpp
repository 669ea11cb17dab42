// SPDX-License-Identifier: Apache-2.0
// An event builder with a fake pool, a clock that stands still until told, and a ring that is fed
// by hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "tests/transport/building/fake_pool.hpp"
#include "tests/transport/building/level2.hpp"
#include "transport/building/event_builder.hpp"

namespace l3::test {

struct rig_options {
  readout crates = small_readout();
  std::uint32_t chunk_bytes = 1400;
  std::uint32_t batch_events = 4;
  std::size_t batches = 3;
  std::uint32_t parked = 4;
  std::uint32_t max_events = 20000;
  std::uint32_t ring = 16;
  incomplete_events incomplete = incomplete_events::drop;
  std::chrono::nanoseconds batch_age = std::chrono::milliseconds(5);
  std::chrono::nanoseconds event_time_limit = std::chrono::milliseconds(1500);
  std::chrono::nanoseconds spill_time_limit = std::chrono::seconds(1);
};

class rig {
public:
  explicit rig(const rig_options& o = {})
      : options(o), settings(settings_of(o)),
        pool(capacity_of(o.crates, o.batch_events, o.chunk_bytes), o.batches),
        builder(settings, capacity_of(o.crates, o.batch_events, o.chunk_bytes), o.batch_age, pool,
                counters, outcomes,
                [this](const spill_summary& s) {
                  summaries.push_back({s.spill, s.admitted, s.incomplete, s.expected});
                }),
        ring(builder, o.ring, input) {}

  void send(const std::vector<wire_datagram>& datagrams) { send(datagrams, ring); }

  void send(const std::vector<wire_datagram>& datagrams, landing_ring& into) {
    builder.enter(into, now);
    for (std::size_t at = 0; at < datagrams.size();) at += land(datagrams, at, into);
    builder.leave(into, now);
  }
  void send(const wire_datagram& d) { send(std::vector<wire_datagram>{d}); }

  /// Lands as many as there are free entries for, and has them taken; returns how many.
  std::size_t land(const std::vector<wire_datagram>& datagrams, std::size_t first,
                   landing_ring& into) {
    EXPECT_NE(into.free(), 0U);
    const std::size_t n = put(builder, datagrams, first, datagrams.size(), into);
    builder.take(into, now);
    return n;
  }
  /// Lands at most so many, without having them taken.
  static std::size_t put(const event_builder& builder, const std::vector<wire_datagram>& datagrams,
                         std::size_t first, std::size_t most, landing_ring& into) {
    std::vector<datagram> landed;
    while (landed.size() < std::min(into.free(), most) &&
           first + landed.size() < datagrams.size()) {
      const auto& d = datagrams[first + landed.size()];
      std::byte* const memory = into.free_entry(landed.size()).slot.memory;
      if (!d.payload.empty()) std::memcpy(memory, d.payload.data(), d.payload.size());
      landed.push_back({{d.fragment_id, d.chunk, d.discriminator},
                        static_cast<std::uint32_t>(d.payload.size())});
    }
    builder.land(into, landed);
    return landed.size();
  }

  [[nodiscard]] std::vector<wire_datagram> event(event_key key) const {
    return datagrams_of(key, options.crates, options.chunk_bytes);
  }
  [[nodiscard]] std::vector<wire_datagram> events(std::uint32_t spill, std::uint32_t first,
                                                  std::uint32_t last) const {
    std::vector<wire_datagram> all;
    for (std::uint32_t n = first; n <= last; ++n) all = all + event({spill, n});
    return all;
  }
  [[nodiscard]] std::vector<wire_datagram> whole_spill(std::uint32_t spill,
                                                       std::uint32_t count) const {
    return events(spill, 1, count) + ends_of_spill(spill, count);
  }
  [[nodiscard]] std::vector<wire_datagram> fragment(event_key key, std::uint32_t place) const {
    return datagrams_of(make_fragment(key, place, options.crates.crates[place]), key, place,
                        options.crates, options.chunk_bytes);
  }
  [[nodiscard]] std::vector<wire_datagram> ends_of_spill(std::uint32_t spill,
                                                         std::uint32_t count) const {
    std::vector<wire_datagram> all;
    for (const auto& c : options.crates.crates) all.push_back(end_of_spill(spill, c.number, count));
    return all;
  }

  /// Writes the body of an event record in one go, and has it taken.
  event_builder::stream_result send(stream_landing& stream, std::uint32_t spill,
                                    const bytes& body) {
    EXPECT_TRUE(builder.reserve(stream, body.size(), now));
    std::memcpy(builder.enter(stream), body.data(), body.size());
    builder.leave(stream, body.size());
    return builder.take_event(stream, spill, now);
  }

  void pass(std::chrono::nanoseconds t) {
    now += t;
    builder.tick(now);
  }
  void drain() { builder.drain(now); }
  /// Nothing is open any more, all is counted, and what came out is whole: so many events.
  void end(std::optional<std::size_t> events = {}) {
    drain();
    expect_balance();
    expect_bytes();
    EXPECT_EQ(builder.open_events(), 0U);
    EXPECT_EQ(builder.open_fragments(), 0U);
    EXPECT_EQ(pool.received.size(), events.value_or(pool.received.size())) << counted();
  }
  /// Lets a closed batch wait for its open events in vain.
  void close_batch() { pass(std::chrono::milliseconds(3)); }

  /// What was counted, for the message of a failed test.
  [[nodiscard]] std::string counted() const {
    std::string text =
        "events admitted " + std::to_string(counters.events_admitted) + ", incomplete " +
        std::to_string(counters.events_incomplete) + ", parked " + std::to_string(counters.parked) +
        "; fragments late " + std::to_string(counters.fragments_late) + ", duplicate " +
        std::to_string(counters.fragments_duplicate) + ", incomplete " +
        std::to_string(counters.fragments_incomplete) + ", malformed " +
        std::to_string(counters.fragments_malformed.sum()) + "; chunks late " +
        std::to_string(counters.late_chunks) + ", duplicate " +
        std::to_string(counters.duplicate_chunks) + "; spills " + std::to_string(counters.spills);
    for (const auto& s : summaries)
      text += "; spill " + std::to_string(s.spill) + ": " + std::to_string(s.admitted);
    return text;
  }

  /// Checks the second conservation sum, of each crate, and the part of the first that the input
  /// knows.
  void expect_balance() const {
    for (std::size_t c = 0; c < options.crates.size(); ++c)
      EXPECT_EQ(counters.fragments_seen[c],
                counters.fragments_admitted[c] + counters.fragments_incomplete[c] +
                    counters.fragments_malformed.of(c).sum() + counters.fragments_late[c] +
                    counters.fragments_duplicate[c])
          << "place " << c;
    EXPECT_EQ(counters.events_admitted.get(), pool.received.size() + outcomes.events_shed.sum());
    EXPECT_EQ(pool.twice, 0U);
  }

  /// Every event that came out whole has the bytes that were sent.
  void expect_bytes() const {
    for (const auto& [key, event] : pool.received) {
      for (const auto& [place, f] : event.fragments) {
        if (f.raw) continue;
        EXPECT_EQ(f.content, make_fragment(key, place, options.crates.crates[place])) << key.number;
      }
      EXPECT_EQ(event.flags == 0 ? event.reference_time : 1000 * key.number, 1000 * key.number);
    }
  }

  static building_settings settings_of(const rig_options& o) {
    building_settings s;
    s.crates = o.crates;
    s.chunk_bytes = o.chunk_bytes;
    s.max_events_per_spill = o.max_events;
    s.parked_events = o.parked;
    s.incomplete = o.incomplete;
    s.event_time_limit = o.event_time_limit;
    s.spill_time_limit = o.spill_time_limit;
    return s;
  }

  rig_options options;
  building_settings settings;
  fake_pool pool;
  building_counters counters;
  outcome_counters outcomes;
  input_counters input;
  std::vector<spill_summary> summaries;
  time_point now{std::chrono::seconds(1)};
  event_builder builder;
  landing_ring ring;
};

} // namespace l3::test
