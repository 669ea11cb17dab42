// SPDX-License-Identifier: Apache-2.0
// A store reads again what was touched, and writes anew what was taken, in steps: a block each.
#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "tests/transport/store/vanishing_store.hpp"
#include "transport/format/endian.hpp"

namespace l3 {
namespace {

using namespace test;

/// Looks read one block each.
int asks_left = 0;
store_settings with_short_looks(const fs::path& folder) {
  store_settings settings{folder};
  settings.file_bytes = bytes_of(2);
  settings.has_read_enough = [](time_point) { return asks_left-- <= 0; };
  return settings;
}
std::error_code look_shortly(store_writer& store) {
  asks_left = 1;
  return store.look();
}

void touch(const fs::path& file) {
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::hours(1));
}
void touch_all(const fs::path& folder) {
  for (const auto& f : fs::directory_iterator(folder)) touch(f.path());
}

TEST(vanishing_store, reads_what_was_touched_in_steps) {
  store_scene s;
  store_writer store(with_short_looks(s.folder));
  store_all(store, 1, 20);
  EXPECT_FALSE(look_shortly(store));
  EXPECT_EQ(store.not_compared(), 0U);
  const auto files = store_file_numbers(s.folder).size();
  ASSERT_GE(files, 10U);
  touch_all(s.folder);
  const auto cut = find_store_file(s.folder, 7);
  fs::resize_file(cut, fs::file_size(cut) - 1);
  int looks = 0;
  int until_lost = 0;
  for (; looks == 0 || store.unread() > 0; ++looks) {
    ASSERT_LT(looks, 100);
    (void)look_shortly(store);
    EXPECT_LE(asks_left, 0) << "there is more to read";
    EXPECT_LE(store.not_compared(), files);
    if (until_lost == 0 && !store.lost().empty()) until_lost = looks;
    store_all(store, 21U + static_cast<unsigned>(looks), 21U + static_cast<unsigned>(looks));
  }
  EXPECT_GE(looks, 15);
  EXPECT_LE(until_lost, 4) << "what cannot be whole comes first";
  EXPECT_EQ(lost_blocks(store), 1U);
  EXPECT_EQ(std::ranges::count(contents(s.folder), store.lost().at(session).first,
                               &sequences::value_type::second),
            0);
  EXPECT_EQ(store.take_news().size(), 4U)
      << "that files were touched, what is lost, that all is read";
  EXPECT_FALSE(look_shortly(store));
}

/// As where there are so many files, or a network is so slow, that the looks at their names take
/// all of the time.
TEST(vanishing_store, reads_what_was_touched_however_long_it_looks_at_names) {
  store_scene s;
  store_writer store(with_short_looks(s.folder));
  store_all(store, 1, 6);
  touch_all(s.folder);
  for (int looks = 0; looks == 0 || store.unread() > 0; ++looks) {
    ASSERT_LT(looks, 40);
    asks_left = 0;
    (void)store.look();
  }
  EXPECT_EQ(store.not_compared(), 0U);
  EXPECT_EQ(lost_blocks(store), 0U);
}

/// Three files that are written, of three sessions with `blocks` blocks each; steps of two blocks.
struct three_files : store_scene {
  static constexpr std::uint64_t blocks = 6;
  store_writer store{with_short_looks(folder)};

  three_files() {
    for (std::uint64_t i = 1; i <= blocks; ++i)
      for (std::uint64_t of = 1; of <= 3; ++of) EXPECT_FALSE(append(store, block(of, i)));
    EXPECT_FALSE(commit_shortly());
  }
  static store_settings with_short_looks(const fs::path& folder) {
    store_settings s = l3::with_short_looks(folder);
    s.file_bytes = bytes_of(1000);
    return s;
  }
  static bytes block(std::uint64_t of, std::uint64_t sequence) {
    bytes b = block_of(sequence, of);
    auto header = load<block_header>(b.data());
    header.run = static_cast<std::uint32_t>(of);
    seal_header(header);
    l3::store(b.data(), header);
    return b;
  }
  std::error_code commit_shortly() {
    asks_left = 1;
    return store.commit();
  }
  /// Each block once, also for the next start.
  void expect_all(std::uint64_t of_each = blocks) {
    const auto all = contents(folder);
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), 3 * of_each);
    EXPECT_EQ(all.size(), 3 * of_each);
    EXPECT_EQ(lost_blocks(store), 0U);
    EXPECT_EQ(store.not_compared(), 0U);
  }
};

TEST(vanishing_store, writes_taken_files_anew_in_steps) {
  three_files s;
  for (const auto number : store_file_numbers(s.folder))
    fs::remove(find_store_file(s.folder, number));
  int steps = 0;
  do {
    ASSERT_FALSE(append(s.store, s.block(1, 7)));
    EXPECT_TRUE(s.commit_shortly()) << "called safe in step " << steps;
    EXPECT_EQ(s.store.last_stored(1), 6U);
    EXPECT_LE(asks_left, 0) << "there is more to write";
    EXPECT_LE(contents(s.folder).size(), 2U * static_cast<unsigned>(++steps));
  } while (s.store.to_write_anew() != 0 && steps < 100);
  EXPECT_EQ(steps, 9);
  s.expect_all();
  for (std::uint64_t of = 1; of <= 3; ++of) ASSERT_FALSE(append(s.store, s.block(of, 7)));
  EXPECT_FALSE(s.commit_shortly());
  s.expect_all(7);
}

TEST(vanishing_store, leaves_taken_files_that_are_put_back) {
  three_files s;
  const auto numbers = store_file_numbers(s.folder);
  const auto move = [&](std::uint64_t number, bool back) {
    const auto name = store_file_name(number);
    const fs::path away = fs::path(s.outside.path()) / name;
    fs::rename(back ? away : s.folder / name, back ? s.folder / name : away);
  };
  for (const auto number : numbers) move(number, false);
  EXPECT_TRUE(s.commit_shortly());
  EXPECT_TRUE(s.commit_shortly());
  move(numbers[0], true); // of which four blocks are written anew
  EXPECT_TRUE(s.commit_shortly());
  for (const auto number : {numbers[1], numbers[2]}) move(number, true);
  EXPECT_FALSE(s.commit_shortly());
  EXPECT_EQ(s.store.to_write_anew(), 0U);
  for (int looks = 0; looks < 30; ++looks) (void)look_shortly(s.store); // they were touched
  s.expect_all();
  EXPECT_EQ(store_file_numbers(s.folder), numbers);
}

TEST(vanishing_store, begins_anew_when_the_folder_is_taken_meanwhile) {
  three_files s;
  for (const auto number : store_file_numbers(s.folder))
    fs::remove(find_store_file(s.folder, number));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(s.commit_shortly());
  fs::remove_all(s.folder);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (s.commit_shortly() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  s.expect_all();
}

/// Two files are removed: what the writer has copied out of them until its end stays. One is cut:
/// its whole blocks stay.
TEST(vanishing_store, counts_as_lost_what_its_end_leaves_no_time_for) {
  three_files s;
  const auto numbers = store_file_numbers(s.folder);
  fs::remove(find_store_file(s.folder, numbers[0]));
  fs::remove(find_store_file(s.folder, numbers[1]));
  const auto cut = find_store_file(s.folder, numbers[2]);
  fs::resize_file(cut, fs::file_size(cut) - 1);
  asks_left = 3;
  s.store.write_rest_anew([] { return asks_left-- <= 0; });
  EXPECT_FALSE(s.store.complete_all_files());
  asks_left = 100;
  EXPECT_EQ(s.store.look(), name_fault::file_gone);
  EXPECT_EQ(s.store.lost().at(1).blocks, 2U);
  EXPECT_EQ(s.store.lost().at(1).first, 5U);
  EXPECT_EQ(s.store.lost().at(2).blocks, 6U);
  EXPECT_EQ(s.store.lost().at(3).blocks, 1U);
  EXPECT_EQ(contents(s.folder).size(), 18 - lost_blocks(s.store));
  EXPECT_EQ(s.store.not_compared(), 0U);
}

TEST(vanishing_store, reads_every_file_though_one_is_touched_again_and_again) {
  store_scene s;
  store_writer store(with_short_looks(s.folder));
  store_all(store, 1, 12);
  EXPECT_FALSE(look_shortly(store));
  touch_all(s.folder);
  for (int looks = 0; looks < 60; ++looks) {
    touch(find_store_file(s.folder, 2));
    EXPECT_FALSE(look_shortly(store));
  }
  EXPECT_LE(store.unread(), 1U);
  for (int looks = 0; looks < 5; ++looks) EXPECT_FALSE(look_shortly(store));
  EXPECT_EQ(store.unread(), 0U);
}

/// Another program has written to the file that is written, and it ends before a look has read it.
TEST(vanishing_store, reads_a_file_that_was_touched_although_it_is_complete_by_now) {
  for (const bool cut : {false, true}) {
    store_scene s;
    store_settings settings = with_short_looks(s.folder);
    settings.file_bytes = bytes_of(6);
    store_writer store(settings);
    store_all(store, 1, 6);
    const auto size = fs::file_size(s.file);
    if (cut) {
      fs::resize_file(s.file, size - 1);
      fs::resize_file(s.file, size);
    }
    touch(s.file);
    EXPECT_FALSE(look_shortly(store));
    EXPECT_EQ(store.not_compared(), 1U);
    asks_left = 0;
    EXPECT_FALSE(store.complete_all_files());
    EXPECT_EQ(lost_blocks(store), 0U);
    for (int looks = 0; looks < 10; ++looks) (void)look_shortly(store);
    EXPECT_EQ(store.not_compared(), 0U);
    EXPECT_EQ(lost_blocks(store), cut ? 1U : 0U);
  }
}

/// As rsync --inplace --times does. In a file that is complete, and in one that is written.
TEST(vanishing_store, reads_what_was_written_to_although_its_time_was_set_back) {
  for (const std::uint64_t of : {1U, 5U}) {
    store_scene s;
    store_writer store(with_short_looks(s.folder));
    store_all(store, 1, 5);
    for (int looks = 0; looks < 3; ++looks) EXPECT_FALSE(look_shortly(store));
    EXPECT_EQ(store.not_compared(), 0U) << "its own names are no reason to read";
    const auto file = find_store_file(s.folder, (of + 1) / 2);
    const auto time = fs::last_write_time(file);
    bytes changed = read_file(file);
    changed[sizeof(store_file_header) + sizeof(block_header)] ^= std::byte{1};
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // an older kernel's step of time
    write_file(file, changed);
    fs::last_write_time(file, time);
    for (int looks = 0; looks < 10; ++looks) (void)look_shortly(store);
    EXPECT_EQ(lost_blocks(store), 1U) << "block " << of;
    EXPECT_EQ(store.not_compared(), 0U);
  }
}

TEST(vanishing_store, tells_a_block_that_was_replaced_by_one_of_its_number) {
  store_scene s;
  store_writer store(with_short_looks(s.folder));
  store_all(store, 1, 6);
  stored_block last;
  store_file in(s.folder, 2, store_kind::store);
  while (const auto block = in.next()) last = *block;
  bytes changed = read_file(find_store_file(s.folder, 2));
  changed.resize(last.offset);
  const bytes empty = make_block({}, session, last.header.sequence);
  changed.insert(changed.end(), empty.begin(), empty.end());
  write_file(find_store_file(s.folder, 2), changed);
  for (int looks = 0; looks < 10; ++looks) (void)look_shortly(store);
  EXPECT_EQ(lost_blocks(store), 1U);
  EXPECT_EQ(store.lost().at(session).events, 1U);
}

TEST(vanishing_store, reads_in_steps_what_holds_no_block_at_all) {
  store_scene s;
  store_writer store(with_short_looks(s.folder));
  store_all(store, 1, 4);
  EXPECT_FALSE(look_shortly(store));
  const auto file = find_store_file(s.folder, 1);
  const auto whole = read_file(file);
  constexpr std::size_t step = 1 << 20;
  bytes longer(8 * step, std::byte{'x'});
  std::copy_n(whole.begin(), sizeof(store_file_header), longer.begin());
  longer.insert(longer.end(), whole.begin() + sizeof(store_file_header), whole.end());
  write_file(file, longer);
  int looks = 0;
  do EXPECT_FALSE(look_shortly(store));
  while (++looks < 100 && store.unread() > 0);
  EXPECT_GE(looks, 8);
  EXPECT_LE(looks, 10);
  EXPECT_EQ(store.unread(), 0U);
  EXPECT_EQ(lost_blocks(store), 0U) << "it is found, behind all of that";
}

} // namespace
} // namespace l3
