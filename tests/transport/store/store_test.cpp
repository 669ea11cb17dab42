// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "gpu/codec/decode_all.hpp"
#include "tests/transport/store/store_files.hpp"
#include "transport/store/event_index.hpp"

namespace l3 {
namespace {

using namespace test;

TEST(store, writes_what_the_formats_page_says) {
  scratch_folder folder;
  const auto first = block_of(1);
  store_writer store({folder.path()});
  EXPECT_FALSE(append(store, first));
  EXPECT_FALSE(append(store, block_of(9, 77)));
  EXPECT_EQ(contents(folder.path()), (sequences{{session, 1}, {77, 9}})) << "while it is written";
  EXPECT_FALSE(store.commit());
  // A header of 16 bytes, then the blocks.
  const auto file = read_file(folder.path() + "/blocks-000001.kl3");
  const unsigned char head[16] = {'K', 'L', '3', 'S', 2, 1, 0, 0, 1};
  ASSERT_GT(file.size(), sizeof head + first.size());
  EXPECT_EQ(std::memcmp(file.data(), head, sizeof head), 0);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), file.begin() + sizeof head));
}

TEST(store, says_what_is_wrong_with_a_folder) {
  scratch_folder folder;
  EXPECT_THROW(store_writer({folder.path() + "/none"}), std::runtime_error);
  write_file(folder.path() + "/file", {});
  EXPECT_THROW(store_writer({folder.path() + "/file"}), std::runtime_error);
  EXPECT_THROW(store_reader(folder.path() + "/none"), std::system_error);
  const store_writer first({folder.path()});
  try {
    const store_writer second({folder.path()});
    FAIL() << "a second writer";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("in use by another receiver"), std::string::npos);
  }
}

TEST(store, makes_no_folder_again) {
  scratch_folder above;
  const fs::path folder = fs::path(above.path()) / "store";
  fs::create_directory(folder);
  store_writer store({folder});
  fs::remove(folder);
  EXPECT_EQ(append(store, block_of(1)), std::errc::no_such_file_or_directory);
  EXPECT_FALSE(fs::exists(folder));
}

TEST(store, gives_every_block_to_a_reader_that_keeps_up_with_the_writer) {
  // While the reader, at the end of a file, looks for the next one in a long list, the writer fills
  // up the first with its second block and opens the next.
  constexpr std::uint64_t last = 101;
  constexpr int other_files = 500;
  scratch_folder folder;
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
  scratch_folder folder;
  fill_store(folder.path(), 1);
  const auto path = find_store_file(folder.path(), 1);
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
  edit_file(path, [](bytes& file) { file[4] = std::byte{3}; });
  EXPECT_EQ(refusal(read),
            path.string() + " has version 3 of the store format; this program reads version 2");
  EXPECT_EQ(refusal(go_on), refusal(read));

  const bytes foreign(1000, std::byte{'x'});
  write_file(path, foreign);
  EXPECT_EQ(refusal(read), path.string() + " is not a file of a store");
  EXPECT_EQ(refusal(go_on), refusal(read));
  EXPECT_EQ(read_file(path), foreign) << "left where it is";
}

TEST(event_index, does_not_give_an_event_whose_bytes_changed) {
  scratch_folder folder;
  fill_store(folder.path(), 1);
  const event_index index(folder.path());
  const auto& at = index.entries().front();
  event_reader reader(folder.path());
  EXPECT_TRUE(reader.read(at));
  // Another reference time: it is still an event.
  edit_file(find_store_file(folder.path(), 1),
            [&](bytes& file) { file[at.offset + 20] ^= std::byte{1}; });
  EXPECT_FALSE(reader.read(at));
}

TEST(event_index, finds_events_and_repeats_and_damage) {
  scratch_folder folder;
  std::mt19937 random(1);
  const auto event = [&](std::uint32_t spill, std::uint32_t number) {
    event_recipe recipe;
    recipe.key = {spill, number};
    return make_event(recipe, random);
  };
  const auto late = event(2, 1);
  auto damaged = event(2, 2).packed;
  damaged[16] = std::byte{0xFF}; // more boards than there can be
  {
    store_writer store({folder.path()});
    ASSERT_FALSE(append(store, make_block({late.packed, event(1, 7).packed}, 1, 1)));
    ASSERT_FALSE(append(store, make_block({damaged, event(1, 3).packed}, 1, 2)));
    ASSERT_FALSE(append(store, make_block({event(1, 7).packed}, 2, 1)));
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
    EXPECT_TRUE(rebuild_fragment(*view, i, fragment, strong::decode_all));
    EXPECT_EQ(fragment, late.fragments[i]);
  }
}

} // namespace
} // namespace l3
