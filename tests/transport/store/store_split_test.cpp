// SPDX-License-Identifier: Apache-2.0
// Files of a store by run and node: which blocks go where, when a file is complete, what its
// sidecar says, and what a start makes of each state in which a receiver can be killed.
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include <boost/json.hpp>

#include "tests/transport/outbox/failing_disk.hpp"
#include "tests/transport/store/store_files.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"

namespace l3 {
namespace {

using namespace test;
using namespace std::chrono_literals;
using names = std::vector<std::string>;

time_point clock_now{};
time_point read_clock() { return clock_now; }

struct sender {
  std::uint64_t session;
  std::uint32_t run;
  std::uint32_t node = 0;
};

bytes block_from(const sender& by, std::uint64_t sequence) {
  bytes block = block_of(sequence, by.session);
  auto header = load<block_header>(block.data());
  header.run = by.run;
  header.node = by.node;
  header.sealed_at = 1'000'000'000ULL * (1'700'000'000 + sequence);
  seal_header(header);
  store(block.data(), header);
  return block;
}

names files_in(const fs::path& folder) {
  names found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (const auto name = entry.path().filename().string(); name.starts_with("blocks-"))
      found.push_back(name);
  std::ranges::sort(found);
  return found;
}

boost::json::value sidecar_of(const fs::path& file) {
  const auto text = read_file(fs::path(file).replace_extension(".json"));
  return boost::json::parse({reinterpret_cast<const char*>(text.data()), text.size()});
}

boost::json::string hexadecimal(std::uint32_t number) {
  char text[sizeof "00000000"];
  (void)std::snprintf(text, sizeof text, "%08x", number);
  return text;
}

store_settings settings_for(const fs::path& folder) {
  store_settings s{folder};
  s.software = "a test";
  s.now = read_clock;
  return s;
}

constexpr sender left{101, 7, 0};
constexpr sender right{102, 7, 1};
constexpr sender later{103, 8, 0};

TEST(store_split, has_a_file_for_each_run_and_node) {
  scratch_folder folder;
  store_writer store(settings_for(folder.path()));
  for (std::uint64_t i = 1; i <= 3; ++i)
    for (const sender& by : {left, right}) ASSERT_FALSE(append(store, block_from(by, i)));
  ASSERT_FALSE(append(store, block_from(later, 1)));
  ASSERT_FALSE(store.commit());
  EXPECT_EQ(files_in(folder.path()),
            (names{"blocks-000001.kl3", "blocks-000002.kl3", "blocks-000003.kl3"}));
  ASSERT_FALSE(store.complete_all_files());
  EXPECT_EQ(files_in(folder.path()),
            (names{"blocks-000001-run000007-node0.json", "blocks-000001-run000007-node0.kl3",
                   "blocks-000002-run000007-node1.json", "blocks-000002-run000007-node1.kl3",
                   "blocks-000003-run000008-node0.json", "blocks-000003-run000008-node0.kl3"}));
  EXPECT_EQ(contents(folder.path()),
            (sequences{{101, 1}, {101, 2}, {101, 3}, {102, 1}, {102, 2}, {102, 3}, {103, 1}}));

  const auto file = folder.path() + "/blocks-000002-run000007-node1.kl3";
  const auto all = read_file(file);
  const auto said = sidecar_of(file);
  EXPECT_EQ(said.at("sidecar").to_number<int>(), 1);
  EXPECT_EQ(said.at("file").as_string(), "blocks-000002-run000007-node1.kl3");
  EXPECT_EQ(said.at("run").to_number<int>(), 7);
  EXPECT_EQ(said.at("node").to_number<int>(), 1);
  EXPECT_EQ(said.at("bytes").to_number<std::uint64_t>(), all.size());
  EXPECT_EQ(said.at("crc32c").as_string(), hexadecimal(crc32c(all)));
  EXPECT_EQ(said.at("blocks").to_number<int>(), 3);
  EXPECT_EQ(said.at("events").to_number<int>(), 3);
  EXPECT_EQ(boost::json::serialize(said.at("spills")), R"([{"spill":1,"events":3}])");
  EXPECT_EQ(said.at("sealed_first").as_string(), "2023-11-14T22:13:21Z");
  EXPECT_EQ(boost::json::serialize(said.at("sessions")),
            R"([{"session":"0000000000000066","first":1,"last":3,"blocks":3,"events":3}])");
  EXPECT_EQ(said.at("software").as_string(), "a test");
}

TEST(store_split, completes_a_file_at_the_end_of_its_session_and_when_it_is_idle) {
  scratch_folder folder;
  clock_now = {};
  store_writer store(settings_for(folder.path()));
  for (const sender& by : {left, right}) ASSERT_FALSE(append(store, block_from(by, 1)));
  ASSERT_FALSE(store.commit());
  store.end_session(left.session);
  ASSERT_FALSE(store.complete_idle_files());
  EXPECT_TRUE(fs::exists(folder.path() + "/blocks-000001.kl3")) << "more may come";
  clock_now += 1s;
  ASSERT_FALSE(store.complete_idle_files());
  EXPECT_TRUE(fs::exists(folder.path() + "/blocks-000001-run000007-node0.kl3"));
  EXPECT_TRUE(fs::exists(folder.path() + "/blocks-000002.kl3"));
  ASSERT_FALSE(append(store, block_from(left, 2)));
  ASSERT_FALSE(store.commit());
  EXPECT_TRUE(fs::exists(folder.path() + "/blocks-000003.kl3"));
  clock_now += 10min;
  ASSERT_FALSE(store.complete_idle_files());
  EXPECT_EQ(store_file_numbers(folder.path()), (std::vector<std::uint64_t>{1, 2, 3}));
  for (const auto& f : block_files_in(folder.path())) EXPECT_TRUE(f.complete) << f.text();
}

TEST(store_split, completes_the_file_that_has_waited_longest_when_too_many_are_open) {
  scratch_folder folder;
  clock_now = {};
  store_writer store(settings_for(folder.path()));
  ASSERT_FALSE(append(store, block_from({999, 7}, 1)));
  for (std::uint64_t i = 1; i <= 3; ++i) { // one session, which changes its run
    clock_now += 1ms;
    ASSERT_FALSE(append(store, block_from({42, static_cast<std::uint32_t>(i)}, i)));
  }
  clock_now += 1ms;
  ASSERT_FALSE(append(store, block_from({999, 7}, 2))); // so the second file waits longest
  for (std::uint32_t n = 0; n < 253; ++n) {
    clock_now += 1ms;
    ASSERT_FALSE(append(store, block_from({1000 + n, 7, n + 1}, 1)));
  }
  ASSERT_FALSE(store.commit());
  const auto files = block_files_in(folder.path());
  EXPECT_EQ(files.size(), 257U);
  for (const auto& f : files) EXPECT_EQ(f.complete.has_value(), f.number == 2) << f.number;
  std::map<std::uint64_t, std::uint64_t> last;
  for (const auto& [of, sequence] : contents(folder.path()))
    EXPECT_EQ(sequence, ++last[of]) << "in their order";
}

TEST(store_split, completes_at_a_start_what_a_killed_receiver_left) {
  for (const auto* state : {"open", "sidecar begun", "sidecar made", "complete"}) {
    scratch_folder folder;
    {
      store_writer store(settings_for(folder.path()));
      for (const sender& by : {left, right}) ASSERT_FALSE(append(store, block_from(by, 1)));
      ASSERT_FALSE(store.commit());
      if (state != std::string("open")) {
        ASSERT_FALSE(store.complete_all_files());
      }
    }
    const fs::path complete = folder.path() + "/blocks-000001-run000007-node0.kl3";
    const fs::path sidecar = folder.path() + "/blocks-000001-run000007-node0.json";
    if (state == std::string("sidecar begun")) {
      write_file(sidecar.string() + ".new", bytes(7));
      fs::remove(sidecar);
    }
    if (std::string(state).starts_with("sidecar"))
      fs::rename(complete, folder.path() + "/blocks-000001.kl3");
    store_writer store(settings_for(folder.path()));
    EXPECT_TRUE(store.take_news().empty()) << state;
    EXPECT_EQ(files_in(folder.path()),
              (names{"blocks-000001-run000007-node0.json", "blocks-000001-run000007-node0.kl3",
                     "blocks-000002-run000007-node1.json", "blocks-000002-run000007-node1.kl3"}))
        << state;
    EXPECT_EQ(sidecar_of(complete).at("bytes").to_number<std::uint64_t>(), fs::file_size(complete));
    EXPECT_EQ(store.last_stored(left.session), 1U);
    ASSERT_FALSE(append(store, block_from(left, 2))) << "in the middle of its run";
    ASSERT_FALSE(store.complete_all_files());
    EXPECT_TRUE(fs::exists(folder.path() + "/blocks-000003-run000007-node0.kl3"));
    EXPECT_EQ(contents(folder.path()).size(), 3U);
  }
}

TEST(store_split, without_sync_reports_what_the_disk_did_not_keep_and_flushes_from_then_on) {
  scratch_folder folder;
  clock_now = {};
  store_settings settings = settings_for(folder.path());
  settings.flush = test::flush_if_it_works;
  store_writer store(settings);
  test::disk_works = false;
  ASSERT_FALSE(append(store, block_from(left, 1)));
  ASSERT_FALSE(store.commit());
  std::error_code error;
  for (int i = 0; !error && i < 10'000; ++i) {
    clock_now += 10ms;
    error = store.complete_idle_files();
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(error, std::errc::io_error);
  EXPECT_TRUE(store.has_doubtful_blocks());
  EXPECT_EQ(store.take_news().size(), 1U);
  ASSERT_FALSE(append(store, block_from(left, 2)));
  EXPECT_TRUE(store.commit()) << "it is not acknowledged";
  test::disk_works = true;
  ASSERT_FALSE(append(store, block_from(left, 2)));
  EXPECT_FALSE(store.commit());
  ASSERT_FALSE(store.complete_all_files());
  EXPECT_EQ(files_in(folder.path()),
            (names{"blocks-000001.kl3", "blocks-000003-run000007-node0.json",
                   "blocks-000003-run000007-node0.kl3"}))
      << "the next start checks the doubtful file";
}

/// The checksum of a file that lost a block again is that of what is in it.
TEST(store_split, tells_the_checksum_of_a_file_from_which_blocks_were_taken_back) {
  scratch_folder folder;
  static int failures;
  failures = 0;
  store_settings settings = settings_for(folder.path());
  settings.sync = true;
  settings.flush = [](int) {
    errno = EIO;
    return failures-- > 0 ? -1 : 0;
  };
  store_writer store(settings);
  ASSERT_FALSE(append(store, block_from(left, 1)));
  ASSERT_FALSE(store.commit());
  ASSERT_FALSE(append(store, block_from(left, 2)));
  failures = 1;
  EXPECT_TRUE(store.commit());
  ASSERT_FALSE(append(store, block_from(left, 2)));
  ASSERT_FALSE(store.complete_all_files());
  const auto file = find_store_file(folder.path(), 1);
  const auto said = sidecar_of(file);
  EXPECT_EQ(said.at("bytes").to_number<std::uint64_t>(), fs::file_size(file));
  EXPECT_EQ(said.at("crc32c").as_string(), hexadecimal(crc32c(read_file(file))));
}

TEST(store_split, leaves_to_the_next_start_what_a_full_disk_did_not_let_it_complete) {
  scratch_folder folder;
  {
    store_writer store(settings_for(folder.path()));
    ASSERT_FALSE(append(store, block_from(left, 1)));
    ASSERT_FALSE(store.commit());
    const file_size_limit limit(16);
    ASSERT_FALSE(store.complete_all_files());
    EXPECT_EQ(files_in(folder.path()), (names{"blocks-000001.kl3"}));
    EXPECT_FALSE(store.take_news().empty());
  }
  const store_writer next(settings_for(folder.path()));
  EXPECT_EQ(files_in(folder.path()),
            (names{"blocks-000001-run000007-node0.json", "blocks-000001-run000007-node0.kl3"}));
}

TEST(store_split, leaves_no_file_without_a_block) {
  scratch_folder folder;
  disk_works = true;
  store_settings settings = on_doubtful_disk(folder.path());
  store_writer store(settings);
  for (int attempt = 0; attempt < 3; ++attempt) {
    ASSERT_FALSE(append(store, block_from(left, 1)));
    disk_works = false;
    EXPECT_TRUE(store.commit());
    disk_works = true;
  }
  EXPECT_EQ(files_in(folder.path()).size(), 1U);
  EXPECT_FALSE(store.complete_all_files());
  EXPECT_EQ(files_in(folder.path()), names{});
}

} // namespace
} // namespace l3
