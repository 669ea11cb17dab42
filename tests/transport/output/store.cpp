// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "tests/transport/output/packed_events.hpp"
#include "transport/output/block.hpp"
#include "transport/output/event_index.hpp"
#include "transport/output/store_reader.hpp"
#include "transport/output/store_writer.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t session = 42;

test::bytes block_of(std::uint64_t sequence, std::uint64_t of_session = session,
                     std::uint32_t samples = 1) {
  std::mt19937 random(static_cast<std::uint32_t>(sequence));
  test::event_recipe recipe;
  recipe.key = {1, static_cast<std::uint32_t>(sequence)};
  recipe.fragments = 1;
  recipe.boards = samples;
  return test::make_block({test::make_event(recipe, random).packed}, of_session, sequence);
}

std::error_code append(store_writer& store, const test::bytes& block) {
  block_header header;
  EXPECT_EQ(check_block(block, header), block_fault::none);
  return store.append(block, header);
}

/// The (session, sequence) of every readable block with a good payload.
std::vector<std::pair<std::uint64_t, std::uint64_t>> contents(const fs::path& folder,
                                                              std::uint64_t* damaged = nullptr) {
  store_reader reader(folder);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  std::vector<std::byte> payload;
  std::uint64_t bad = 0;
  while (const auto block = reader.next()) {
    if (reader.read_payload(*block, payload)) {
      found.emplace_back(block->header.session, block->header.sequence);
    } else {
      ++bad;
    }
  }
  if (damaged != nullptr) *damaged = bad + reader.damaged();
  return found;
}

test::bytes read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string s{std::istreambuf_iterator<char>(in), {}};
  const auto* const p = reinterpret_cast<const std::byte*>(s.data());
  return {p, p + s.size()};
}
void write_file(const fs::path& path, std::span<const std::byte> data) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
}

using sequences = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST(store, gives_back_what_was_appended) {
  test::scratch_folder folder;
  const auto first = block_of(1);
  {
    store_writer store({folder.path()});
    EXPECT_EQ(store.last_stored(session), 0U);
    EXPECT_FALSE(append(store, first));
    EXPECT_FALSE(append(store, block_of(9, 77)));
    EXPECT_FALSE(append(store, block_of(2)));
    EXPECT_EQ(contents(folder.path()), (sequences{{session, 1}, {77, 9}, {session, 2}}))
        << "while it is written";
    EXPECT_FALSE(store.commit());
  }
  // Word by word as docs/formats.md has it: a header of 16 bytes, then the blocks.
  const auto file = read_file(folder.path() + "/blocks-000001.kl3");
  const unsigned char head[16] = {'K', 'L', '3', 'S', 1, 0, 0, 0, 1};
  ASSERT_GT(file.size(), sizeof head + first.size());
  EXPECT_EQ(std::memcmp(file.data(), head, sizeof head), 0);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), file.begin() + sizeof head));

  store_writer again({folder.path()});
  EXPECT_EQ(again.last_stored(session), 2U);
  EXPECT_EQ(again.last_stored(77), 9U);
  EXPECT_EQ(again.sessions().at(session).events, 2U);
  EXPECT_EQ(again.torn_tails(), 0U);
  EXPECT_FALSE(append(again, block_of(3)));
  EXPECT_TRUE(fs::exists(folder.path() + "/blocks-000002.kl3")) << "goes on in a new file";
  EXPECT_EQ(contents(folder.path()).size(), 4U);
}

TEST(store, belongs_to_one_receiver) {
  test::scratch_folder folder;
  const store_writer first({folder.path()});
  try {
    const store_writer second({folder.path()});
    FAIL() << "a second writer";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("in use by another receiver"), std::string::npos);
  }
}

TEST(store, says_what_is_wrong_with_a_folder) {
  test::scratch_folder folder;
  EXPECT_THROW(store_writer({folder.path() + "/none"}), std::runtime_error);
  write_file(folder.path() + "/file", {});
  EXPECT_THROW(store_writer({folder.path() + "/file"}), std::runtime_error);
  EXPECT_THROW(store_reader(folder.path() + "/none"), std::system_error);
}

TEST(store, goes_on_in_a_next_file) {
  test::scratch_folder folder;
  store_settings settings{folder.path()};
  settings.file_bytes = 5'000;
  sequences all;
  {
    store_writer store(settings);
    for (std::uint64_t i = 1; i <= 30; ++i) {
      ASSERT_FALSE(append(store, block_of(i)));
      all.emplace_back(session, i);
    }
  }
  const auto numbers = store_file_numbers(folder.path());
  EXPECT_GT(numbers.size(), 2U);
  for (const auto n : numbers) EXPECT_LE(fs::file_size(store_file_path(folder.path(), n)), 5'000U);
  EXPECT_EQ(contents(folder.path()), all);
  EXPECT_EQ(store_writer(settings).last_stored(session), 30U);
}

TEST(store, sets_a_torn_tail_aside_wherever_it_was_cut) {
  test::scratch_folder made;
  {
    store_writer store({made.path()});
    for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_FALSE(append(store, block_of(i)));
  }
  const auto whole = read_file(store_file_path(made.path(), 1));
  const std::size_t last_at = whole.size() - block_of(3).size();
  std::vector<std::size_t> cuts{0, 1, 15, 16, 17};
  for (std::size_t i = 0; i <= 70; ++i)
    cuts.push_back(last_at + i); // every byte of the header and some behind
  for (std::size_t i = last_at + 71; i + 8 < whole.size(); i += 97) cuts.push_back(i);
  for (std::size_t i = 8; i >= 1; --i) cuts.push_back(whole.size() - i);
  for (const auto cut : cuts) {
    test::scratch_folder folder;
    write_file(store_file_path(folder.path(), 1), std::span(whole).first(cut));
    const sequences before = contents(folder.path());
    const std::size_t kept = cut >= last_at ? 2 : 0;
    ASSERT_EQ(before.size(), kept) << cut;
    {
      store_writer store({folder.path()});
      ASSERT_EQ(store.last_stored(session), kept) << cut;
      ASSERT_FALSE(append(store, block_of(kept + 1))) << cut;
    }
    ASSERT_EQ(contents(folder.path()).size(), kept + 1) << cut;
    const bool torn = cut != last_at && cut != sizeof(store_file_header);
    ASSERT_EQ(fs::exists(torn_file_path(folder.path(), 1)), torn) << cut;
    if (torn) {
      const std::size_t good = kept > 0 ? last_at : cut < 16 ? 0 : 16;
      ASSERT_EQ(fs::file_size(torn_file_path(folder.path(), 1)), cut - good) << cut;
    }
    ASSERT_EQ(store_writer({folder.path()}).torn_tails(), 0U) << cut << ": once is enough";
  }
}

TEST(store, loses_only_the_block_in_which_a_bit_flipped) {
  test::scratch_folder made;
  {
    store_writer store({made.path()});
    for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_FALSE(append(store, block_of(i)));
  }
  const auto whole = read_file(store_file_path(made.path(), 1));
  const std::size_t second_at = sizeof(store_file_header) + block_of(1).size();
  const std::size_t third_at = second_at + block_of(2).size();
  for (std::size_t at = second_at; at < third_at; at += at < second_at + 64 ? 1 : 131) {
    test::scratch_folder folder;
    auto flipped = whole;
    flipped[at] ^= std::byte{0x10};
    write_file(store_file_path(folder.path(), 1), flipped);
    std::uint64_t damaged = 0;
    EXPECT_EQ(contents(folder.path(), &damaged), (sequences{{session, 1}, {session, 3}})) << at;
    EXPECT_EQ(damaged, 1U) << at;
  }
}

TEST(store, does_not_count_a_last_block_whose_bytes_never_reached_the_disk) {
  test::scratch_folder folder;
  {
    store_writer store({folder.path()});
    for (std::uint64_t i = 1; i <= 2; ++i) ASSERT_FALSE(append(store, block_of(i)));
  }
  auto file = read_file(store_file_path(folder.path(), 1));
  std::fill(file.end() - 200, file.end(), std::byte{0}); // as after a power cut
  write_file(store_file_path(folder.path(), 1), file);
  store_writer store({folder.path()});
  EXPECT_EQ(store.last_stored(session), 1U);
  EXPECT_EQ(store.torn_tails(), 1U);
  EXPECT_FALSE(append(store, block_of(2)));
  EXPECT_EQ(contents(folder.path()), (sequences{{session, 1}, {session, 2}}));
}

/// A limit on the size of files stands in for a disk with a little room.
class file_size_limit {
public:
  explicit file_size_limit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = ::signal(SIGXFSZ, SIG_IGN); // write() then fails instead
    const rlimit limited{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~file_size_limit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(store, leaves_no_half_block_when_it_cannot_write) {
  test::scratch_folder folder;
  store_writer store({folder.path()});
  ASSERT_FALSE(append(store, block_of(1, session, 8)));
  const auto size = fs::file_size(store_file_path(folder.path(), 1));
  const auto second = block_of(2, session, 8);
  {
    const file_size_limit limit(size + second.size() / 2);
    EXPECT_TRUE(append(store, second)) << "half of it has room";
    EXPECT_EQ(fs::file_size(store_file_path(folder.path(), 1)), size);
    EXPECT_TRUE(append(store, second)) << "a state";
    EXPECT_EQ(store.last_stored(session), 1U);
  }
  EXPECT_FALSE(append(store, second)) << "room again";
  EXPECT_EQ(contents(folder.path()), (sequences{{session, 1}, {session, 2}}));
}

TEST(store, leaves_a_torn_tail_that_finds_no_room_where_it_is) {
  // A last block that is cut off, and one that is whole but for its payload: only the first one's
  // header says that it is not there.
  for (const bool whole : {false, true}) {
    test::scratch_folder folder;
    const auto path = store_file_path(folder.path(), 1);
    const auto torn_path = torn_file_path(folder.path(), 1);
    {
      store_writer store({folder.path()});
      for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_FALSE(append(store, block_of(i, session, 8)));
    }
    auto file = read_file(path);
    const std::size_t tail_bytes = block_of(3, session, 8).size();
    const std::size_t tail_at = file.size() - tail_bytes;
    const auto lost = static_cast<std::ptrdiff_t>(tail_bytes / 4);
    if (whole)
      std::fill(file.end() - lost, file.end(), std::byte{0});
    else
      file.erase(file.end() - lost, file.end());
    write_file(path, file);

    for (std::uint64_t start = 1; start <= 2; ++start) {
      std::optional<store_writer> store;
      {
        const file_size_limit limit(16);
        store.emplace(store_settings{folder.path()});
      }
      EXPECT_EQ(store->torn_tails_left(), 1U) << start;
      EXPECT_EQ(store->torn_tails(), 0U) << start;
      EXPECT_EQ(store->last_stored(session), 1 + start) << "what was acknowledged, and no more";
      EXPECT_EQ(store->sessions().at(session).blocks, 1 + start) << "nor one of them twice";
      EXPECT_EQ(read_file(path), file) << "untouched";
      EXPECT_EQ(fs::file_size(torn_path), 0U) << "the mark";
      ASSERT_FALSE(append(*store, block_of(2 + start, session, 8)));
    }
    const sequences all{{session, 1}, {session, 2}, {session, 3}, {session, 4}};
    EXPECT_EQ(contents(folder.path()), all) << "readers step over it";
    EXPECT_EQ(event_index(folder.path()).entries().size(), 4U);
    EXPECT_EQ(event_index(folder.path()).torn_ends().size(), whole ? 0U : 1U);

    const store_writer with_room({folder.path()});
    EXPECT_EQ(with_room.torn_tails(), 1U);
    EXPECT_EQ(with_room.torn_tails_left(), 0U);
    EXPECT_EQ(with_room.last_stored(session), 4U);
    EXPECT_EQ(fs::file_size(path), tail_at);
    EXPECT_EQ(read_file(torn_path),
              test::bytes(file.begin() + static_cast<std::ptrdiff_t>(tail_at), file.end()));
    std::uint64_t damaged = 0;
    EXPECT_EQ(contents(folder.path(), &damaged), all);
    EXPECT_EQ(damaged, 0U);
  }
}

TEST(store, survives_a_full_disk) {
  test::scratch_folder folder;
  if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "no right to mount a small file system; "
                    "leaves_no_half_block_when_it_cannot_write covers the rest";
  }
  std::uint64_t stored = 0;
  {
    store_writer store({folder.path()});
    while (!append(store, block_of(stored + 1, session, 4))) ++stored;
    EXPECT_GT(stored, 1U);
    EXPECT_EQ(contents(folder.path()).size(), stored);
    EXPECT_EQ(::mount("tmpfs", folder.path().c_str(), "tmpfs", MS_REMOUNT, "size=1m"), 0);
    EXPECT_FALSE(append(store, block_of(stored + 1, session, 4)));
    EXPECT_EQ(contents(folder.path()).size(), stored + 1);
  }
  ::umount(folder.path().c_str());
}

TEST(store, keeps_what_it_committed) {
  test::scratch_folder folder;
  store_settings settings{folder.path()};
  settings.sync = true;
  store_writer store(settings);
  ASSERT_FALSE(append(store, block_of(1)));
  EXPECT_FALSE(store.commit());
  EXPECT_FALSE(store.commit()) << "nothing new";
  EXPECT_EQ(contents(folder.path()).size(), 1U);
}

TEST(store, takes_back_what_the_disk_did_not_confirm) {
  test::scratch_folder folder;
  static bool disk_works;
  disk_works = true;
  store_settings settings{folder.path()};
  settings.sync = true;
  settings.flush = [](int) {
    errno = EIO;
    return disk_works ? 0 : -1;
  };
  store_writer store(settings);
  ASSERT_FALSE(append(store, block_of(1)));
  EXPECT_EQ(store.committed().blocks, 0U) << "not yet";
  ASSERT_FALSE(store.commit());
  EXPECT_EQ(store.committed().blocks, 1U);

  disk_works = false;
  ASSERT_FALSE(append(store, block_of(2)));
  ASSERT_FALSE(append(store, block_of(1, session + 1)));
  EXPECT_EQ(store.commit(), std::errc::io_error);
  EXPECT_EQ(store.committed().blocks, 1U);
  EXPECT_EQ(store.committed().events, 1U);
  EXPECT_EQ(store.last_stored(session), 1U);
  ASSERT_EQ(store.sessions().size(), 1U) << "nothing of the other session is there";
  EXPECT_EQ(store.sessions().at(session).events, 1U);
  EXPECT_EQ(contents(folder.path()), (sequences{{session, 1}}));

  disk_works = true;
  ASSERT_FALSE(append(store, block_of(2)));
  EXPECT_FALSE(store.commit());
  EXPECT_EQ(store.committed().blocks, 2U);
  EXPECT_EQ(contents(folder.path()), (sequences{{session, 1}, {session, 2}}));
}

TEST(store, gives_every_block_to_a_reader_that_keeps_up_with_the_writer) {
  // While the reader, at the end of a file, looks for the next one in a long list, the writer fills
  // up the first with its second block and opens the next.
  constexpr std::uint64_t last = 101;
  constexpr int other_files = 500;
  test::scratch_folder folder;
  for (int i = 0; i < other_files; ++i) {
    write_file(folder.path() + "/other-" + std::to_string(i), {});
  }
  store_settings settings{folder.path()};
  settings.file_bytes = 5 * block_of(1).size() / 2;
  store_writer store(settings);
  std::atomic<std::uint64_t> taken = 0;
  const std::jthread writing([&](const std::stop_token& stop) {
    for (std::uint64_t i = 1; i <= last; ++i) {
      const auto block = block_of(i);
      while (i % 2 == 0 && taken + 1 < i && !stop.stop_requested()) std::this_thread::yield();
      EXPECT_FALSE(append(store, block));
    }
  });
  store_reader reader(folder.path());
  while (taken < last) {
    const auto block = reader.next();
    if (!block) continue;
    ASSERT_EQ(block->header.sequence, taken + 1);
    ++taken;
  }
}

TEST(store, refuses_a_file_of_another_version_or_kind) {
  test::scratch_folder folder;
  {
    store_writer store({folder.path()});
    ASSERT_FALSE(append(store, block_of(1)));
  }
  const auto path = store_file_path(folder.path(), 1);
  const auto refusal = [&](auto use) -> std::string {
    try {
      use();
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "none";
  };
  const auto read = [&] { (void)contents(folder.path()); };
  const auto go_on = [&] { const store_writer again({folder.path()}); };
  auto file = read_file(path);
  file[4] = std::byte{2};
  write_file(path, file);
  EXPECT_EQ(refusal(read),
            path.string() + " is of version 2 of the store; this program knows version 1");
  EXPECT_EQ(refusal(go_on), refusal(read));

  const test::bytes foreign(1000, std::byte{'x'});
  write_file(path, foreign);
  EXPECT_EQ(refusal(read), path.string() + " is no file of a store");
  EXPECT_EQ(refusal(go_on), refusal(read));
  EXPECT_EQ(read_file(path), foreign) << "left where it is";
}

TEST(store, loses_no_block_to_a_damaged_head) {
  for (const std::size_t at : {0U, 8U}) {
    test::scratch_folder folder;
    {
      store_writer store({folder.path()});
      ASSERT_FALSE(append(store, block_of(1)));
    }
    auto file = read_file(store_file_path(folder.path(), 1));
    file[at] ^= std::byte{0x10};
    write_file(store_file_path(folder.path(), 1), file);
    std::uint64_t damaged = 0;
    EXPECT_EQ(contents(folder.path(), &damaged), (sequences{{session, 1}}));
    EXPECT_EQ(damaged, 1U);
    EXPECT_EQ(store_writer({folder.path()}).last_stored(session), 1U);
  }
}

TEST(store, starts_again_behind_a_file_of_which_head_and_only_block_are_damaged) {
  test::scratch_folder folder;
  {
    store_writer store({folder.path()});
    ASSERT_FALSE(append(store, block_of(1)));
  }
  auto file = read_file(store_file_path(folder.path(), 1));
  file.front() ^= std::byte{0x10};
  file.back() ^= std::byte{0x10};
  write_file(store_file_path(folder.path(), 1), file);
  {
    store_writer store({folder.path()});
    EXPECT_EQ(store.torn_tails(), 1U);
    ASSERT_FALSE(append(store, block_of(1)));
  }
  EXPECT_EQ(contents(folder.path()), (sequences{{session, 1}}));
  EXPECT_EQ(store_writer({folder.path()}).last_stored(session), 1U);
  EXPECT_EQ(read_file(torn_file_path(folder.path(), 1)), file);
}

TEST(event_index, tells_of_ends_that_are_no_whole_block) {
  test::scratch_folder folder;
  store_settings settings{folder.path()};
  settings.file_bytes = block_of(1).size() + 1; // one block a file
  {
    store_writer store(settings);
    for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_FALSE(append(store, block_of(i)));
  }
  EXPECT_TRUE(event_index(folder.path()).torn_ends().empty());
  const auto cut = [&](std::uint64_t file, std::uintmax_t bytes) {
    const auto path = store_file_path(folder.path(), file);
    fs::resize_file(path, fs::file_size(path) - bytes);
  };
  cut(1, 10);
  cut(3, fs::file_size(store_file_path(folder.path(), 3)) - 7);
  const event_index index(folder.path());
  EXPECT_EQ(index.entries().size(), 1U);
  EXPECT_EQ(index.damaged(), 0U);
  ASSERT_EQ(index.torn_ends().size(), 2U);
  EXPECT_EQ(index.torn_ends()[0].bytes, block_of(1).size() - 10);
  EXPECT_EQ(index.torn_ends()[1].bytes, 7U);
  EXPECT_NE(text_of(index.torn_ends()[1]).find("blocks-000003.kl3: its last 7 bytes"),
            std::string::npos);
}

TEST(event_index, does_not_give_an_event_whose_bytes_changed) {
  test::scratch_folder folder;
  {
    store_writer store({folder.path()});
    ASSERT_FALSE(append(store, block_of(1)));
  }
  const event_index index(folder.path());
  const auto& at = index.entries().front();
  event_reader reader(folder.path());
  EXPECT_TRUE(reader.read(at));
  auto file = read_file(store_file_path(folder.path(), 1));
  file[at.offset + 20] ^= std::byte{1}; // another reference time: still an event
  std::fstream(store_file_path(folder.path(), 1), std::ios::in | std::ios::out | std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  EXPECT_FALSE(reader.read(at));
}

TEST(event_index, finds_events_and_repeats_and_damage) {
  test::scratch_folder folder;
  std::mt19937 random(1);
  const auto event = [&](std::uint32_t spill, std::uint32_t number) {
    test::event_recipe recipe;
    recipe.key = {spill, number};
    return test::make_event(recipe, random);
  };
  const auto late = event(2, 1);
  auto damaged = event(2, 2).packed;
  damaged[16] = std::byte{0xFF}; // more boards than there can be
  {
    store_writer store({folder.path()});
    ASSERT_FALSE(append(store, test::make_block({late.packed, event(1, 7).packed}, 1, 1)));
    ASSERT_FALSE(append(store, test::make_block({damaged, event(1, 3).packed}, 1, 2)));
    ASSERT_FALSE(append(store, test::make_block({event(1, 7).packed}, 2, 1)));
  }
  const event_index index(folder.path());
  std::vector<event_key> keys;
  for (const auto& e : index.entries()) keys.push_back(e.key);
  EXPECT_EQ(keys, (std::vector<event_key>{{1, 3}, {1, 7}, {1, 7}, {2, 1}}));
  EXPECT_EQ(index.damaged(), 1U);
  EXPECT_EQ(index.blocks(), 3U);
  ASSERT_EQ(index.sessions().size(), 2U);
  EXPECT_EQ(index.sessions()[0].events, 3U);
  EXPECT_TRUE(index.find({1, 4}).empty());
  const auto repeats = index.find({1, 7});
  ASSERT_EQ(repeats.size(), 2U);
  EXPECT_EQ(repeats[0].session, 0U);
  EXPECT_EQ(repeats[1].session, 1U);

  event_reader reader(folder.path());
  const auto view = reader.read(index.find({2, 1}).front());
  ASSERT_TRUE(view);
  std::vector<std::byte> fragment;
  for (std::uint32_t i = 0; i < view->fragments(); ++i) {
    rebuild_fragment(*view, i, fragment);
    EXPECT_EQ(fragment, late.fragments[i]);
  }
}

} // namespace
} // namespace l3
