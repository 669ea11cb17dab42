// SPDX-License-Identifier: Apache-2.0
// A store whose files are removed, cut and moved while no receiver runs: the manifest tells.
#include <chrono>
#include <ctime>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/transport/store/store_files.hpp"
#include "transport/format/endian.hpp"
#include "transport/store/store_manifest.hpp"
#include "transport/system/growing_pause.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using namespace test;

/// Stores that are written and ended, with two blocks a file.
struct scene {
  scratch_folder folder;
  fs::path manifest = fs::path(folder.path()) / store_manifest::file_name;

  [[nodiscard]] fs::path file(std::uint64_t number) const {
    return find_store_file(folder.path(), number);
  }
  [[nodiscard]] store_settings settings() const {
    store_settings s{folder.path()};
    s.now = hasty_clock;
    return s;
  }
  /// Each writer begins a file.
  void write(std::uint64_t first, std::uint64_t last, std::uint64_t of = session) const {
    for (; first <= last; first += 2) {
      store_writer store(settings());
      for (auto i = first; i <= std::min(first + 1, last); ++i) {
        ASSERT_FALSE(append(store, block_of(i, of)));
        ASSERT_FALSE(store.commit());
      }
    }
  }
  /// Is it told, blocks and their numbers?
  [[nodiscard]] std::string lost_at_a_start(bool in_order = true) const {
    store_writer store(settings());
    std::string text;
    for (const auto& [of, lost] : store.lost())
      text += std::to_string(of) + ": " + std::to_string(lost.blocks) + " of " +
              std::to_string(lost.first) + "-" + std::to_string(lost.last) + " with " +
              std::to_string(lost.events) + "; ";
    EXPECT_EQ(store.take_news().empty(), text.empty());
    if (in_order) store.forget_losses();
    return text;
  }
};

TEST(a_stores_manifest, tells_at_the_next_start_what_is_gone) {
  scene s;
  s.write(1, 7);
  s.write(1, 3, 43);
  EXPECT_EQ(s.lost_at_a_start(), "");
  fs::remove(s.file(2));
  fs::remove(s.file(4));
  fs::resize_file(s.file(5), fs::file_size(s.file(5)) - 1);
  EXPECT_EQ(s.lost_at_a_start(false), "42: 3 of 3-7 with 3; 43: 1 of 2-2 with 1; ");
  EXPECT_EQ(s.lost_at_a_start(), "42: 3 of 3-7 with 3; 43: 1 of 2-2 with 1; ")
      << "until a ledger has it";
  EXPECT_EQ(s.lost_at_a_start(), "");
}

/// A complete file of six blocks, which a hand makes anew of other ones while no receiver runs.
struct remade_file : scene {
  static constexpr std::uint64_t blocks = 6;

  remade_file() {
    store_writer store(settings());
    for (std::uint64_t i = 1; i <= blocks; ++i) EXPECT_FALSE(append(store, block_of(i)));
    EXPECT_FALSE(store.complete_all_files());
  }
  void make_of(const std::vector<bytes>& all) const {
    bytes whole = read_file(file(1));
    whole.resize(sizeof(store_file_header));
    for (const bytes& b : all) whole.insert(whole.end(), b.begin(), b.end());
    write_file(file(1), whole);
  }
  [[nodiscard]] static std::vector<bytes> as_written() {
    std::vector<bytes> all;
    for (std::uint64_t i = 1; i <= blocks; ++i) all.push_back(block_of(i));
    return all;
  }
  struct start {
    std::uint64_t events = 0;
    std::string lost;
    std::uint64_t not_as_written = 0;
    friend bool operator==(const start&, const start&) = default;
    friend std::ostream& operator<<(std::ostream& to, const start& s) {
      return to << s.events << " events, lost " << s.lost << ", " << s.not_as_written << " files";
    }
  };
  [[nodiscard]] start at_a_start() const {
    store_writer store(settings());
    start found{store.sessions().at(session).events, "", store.not_as_written()};
    for (const auto& [of, lost] : store.lost())
      found.lost += std::to_string(lost.blocks) + " of " + std::to_string(lost.first) + "-" +
                    std::to_string(lost.last) + " with " + std::to_string(lost.events);
    EXPECT_EQ(store.take_news().empty(), found == (start{blocks, "", 0}));
    return found;
  }
};

TEST(a_stores_manifest, tells_a_block_that_was_replaced_by_a_copy_of_another) {
  const remade_file s;
  auto all = s.as_written();
  all[4] = all[3];
  s.make_of(all);
  EXPECT_EQ(s.at_a_start(), (remade_file::start{5, "1 of 5-5 with 1", 0}));
  EXPECT_EQ(s.at_a_start(), (remade_file::start{5, "1 of 5-5 with 1", 0})) << "no ledger has it";
}

TEST(a_stores_manifest, tells_a_block_that_was_replaced_by_one_of_its_number) {
  const remade_file s;
  auto all = s.as_written();
  all[4] = make_block({}, session, 5);
  s.make_of(all);
  EXPECT_EQ(s.at_a_start(), (remade_file::start{5, "1 of 1-6 with 1", 0}));
}

TEST(a_stores_manifest, counts_a_block_that_stands_twice_once) {
  const remade_file s;
  auto all = s.as_written();
  const auto once = all;
  all.insert(all.end(), once.begin(), once.end());
  s.make_of(all);
  EXPECT_EQ(s.at_a_start(), (remade_file::start{6, "", 1}));

  s.make_of(once);
  EXPECT_EQ(s.at_a_start(), (remade_file::start{6, "", 0}));
  const fs::path copy = fs::path(s.folder.path()) / "blocks-000009-run000000-node0.kl3";
  fs::copy_file(s.file(1), copy);
  {
    store_writer store(s.settings());
    EXPECT_EQ(store.sessions().at(session).events, 6U);
    EXPECT_EQ(store.take_news().size(), 2U) << "of its number, and of its blocks";
  }
  fs::remove(copy);
  EXPECT_EQ(s.at_a_start(), (remade_file::start{6, "", 0})) << "nothing of it was counted";
}

TEST(a_stores_manifest, takes_no_complete_file_for_whole_that_is_not_what_its_sidecar_says) {
  const remade_file s;
  auto swapped = s.as_written();
  std::swap(swapped[2], swapped[3]);
  s.make_of(swapped);
  EXPECT_EQ(s.at_a_start(), (remade_file::start{6, "", 1}));
  auto between = s.as_written();
  between.insert(between.begin() + 3, bytes(1000, std::byte{'x'}));
  s.make_of(between);
  EXPECT_EQ(s.at_a_start(), (remade_file::start{6, "", 1}));
}

TEST(a_stores_manifest, counts_a_file_whose_number_another_one_has) {
  const remade_file s;
  const fs::path copy = fs::path(s.folder.path()) / "blocks-000001-several.kl3";
  fs::copy_file(s.file(1), copy);
  const fs::path also = fs::path(s.folder.path()) / "blocks-000001.kl3";
  fs::copy_file(s.file(1), also);
  EXPECT_EQ(s.at_a_start(), (remade_file::start{6, "", 2}));
  fs::remove(copy);
  fs::remove(also);
  fs::create_hard_link(s.file(1), also);
  EXPECT_EQ(s.at_a_start(), (remade_file::start{6, "", 0})) << "both names are of one file";
}

TEST(a_stores_manifest, counts_a_complete_file_that_is_made_longer) {
  const remade_file s;
  const fs::path file = s.file(1);
  const auto bytes_of_it = fs::file_size(file);
  store_writer store(s.settings());
  EXPECT_FALSE(store.look());
  EXPECT_EQ(store.not_as_written(), 0U);
  write_file(file, [&] {
    bytes longer = read_file(file);
    longer.insert(longer.end(), 100, std::byte{'x'});
    return longer;
  }());
  for (int looks = 0; looks < 2; ++looks) {
    EXPECT_FALSE(store.look()) << "no block is lost";
    EXPECT_EQ(store.not_as_written(), 1U);
    EXPECT_EQ(store.take_news().size(), looks == 0 ? 1U : 0U);
  }
  fs::resize_file(file, bytes_of_it);
  EXPECT_FALSE(store.look());
  EXPECT_EQ(store.not_as_written(), 0U);
}

TEST(a_store, writes_a_sidecar_that_is_gone_anew) {
  const remade_file s;
  const fs::path sidecar = s.file(1).replace_extension(".json");
  const bytes before = read_file(sidecar);
  fs::remove(sidecar);
  const auto mark = archive_mark_path(s.folder.path(), 1);
  write_file(mark, {});
  { store_writer store(s.settings()); }
  EXPECT_FALSE(fs::exists(sidecar)) << "it was moved away, and its file follows";
  fs::remove(mark);
  {
    store_writer store(s.settings());
    EXPECT_EQ(store.take_news().size(), 1U);
    EXPECT_EQ(store.not_as_written(), 0U);
  }
  EXPECT_EQ(read_file(sidecar), before);
  EXPECT_EQ(s.at_a_start(), (remade_file::start{6, "", 0}));
}

TEST(a_store, completes_no_file_under_the_name_of_another) {
  const scene s;
  const fs::path foreign = fs::path(s.folder.path()) / "blocks-000001-run000007-node0.kl3";
  const fs::path beside = fs::path(foreign).replace_extension(".json");
  store_writer store(s.settings());
  ASSERT_FALSE(append(store, block_of(1)));
  ASSERT_FALSE(store.commit());
  write_file(foreign, bytes(100, std::byte{'x'}));
  write_file(beside, bytes(10, std::byte{'y'}));
  EXPECT_FALSE(store.complete_all_files());
  EXPECT_EQ(read_file(beside), bytes(10, std::byte{'y'}));
  EXPECT_EQ(read_file(foreign), bytes(100, std::byte{'x'}));
  EXPECT_EQ(store.take_news().size(), 1U);
  EXPECT_EQ(store.not_as_written(), 0U);
  store.find_unread_files();
  EXPECT_EQ(store.take_news().size(), 1U);
  EXPECT_EQ(store.not_as_written(), 1U);
}

TEST(a_stores_manifest, tells_what_became_of_the_file_that_was_written_last) {
  scene s;
  s.write(1, 1);
  s.write(1, 2, 43);
  fs::remove(s.file(2));
  EXPECT_EQ(s.lost_at_a_start(), "43: 2 of 1-2 with 2; ");
}

TEST(a_stores_manifest, gives_no_file_the_number_of_one_that_is_gone) {
  scene s;
  s.write(1, 4);
  fs::remove(s.file(2));
  s.write(1, 1, 43);
  EXPECT_FALSE(fs::exists(s.file(2)));
  EXPECT_EQ(s.lost_at_a_start(), "42: 2 of 3-4 with 2; ");
}

TEST(a_stores_manifest, is_not_needed) {
  scene s;
  s.write(1, 7);
  fs::remove(s.manifest);
  fs::remove(s.file(2));
  EXPECT_EQ(s.lost_at_a_start(), "") << "as with a store of an earlier version";
  fs::remove(s.file(3));
  EXPECT_EQ(s.lost_at_a_start(), "42: 2 of 5-6 with 2; ");
  write_file(s.manifest, bytes(1000, std::byte{'x'}));
  EXPECT_EQ(s.lost_at_a_start(), "");
  const fs::path target = fs::path(s.folder.path()) / "target";
  write_file(target, bytes(80, std::byte{'x'}));
  fs::remove(s.manifest);
  fs::create_symlink(target, s.manifest);
  {
    store_writer store(s.settings());
    EXPECT_EQ(store.take_news().size(), 1U) << "it cannot be read";
  }
  EXPECT_EQ(read_file(target), bytes(80, std::byte{'x'}));
  EXPECT_FALSE(fs::is_symlink(s.manifest));
}

TEST(a_stores_manifest, keeps_its_other_entries_when_one_is_damaged) {
  scene s;
  s.write(1, 6);
  auto entries = read_file(s.manifest);
  ASSERT_EQ(entries.size(), 3U * 80);
  entries[100] ^= std::byte{1};
  write_file(s.manifest, entries);
  fs::remove(s.file(2));
  fs::remove(s.file(3));
  EXPECT_EQ(s.lost_at_a_start(), "42: 2 of 5-6 with 2; ");
}

TEST(a_stores_manifest, lets_files_go_that_are_marked_as_archived) {
  scene s;
  s.write(1, 7);
  fs::remove(s.file(1));
  write_file(archive_mark_path(s.folder.path(), 1), {});
  {
    store_writer store(s.settings());
    EXPECT_TRUE(store.lost().empty());
    ASSERT_EQ(store.take_news().size(), 1U);
    EXPECT_FALSE(fs::exists(archive_mark_path(s.folder.path(), 1))) << "it is noted";
    write_file(archive_mark_path(s.folder.path(), 2), {});
    EXPECT_FALSE(store.look());
    EXPECT_TRUE(fs::exists(archive_mark_path(s.folder.path(), 2))) << "the file is there";
    fs::remove(s.file(2));
    EXPECT_FALSE(store.look());
    EXPECT_EQ(store.take_news().size(), 1U);
    EXPECT_FALSE(fs::exists(archive_mark_path(s.folder.path(), 2)));
    EXPECT_EQ(store.sessions().at(session).events, 3U);
    EXPECT_EQ(store.sessions().at(session).gone.events, 2U) << "since the start";
    fs::remove(s.file(3));
    EXPECT_EQ(store.look(), name_fault::file_gone);
    EXPECT_EQ(store.sessions().at(session).gone.events, 4U);
  }
  EXPECT_EQ(s.lost_at_a_start(), "42: 2 of 5-6 with 2; ");
}

TEST(a_stores_manifest, forgets_a_loss_whose_blocks_come_again) {
  scene s;
  s.write(1, 7);
  fs::remove(s.file(3));
  fs::remove(s.file(4));
  {
    store_writer store(s.settings());
    EXPECT_EQ(store.lost().at(session).blocks, 3U);
    ASSERT_FALSE(append(store, block_of(5)));
    ASSERT_FALSE(store.commit());
    EXPECT_EQ(store.lost().at(session).blocks, 2U);
    EXPECT_EQ(store.lost().at(session).first, 6U);
  }
  EXPECT_EQ(s.lost_at_a_start(false), "42: 2 of 6-7 with 2; ");
  s.write(6, 7);
  EXPECT_EQ(s.lost_at_a_start(), "");
}

TEST(a_stores_manifest, gives_no_file_the_number_of_one_that_went) {
  scene s;
  const auto number_of_a_new_file = [&] {
    s.write(1, 1, 43);
    return block_files_in(s.folder.path()).back().number;
  };
  s.write(1, 4);
  fs::remove(s.file(2));
  write_file(archive_mark_path(s.folder.path(), 2), {});
  { store_writer store(s.settings()); } // notes that it was archived
  EXPECT_EQ(s.lost_at_a_start(), "");
  EXPECT_EQ(number_of_a_new_file(), 3U);
  fs::remove(s.file(3));
  EXPECT_EQ(s.lost_at_a_start(), "43: 1 of 1-1 with 1; ") << "and a ledger tells it";
  EXPECT_EQ(s.lost_at_a_start(), "");
  EXPECT_EQ(number_of_a_new_file(), 4U);
  EXPECT_EQ(s.lost_at_a_start(), "");
}

TEST(a_store, takes_no_folder_in_which_the_numbers_end) {
  const scene s;
  s.write(1, 1);
  fs::copy_file(s.file(1), fs::path(s.folder.path()) / "blocks-18446744073709551615.kl3");
  EXPECT_EQ(block_files_in(s.folder.path()).size(), 1U) << "it is no name of a file of a store";
  const auto highest = fs::path(s.folder.path()) / "blocks-4294967295.kl3";
  fs::copy_file(s.file(1), highest);
  EXPECT_THROW(store_writer(s.settings()), std::runtime_error);
  fs::remove(highest);
  EXPECT_EQ(s.lost_at_a_start(), "");
}

TEST(a_stores_manifest, keeps_the_numbers_of_archived_blocks_from_being_called_unseen) {
  scene s;
  s.write(1, 4);
  for (const std::uint64_t file : {1, 2}) {
    fs::remove(s.file(file));
    write_file(archive_mark_path(s.folder.path(), file), {});
  }
  for (int start = 0; start < 3; ++start) {
    const store_writer store(s.settings());
    EXPECT_EQ(store.last_archived(session), 4U) << start;
    EXPECT_EQ(store.last_archived(43), 0U);
    EXPECT_EQ(store.last_stored(session), 0U) << "no proof that its own daemon sent them";
  }
  s.write(1, 1, 43);
  EXPECT_EQ(block_files_in(s.folder.path()).back().number, 3U) << "no number comes again";
  EXPECT_EQ(store_writer(s.settings()).last_archived(session), 4U);
}

TEST(a_stores_manifest, keeps_the_numbers_of_archived_blocks_of_1024_sessions) {
  constexpr std::uint64_t sessions = stored_files::most_archived;
  for (const std::uint64_t more : {0, 1}) {
    scene s;
    {
      store_writer store(s.settings());
      for (std::uint64_t other = 1; other <= sessions + more; ++other)
        ASSERT_FALSE(append(store, make_block({}, other, 1)));
    }
    const auto file = s.file(1);
    fs::remove(file);
    write_file(archive_mark_path(s.folder.path(), 1), {});
    { store_writer store(s.settings()); }
    const store_writer store(s.settings());
    EXPECT_EQ(store.last_archived(1), more == 0 ? 1U : 0U);
    EXPECT_EQ(store.last_archived(2), 1U);
    EXPECT_EQ(store.last_archived(sessions + more), 1U);
  }
}

/// A receiver that wrote a file anew ends before it lists the new one.
TEST(a_stores_manifest, finds_what_was_written_anew_just_before_the_end) {
  scene s;
  s.write(1, 6);
  const auto before = read_file(s.manifest);
  fs::rename(s.file(3), s.file(4));
  auto moved = read_file(s.file(4));
  moved[8] = std::byte{4}; // the file's number in its head
  write_file(s.file(4), moved);
  write_file(s.manifest, before);
  EXPECT_EQ(s.lost_at_a_start(), "");
  fs::remove(s.file(4));
  EXPECT_EQ(s.lost_at_a_start(), "42: 2 of 5-6 with 2; ");
}

TEST(a_stores_manifest, tells_once_that_it_cannot_be_written) {
  scene s;
  {
    store_writer store(s.settings());
    fs::remove(s.manifest);
    fs::create_directory(s.manifest);
    for (std::uint64_t i = 1; i <= 3; ++i) {
      ASSERT_FALSE(append(store, block_of(i)));
      ASSERT_FALSE(store.commit());
      EXPECT_FALSE(store.look()) << "blocks are stored all the same";
    }
    EXPECT_EQ(store.take_news().size(), 1U);
    fs::remove(s.manifest);
    EXPECT_FALSE(store.look());
    EXPECT_EQ(store.take_news().size(), 1U) << "it can be written again";
  }
  fs::remove(s.file(1));
  EXPECT_EQ(s.lost_at_a_start(), "42: 3 of 1-3 with 3; ");
}

TEST(a_stores_manifest, is_bounded) {
  scene s;
  store_settings settings = s.settings();
  const auto empty_block = [](std::uint64_t of) {
    bytes block(sizeof(block_header));
    block_header header;
    header.session = of;
    header.sequence = 1;
    seal_header(header);
    l3::store(block.data(), header);
    return block;
  };
  std::optional<store_writer> first(settings);
  store_writer& store = *first;
  EXPECT_EQ(store.not_compared(), 0U);
  std::uint64_t of = 1;
  for (int file = 1; file <= 3; ++file)
    for (std::size_t n = 0; n < stored_files::most_blocks; ++n)
      ASSERT_FALSE(append(store, empty_block(of++)));
  ASSERT_FALSE(append(store, empty_block(of++))); // the third is followed by a fourth
  ASSERT_FALSE(store.commit());
  EXPECT_EQ(store.take_news().size(), 1U) << "that the oldest are not looked at any more";
  EXPECT_LE(fs::file_size(s.manifest), (stored_files::most + stored_files::most_blocks) * 80);
  EXPECT_FALSE(store.look());
  fs::remove(s.file(1));
  EXPECT_FALSE(store.look());
  fs::remove(s.file(3));
  EXPECT_EQ(store.look(), name_fault::file_gone);
  EXPECT_EQ(store.lost().size(), stored_files::most_blocks);
  EXPECT_EQ(store.not_compared(), 2U) << "one of them is gone, and it is not known";
  first.reset();
  {
    store_writer next(settings);
    EXPECT_EQ(next.not_compared(), 2U) << "also where all that is left could be listed";
    next.forget_losses();
  }
  EXPECT_EQ(store_writer(settings).not_compared(), 0U) << "a ledger has told it";
}

/// A hand that removes files day after day.
TEST(a_stores_manifest, tells_of_a_bounded_number_of_losses) {
  scene s;
  constexpr std::uint64_t sessions = 1000;
  constexpr std::uint64_t rounds = 300;
  const held_folder folder(s.folder.path(), "receiver");
  {
    stored_files files;
    session_tallies lost;
    for (std::uint64_t of = 1; of <= sessions; ++of) lost[of] = {1, 2, 2, 20, 200, 0};
    for (std::uint64_t n = 1; n <= rounds; ++n) files.move(n, n + 1, {}, lost);
    ASSERT_FALSE(files.save(folder, true, false));
  }
  EXPECT_LE(fs::file_size(s.manifest), stored_files::most * 80);
  stored_files next;
  ASSERT_FALSE(next.recall(folder));
  const auto told = next.compare(folder, {});
  ASSERT_EQ(told.blocks.size(), sessions);
  for (const auto& [of, lost] : told.blocks) EXPECT_EQ(lost.blocks, 2 * rounds) << of;
}

/// Each block that is stored is looked for among the losses.
TEST(a_stores_manifest, is_quick_when_very_much_is_lost) {
  stored_files files;
  for (std::uint64_t n = 1; n <= stored_files::most; ++n) {
    const std::uint64_t first = 10 * n;
    files.move(n, 0, {}, {{session, {first, first + 1, 2, 20, 200, 0}}});
  }
  block_header block;
  block.session = session;
  block.events = 10;
  block.payload_bytes = 100;
  const auto asked = [&](std::uint64_t sequence) {
    block.sequence = sequence;
    return files.has_come_again(block);
  };
  EXPECT_TRUE(asked(10 * stored_files::most));
  EXPECT_TRUE(asked(10 * stored_files::most + 1));
  EXPECT_FALSE(asked(10 * stored_files::most)) << "once";
  const auto processor_time = [] {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
  };
  const auto before = processor_time();
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    EXPECT_FALSE(asked(10 * stored_files::most - 5));
    block.session = 43;
    EXPECT_FALSE(asked(10));
    block.session = session;
  }
  EXPECT_LT(processor_time() - before, 2s) << "of the processor: a walk over all takes a minute";
}

TEST(a_growing_pause, doubles_up_to_its_limit_and_begins_anew_after_a_quiet_time) {
  growing_pause pause(1s, 5s);
  growing_pause::time_point now{1h};
  EXPECT_TRUE(pause.is_over(now));
  for (const auto wait : {1s, 2s, 4s, 5s, 5s}) {
    EXPECT_FALSE(pause.is_over(now + wait - 1ns));
    EXPECT_TRUE(pause.is_over(now += wait));
  }
  EXPECT_TRUE(pause.is_over(now += 10s));
  EXPECT_FALSE(pause.is_over(now + 1s - 1ns));
  EXPECT_TRUE(pause.is_over(now + 1s));
}

TEST(a_store, does_not_write_a_file_anew_that_is_removed_again_and_again) {
  static time_point now;
  now = time_point(1h);
  scene s;
  store_settings settings = s.settings();
  settings.now = [] { return now; };
  store_writer store(settings);
  ASSERT_FALSE(append(store, block_of(1)));
  ASSERT_FALSE(store.commit());
  std::uint64_t made = 1;
  for (int i = 0; i < 100; ++i) {
    fs::remove(s.file(made));
    EXPECT_TRUE(store.commit());
    if (fs::exists(s.file(made + 1))) ++made;
  }
  EXPECT_EQ(made, 2U);
  for (int i = 0; i < 100; ++i, now += 1s) {
    fs::remove(s.file(made));
    EXPECT_TRUE(store.commit());
    if (fs::exists(s.file(made + 1))) ++made;
  }
  EXPECT_LE(made, 10U);
  now += 60s;
  (void)store.commit();
  EXPECT_FALSE(store.commit());
  EXPECT_EQ(contents(s.folder.path()), (sequences{{session, 1}}));
  EXPECT_TRUE(store.lost().empty());
}

} // namespace
} // namespace l3
