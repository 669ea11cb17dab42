// SPDX-License-Identifier: Apache-2.0
#include "transport/outbox/outbox.hpp"

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>

#include "transport/format/block_entries.hpp"
#include "transport/format/endian.hpp"
#include "transport/store/block.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

constexpr block_identity identity{0x1234, 7, 3};
constexpr time_point start{};

outbox_settings small_settings() {
  outbox_settings s;
  s.memory = kibibytes(64);
  s.block = kibibytes(8);
  s.block_age = 5ms;
  return s;
}

/// An "event" is any bytes that start with their length; the outbox looks no further.
std::vector<std::byte> event_of(std::size_t bytes, std::uint32_t content) {
  std::vector<std::byte> e(bytes, static_cast<std::byte>(content));
  store(e.data(), static_cast<std::uint32_t>(bytes));
  store(e.data() + 4, content);
  return e;
}

/// Checks a block and returns the contents of its events.
std::vector<std::uint32_t> contents_of(std::span<const std::byte> bytes, std::uint64_t sequence) {
  block_header header;
  EXPECT_EQ(check_block(bytes, header), block_fault::none);
  EXPECT_EQ(header.sequence, sequence);
  EXPECT_EQ(header.session, identity.session);
  EXPECT_EQ(header.run, identity.run);
  EXPECT_EQ(header.node, identity.node);
  std::vector<std::uint32_t> contents;
  event_walk walk(bytes.subspan(sizeof(block_header), events_bytes(header)), header);
  while (const auto e = walk.next()) {
    contents.push_back(load<std::uint32_t>(e->data() + 4));
    EXPECT_EQ(e->back(), static_cast<std::byte>(contents.back()));
  }
  EXPECT_TRUE(walk.complete());
  EXPECT_EQ(header.events, contents.size());
  return contents;
}

bool is_awake(const outbox& o) {
  pollfd p{o.bell().descriptor(), POLLIN, 0};
  return ::poll(&p, 1, 0) == 1;
}

class an_outbox : public testing::Test {
protected:
  safe_batches safety;
  outbox o{small_settings(), identity, safety};
};

TEST(outbox, puts_the_settings_behind_the_events_of_its_first_block_and_of_one_now_and_then) {
  safe_batches safety;
  auto s = small_settings();
  s.memory = mebibytes(4);
  s.block = kibibytes(64);
  const std::vector<std::byte> settings(4096, std::byte{0x5a});
  outbox o(s, identity, safety, settings);
  std::uint64_t since = 0;
  std::uint64_t with = 0;
  for (std::uint32_t n = 1; n <= 700; ++n) {
    ASSERT_TRUE(o.append(event_of(60'000, n), {}));
    o.seal();
    const auto block = o.hold(n);
    ASSERT_TRUE(block);
    EXPECT_EQ(contents_of(block.bytes, n), std::vector{n});
    block_header header;
    ASSERT_EQ(check_block(block.bytes, header), block_fault::none);
    EXPECT_EQ(header.settings_bytes != 0, n == 1 || since >= (std::uint64_t{16} << 20)) << n;
    if (header.settings_bytes != 0) {
      EXPECT_TRUE(std::ranges::equal(block.bytes.last(settings.size()), settings));
      since = 0;
      ++with;
    } else {
      since += block.bytes.size();
    }
    o.stored_up_to(n, {});
    EXPECT_EQ(o.bytes_waiting(), 0U);
  }
  EXPECT_EQ(with, 3U);
}

/// Entries that stand once, of so many bytes.
std::vector<std::byte> once_of(std::size_t bytes, char content) {
  std::vector<std::byte> entries;
  add_entry(entries, histograms_key, std::string(bytes, content));
  return entries;
}

/// What stands behind the events of a block.
std::vector<std::byte> entries_of(std::span<const std::byte> block) {
  block_header header;
  EXPECT_EQ(check_block(block, header), block_fault::none);
  const auto entries = block.last(header.settings_bytes);
  return {entries.begin(), entries.end()};
}

TEST(outbox, puts_what_stands_once_behind_the_settings_of_one_block_each) {
  safe_batches safety;
  std::vector<std::byte> settings;
  add_entry(settings, 1, "what decides");
  outbox o(small_settings(), identity, safety, settings);
  ASSERT_TRUE(o.append(event_of(1000, 1), {}));
  ASSERT_TRUE(o.add_once(once_of(100, 'a'))); // too late for the open block
  ASSERT_TRUE(o.add_once(once_of(200, 'b')));
  for (std::uint32_t n = 2; n <= 4; ++n) {
    o.seal();
    ASSERT_TRUE(o.append(event_of(1000, n), {}));
  }
  o.seal();
  const auto with = [&](const std::vector<std::byte>& once) {
    std::vector<std::byte> all = settings;
    all.insert(all.end(), once.begin(), once.end());
    return all;
  };
  const std::vector<std::byte> expected[] = {
      settings, with(once_of(100, 'a')), with(once_of(200, 'b')), {}};
  for (std::uint32_t n = 1; n <= 4; ++n) {
    const auto block = o.hold(n);
    ASSERT_TRUE(block);
    EXPECT_EQ(contents_of(block.bytes, n), std::vector{n});
    EXPECT_EQ(entries_of(block.bytes), expected[n - 1]) << n;
  }
  EXPECT_EQ(settings_length(expected[1]), settings.size());
  EXPECT_EQ(o.once_waiting(), 0U);
}

TEST_F(an_outbox, seals_what_stands_once_without_events_at_the_end) {
  EXPECT_TRUE(o.seal_once());
  EXPECT_EQ(o.last_sealed(), 0U);
  ASSERT_TRUE(o.append(event_of(1000, 1), {}));
  ASSERT_TRUE(o.add_once(once_of(100, 'a')));
  ASSERT_TRUE(o.add_once(once_of(200, 'b')));
  EXPECT_TRUE(o.seal_once());
  ASSERT_EQ(o.last_sealed(), 3U);
  EXPECT_EQ(contents_of(o.hold(1).bytes, 1), std::vector{1U});
  EXPECT_TRUE(contents_of(o.hold(2).bytes, 2).empty());
  EXPECT_EQ(entries_of(o.hold(2).bytes), once_of(100, 'a'));
  EXPECT_EQ(entries_of(o.hold(3).bytes), once_of(200, 'b'));
  o.stored_up_to(3, {});
  EXPECT_EQ(o.bytes_waiting(), 0U);
  EXPECT_EQ(o.events_waiting(), 0U);
  ASSERT_TRUE(o.append(event_of(1000, 2), {}));
  o.seal();
  EXPECT_EQ(contents_of(o.hold(4).bytes, 4), std::vector{2U});
}

TEST_F(an_outbox, an_event_does_not_wait_for_what_stands_once) {
  ASSERT_TRUE(o.append(event_of(30'000, 1), {}));
  o.seal();
  ASSERT_TRUE(o.add_once(once_of(30'000, 'a')));
  ASSERT_TRUE(o.append(event_of(20'000, 2), {}));
  o.seal();
  EXPECT_TRUE(entries_of(o.hold(2).bytes).empty());
  EXPECT_FALSE(o.seal_once()) << "there is no room";
  EXPECT_EQ(o.once_waiting(), 1U);
  o.stored_up_to(2, {});
  EXPECT_TRUE(o.seal_once());
  EXPECT_EQ(entries_of(o.hold(3).bytes), once_of(30'000, 'a'));
}

TEST(outbox, refuses_more_that_stands_once_than_may_wait) {
  safe_batches safety;
  auto s = small_settings();
  EXPECT_FALSE(outbox(s, identity, safety).add_once(once_of(s.memory.bytes, 'a')));
  s.memory = mebibytes(8);
  const std::vector<std::byte> settings(4096, std::byte{0});
  outbox o(s, identity, safety, settings);
  EXPECT_FALSE(o.add_once(once_of(max_settings_bytes - 4096, 'a'))) << "no block may hold it";
  EXPECT_TRUE(o.add_once(once_of(max_settings_bytes - 8192, 'a')));
  EXPECT_TRUE(o.add_once(once_of(max_settings_bytes - 8192, 'b')));
  EXPECT_FALSE(o.add_once(once_of(max_settings_bytes - 8192, 'c')));
  EXPECT_EQ(o.once_waiting(), 2U);
}

TEST_F(an_outbox, seals_by_size_and_wakes_the_forwarder) {
  ASSERT_TRUE(o.append(event_of(5000, 1), {}));
  EXPECT_EQ(o.last_sealed(), 0U);
  EXPECT_FALSE(is_awake(o));
  ASSERT_TRUE(o.append(event_of(5000, 2), {}));
  EXPECT_EQ(o.last_sealed(), 1U);
  EXPECT_TRUE(is_awake(o));
  o.bell().clear();
  EXPECT_FALSE(is_awake(o));
  const auto block = o.hold(1);
  ASSERT_TRUE(block);
  EXPECT_EQ(contents_of(block.bytes, 1), (std::vector<std::uint32_t>{1, 2}));
}

TEST_F(an_outbox, seals_by_the_age_of_the_oldest_event) {
  o.seal_if_due(start + 1s);
  EXPECT_EQ(o.last_sealed(), 0U) << "nothing to seal";
  EXPECT_EQ(o.due_at(), never);
  ASSERT_TRUE(o.append(event_of(1000, 1), start + 2ms));
  ASSERT_TRUE(o.append(event_of(1000, 2), start + 1ms));
  EXPECT_EQ(o.due_at(), start + 6ms);
  o.seal_if_due(start + 6ms - 1ns);
  EXPECT_EQ(o.last_sealed(), 0U);
  o.seal_if_due(start + 6ms);
  EXPECT_EQ(o.last_sealed(), 1U);
  EXPECT_EQ(o.due_at(), never);
}

TEST_F(an_outbox, refuses_an_event_that_can_never_fit) {
  EXPECT_FALSE(o.append(event_of(70'000, 1), {}));
  EXPECT_FALSE(o.wait_for_room(1h, 70'000)) << "and does not wait for it";
  EXPECT_TRUE(o.append(event_of(65'000, 1), {})) << "one block larger than usual";
}

TEST_F(an_outbox, counts_from_completion_to_stored_and_ignores_what_cannot_be) {
  ASSERT_TRUE(o.append(event_of(1000, 1), start + 1ms));
  o.stored_up_to(1, {}); // not sealed yet
  EXPECT_EQ(o.last_stored(), 0U);
  o.seal();
  o.stored_up_to(7, {});
  EXPECT_EQ(o.last_stored(), 0U);
  EXPECT_EQ(o.events_waiting(), 1U);
  EXPECT_EQ(o.bytes_waiting(), 1000U);
  EXPECT_EQ(o.blocks_waiting(), 1U);
  for (int twice = 0; twice < 2; ++twice) o.stored_up_to(1, start + 11ms);
  EXPECT_EQ(o.events_stored(), 1U);
  EXPECT_EQ(o.events_waiting(), 0U);
  EXPECT_EQ(o.bytes_waiting(), 0U);
  EXPECT_EQ(o.latency().count(), 1U);
  EXPECT_EQ(o.latency().sum(), 10ms);
}

/// Tiny events in one block, or blocks of one small event.
TEST(outbox, refuses_more_than_its_tables_hold) {
  for (const bool one_a_block : {false, true}) {
    safe_batches safety;
    outbox o(small_settings(), identity, safety);
    std::uint32_t taken = 0;
    while (taken < 100'000 && o.append(event_of(one_a_block ? 32 : 8, 1), {})) {
      ++taken;
      if (one_a_block) o.seal();
    }
    EXPECT_EQ(taken, one_a_block ? 64U : 1024U);
    EXPECT_EQ(o.last_sealed(), one_a_block ? 64U : 1U) << "what filled it can leave";
    o.stored_up_to(1, {});
    EXPECT_TRUE(o.append(event_of(8, 1), {}));
  }
}

TEST_F(an_outbox, wakes_whoever_waits_for_room) {
  while (o.append(event_of(5000, 1), {})) {
  }
  std::jthread forwarder([&] { o.stored_up_to(o.last_sealed(), {}); });
  EXPECT_TRUE(o.wait_for_room(1min, 5000));
}

/// Against the definition, in random order.
TEST(safe_batches, agree_with_what_they_are_defined_as) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    safe_batches s;
    struct block {
      safe_batches::ticket ticket;
      std::uint64_t batch;
      bool secured;
    };
    std::vector<block> blocks;
    std::uint64_t done_before_all = 0, serial = 0;
    for (int step = 0; step < 60; ++step) {
      const auto open = [](const block& b) { return !b.secured; };
      switch (random() % 3) {
      case 0: {
        const bool ends = random() % 2 == 0;
        if (ends) ++serial;
        blocks.push_back({s.sealed(ends ? serial : 0), ends ? serial : 0, false});
        break;
      }
      case 1:
        ++serial;
        s.batch_done(serial);
        if (std::none_of(blocks.begin(), blocks.end(), open)) {
          blocks.clear();
          done_before_all = serial;
        } else {
          blocks.back().batch = serial;
        }
        break;
      default:
        if (!blocks.empty()) {
          block& b = blocks[random() % blocks.size()];
          b.secured = true;
          s.secured(b.ticket);
        }
      }
      std::uint64_t expected = done_before_all;
      for (const block& b : blocks) {
        if (!b.secured) break;
        if (b.batch != 0) expected = b.batch;
      }
      ASSERT_EQ(s.up_to(), expected);
    }
  }
}

TEST_F(an_outbox, makes_a_batch_safe_when_its_last_event_is_stored) {
  o.batch_done(1); // all of it dropped, nothing before it under way
  EXPECT_EQ(safety.up_to(), 1U);
  ASSERT_TRUE(o.append(event_of(5000, 1), {}));
  o.batch_done(2);
  o.batch_done(3);                              // dropped, but batch 2 is not safe yet
  ASSERT_TRUE(o.append(event_of(5000, 2), {})); // seals block 1 with events of batches 2 and 4
  ASSERT_TRUE(o.append(event_of(1000, 3), {}));
  o.batch_done(4); // its last event is in block 2
  o.seal();
  o.batch_done(5); // dropped; behind block 2
  EXPECT_EQ(safety.up_to(), 1U);
  o.stored_up_to(1, {});
  EXPECT_EQ(safety.up_to(), 3U);
  o.stored_up_to(2, {});
  EXPECT_EQ(safety.up_to(), 5U);
  o.batch_done(6);
  EXPECT_EQ(safety.up_to(), 6U);
}

/// Random lengths, a random number of blocks under way, holds released late and in any order:
/// whether it is stored or not, nothing that is held changes, and there is room again without it.
TEST_F(an_outbox, keeps_every_byte_over_many_laps) {
  std::mt19937 random(5);
  struct reading {
    held_block block;
    std::uint64_t number;
    std::vector<std::uint32_t> contents;
  };
  std::deque<reading> held;
  const auto let_go = [&](std::size_t most) {
    while (held.size() > most) {
      const auto one = held.begin() + static_cast<std::ptrdiff_t>(random() % held.size());
      ASSERT_EQ(contents_of(one->block.bytes, one->number), one->contents);
      held.erase(one);
    }
  };
  std::uint32_t appended = 0;
  std::uint32_t seen = 0;
  std::uint64_t next_block = 1;
  while (seen < 5000) {
    const auto length = 32 + 8 * (random() % (random() % 50 == 0 ? 5000 : 400));
    const bool taken = o.append(event_of(length, appended), {});
    if (taken) ++appended;
    EXPECT_LE(o.bytes_waiting(), o.capacity());
    if (random() % 20 == 0) o.seal();
    while (next_block <= o.last_sealed() && random() % 3 != 0) {
      const auto block = o.hold(next_block);
      ASSERT_TRUE(block);
      const auto contents = contents_of(block.bytes, next_block);
      for (const auto content : contents) ASSERT_EQ(content, seen++);
      held.push_back({block, next_block, contents});
      if (random() % 4 == 0) held.push_back(held.back()); // a block that is sent twice
      ++next_block;
    }
    let_go(taken ? 3 : random() % 2);
    if (next_block > 1) o.stored_up_to(next_block - 1, {});
    if (o.events_waiting() == 0 && held.empty()) {
      EXPECT_TRUE(o.wait_for_room(0ms, 40'000)) << "all of the ring is free";
    }
  }
  EXPECT_EQ(o.events_stored() + o.events_waiting(), appended);
}

} // namespace
} // namespace l3
