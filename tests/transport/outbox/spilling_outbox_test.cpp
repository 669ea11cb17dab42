// SPDX-License-Identifier: Apache-2.0
// The outbox with the disk behind it, and what comes back from there; the test plays the drain
// thread and both forwarders.
#include "transport/outbox/spilling_outbox.hpp"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/transport/outbox/failing_disk.hpp"
#include "tests/transport/outbox/link_ends.hpp"
#include "tests/transport/store/packed_events.hpp"
#include "transport/format/endian.hpp"
#include "transport/outbox/spool_backlog.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr std::size_t event_bytes = 32 << 10;
const outbox_settings small_memory{mebibytes(1), {128 << 10}, 1ms, codec_id::strong};

/// A packed event that is nothing but its head and a number.
bytes event_of(std::uint32_t number) {
  bytes b(event_bytes);
  packed_event head;
  head.bytes = event_bytes;
  head.number = number;
  store(b.data(), head);
  return b;
}

void add_events_of(std::span<const std::byte> block, std::multiset<std::uint32_t>& to) {
  block_header header;
  ASSERT_EQ(check_block(block, header), block_fault::none);
  EXPECT_EQ(header.codec, small_memory.codec) << "on the way to disk, too";
  event_walk walk(block.subspan(sizeof header), header);
  while (const auto e = walk.next()) to.insert(load<packed_event>(e->data()).number);
}

/// Takes all that a source has, as a forwarder would.
void take_all(block_source& from, std::multiset<std::uint32_t>& to) {
  do {
    for (auto next = from.lane().stored + 1; next <= from.lane().sealed; ++next) {
      const auto block = from.hold(next);
      ASSERT_TRUE(block);
      add_events_of(block.bytes, to);
      from.stored_up_to(next, {});
    }
  } while (from.next_lane());
}

std::multiset<std::uint32_t> numbers(std::uint32_t first, std::uint32_t last) {
  std::multiset<std::uint32_t> all;
  for (auto n = first; n <= last; ++n) all.insert(n);
  return all;
}

/// A daemon's way out, with the spool in a folder that outlives it.
struct way_out {
  explicit way_out(const std::filesystem::path& folder, spool_use use = spool_use::overflow,
                   byte_size size = mebibytes(64), std::uint64_t session = 1)
      : disk({folder.string(), use, size, {0}, mebibytes(4), false}),
        memory(small_memory, {session, 7, 3}, safety), backlog(disk, {session + 1, 7, 3}),
        out(small_memory, use, memory, disk, backlog, safety, event_bytes,
            [this](std::string_view text) {
              const std::lock_guard guard(lock);
              reports.emplace_back(text);
            }) {}

  /// A batch of one event; false if there was no room for it within the patience.
  [[nodiscard]] bool add(std::uint32_t number, std::chrono::nanoseconds limit = patience) {
    const auto event = event_of(number);
    const auto until = std::chrono::steady_clock::now() + limit;
    while (!out.append(event, {})) {
      out.seal();
      if (std::chrono::steady_clock::now() > until) return false;
      (void)out.wait_for_room(1ms, event.size());
    }
    out.batch_done(number);
    return true;
  }
  void add(std::uint32_t first, std::uint32_t last) {
    for (auto n = first; n <= last; ++n) ASSERT_TRUE(add(n)) << n;
    out.seal();
  }

  [[nodiscard]] std::vector<std::string> reported() {
    const std::lock_guard guard(lock);
    return reports;
  }

  std::mutex lock;
  std::vector<std::string> reports;
  spool disk;
  safe_batches safety;
  outbox memory;
  spool_backlog backlog;
  spilling_outbox out;
};

TEST(spilling_outbox, takes_to_disk_what_memory_has_no_room_for) {
  scratch_folder folder;
  way_out w(folder.path());
  w.add(1, 200); // memory has room for fewer than 32
  EXPECT_TRUE(w.out.spilling());
  EXPECT_TRUE(eventually([&] { return w.out.events_on_disk() >= 200; }))
      << "with a copy of what waits in memory";
  EXPECT_EQ(w.memory.events_waiting() + w.out.events_waiting(), 200U);
  EXPECT_LT(w.memory.events_waiting(), 32U);
  EXPECT_TRUE(eventually([&] { return w.safety.up_to() == 200; })) << "what is on disk is safe";
  std::multiset<std::uint32_t> got;
  take_all(w.backlog, got);
  take_all(w.memory, got);
  EXPECT_EQ(got, numbers(1, 200));
  EXPECT_EQ(w.backlog.own().delivered + w.memory.events_stored(), 200U);
  EXPECT_TRUE(eventually([&] { return w.disk.totals().blocks == 0; }));
}

TEST(spilling_outbox, goes_back_to_memory_when_half_of_it_is_free) {
  scratch_folder folder;
  way_out w(folder.path());
  w.add(1, 60);
  ASSERT_TRUE(w.out.spilling());
  const auto spilled = w.out.events_spilled();
  // A block that is being copied keeps its place in memory for that long.
  ASSERT_TRUE(eventually([&] { return w.out.all_on_disk(); }));
  std::multiset<std::uint32_t> got;
  take_all(w.memory, got);
  EXPECT_FALSE(w.out.spilling()) << "also if nothing more comes";
  w.add(61, 65);
  EXPECT_FALSE(w.out.spilling());
  EXPECT_EQ(w.out.events_spilled(), spilled) << "fresh events do not queue up behind the disk";
  take_all(w.memory, got);
  EXPECT_TRUE(eventually([&] { return w.out.all_on_disk(); }));
  take_all(w.backlog, got);
  EXPECT_EQ(got, numbers(1, 65));
}

TEST(spilling_outbox, is_due_with_its_open_block_in_memory_or_on_the_way_to_disk) {
  scratch_folder folder;
  way_out w(folder.path());
  EXPECT_EQ(w.out.due_at(), never);
  std::uint32_t last = 1;
  ASSERT_TRUE(w.add(last));
  EXPECT_EQ(w.out.due_at(), time_point() + small_memory.block_age);
  while (!w.out.spilling()) ASSERT_TRUE(w.add(++last));
  EXPECT_EQ(w.out.due_at(), time_point() + 100ms);
  w.out.seal();
  EXPECT_EQ(w.out.due_at(), never);
}

TEST(spilling_outbox, in_memory_waits_for_the_receiver_only_as_long_as_it_is_patient) {
  scratch_folder folder;
  way_out w(folder.path());
  w.add(1, 4);
  EXPECT_EQ(w.safety.up_to(), 0U);
  EXPECT_TRUE(eventually([&] { return w.safety.up_to() == 4; }));
  EXPECT_EQ(w.out.events_on_disk(), 4U);
  EXPECT_FALSE(w.out.spilling());
}

TEST(spilling_outbox, says_at_once_that_the_disk_refuses_a_block_though_it_takes_the_next) {
  scratch_folder folder;
  way_out w(folder.path(), spool_use::always);
  EXPECT_FALSE(w.out.disk_failing());
  const file_size_limit two_blocks(300'000); // a segment; the next block goes into another one
  w.add(1, 24);
  EXPECT_TRUE(eventually([&] { return w.out.all_on_disk(); }));
  EXPECT_TRUE(w.out.disk_failing()) << "for four seconds";
  EXPECT_FALSE(w.out.disk_full());
  const auto said = w.reported();
  const std::string text = "the disk refuses a block of the spool: " +
                           std::make_error_code(std::errc::file_too_large).message();
  const auto is_it = [&](const std::string& s) { return s.starts_with(text); };
  EXPECT_EQ(std::ranges::count_if(said, is_it), 1) << "not for each block";
}

TEST(spilling_outbox, plans_memory_for_longer_blocks_that_an_earlier_process_left) {
  const auto planned = [](std::size_t longest_found) {
    return spilling_outbox::memory_plan(small_memory, event_bytes, 0, 0, longest_found);
  };
  constexpr std::size_t own = sizeof(block_header) + (128 << 10) + event_bytes;
  EXPECT_EQ(planned(own), planned(0));
  EXPECT_EQ(planned(own + 1000), planned(0) + 1000 * spool_backlog::buffers);
}

} // namespace
} // namespace l3
