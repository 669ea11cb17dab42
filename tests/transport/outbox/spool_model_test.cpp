// SPDX-License-Identifier: Apache-2.0
// A spool against a map that cannot be wrong: random appends, releases, reads and new starts, some
// behind a torn block or a torn file; and all of it at once from several threads.
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "tests/transport/outbox/spool_blocks.hpp"
#include "transport/outbox/spool.hpp"

namespace l3 {
namespace {

using test::first_of;
using test::last_of;
using test::spool_block;

struct modelled_block {
  std::size_t payload = 0;
  std::uint32_t events = 0;
  std::uint64_t segment = 0;
};

class model {
public:
  explicit model(std::uint32_t seed) : random_(seed) { start(); }

  void step() {
    switch (random_() % 16) {
    case 0: start(); break;
    case 1:
    case 2:
    case 3: release(); break;
    case 4:
    case 5:
    case 6:
    case 7: read(); break;
    default: append();
    }
    compare();
  }

  /// When everything was released, a daemon leaves an empty list of releases and nothing else.
  void finish() {
    for (std::uint64_t lane = 1; lane <= lanes; ++lane) disk_->release(lane, next_[lane]);
    disk_.reset();
    EXPECT_EQ(test::files_in(folder_.path()), 1U);
    for (const auto b : test::read_file(folder_.path() + "/released.kl3r"))
      ASSERT_EQ(b, std::byte{0});
  }

private:
  static constexpr std::uint64_t lanes = 3;
  static constexpr std::uint64_t size = 40'000;
  std::uint64_t any_lane() { return 1 + random_() % lanes; }

  void start() {
    disk_.reset();
    const bool torn = random_() % 2 == 0 && tear_the_newest();
    auto settings = test::small_spool(folder_.path(), 4'000);
    settings.size = {size};
    const auto lying = totals_in_spool(folder_.path(), {}); // as long as no daemon uses it
    disk_.emplace(settings);
    EXPECT_EQ(lying.blocks, disk_->totals().blocks);
    EXPECT_EQ(lying.events, disk_->totals().events);
    EXPECT_EQ(disk_->found().damaged, 0U);
    EXPECT_EQ(disk_->found().torn_tails, torn ? 1U : 0U);
    std::size_t lanes_left = 0;
    for (const auto& [lane, blocks] : blocks_) {
      if (blocks.empty()) continue;
      ++lanes_left;
      // What comes before the first block is gone, and told of.
      released_[lane] = std::max(released_[lane], blocks.begin()->first - 1);
    }
    EXPECT_EQ(disk_->found().lanes.size(), lanes_left);
    newest_ = 0;
  }

  /// As a crash in the middle of a block, or of the head of a new file. False: there is no segment.
  bool tear_the_newest() {
    const auto all = segments();
    if (all.empty()) return false;
    const bool new_file = random_() % 4 == 0;
    const auto path = test::segment_path(folder_.path(), all.back() + (new_file ? 1 : 0));
    auto file = test::read_file(path);
    const auto part = new_file ? test::bytes(test::head_bytes) : spool_block(1, 1);
    file.insert(file.end(), part.begin(), part.end() - 1 - random_() % (part.size() - 1));
    test::write_file(path, file);
    return true;
  }

  [[nodiscard]] std::vector<std::uint64_t> segments() const {
    return store_file_numbers(folder_.path(), store_kind::spool);
  }

  void append() {
    const auto lane = any_lane();
    auto& next = next_[lane];
    next += 1 + (random_() % 4 == 0 ? random_() % 5 : 0);
    const auto events = static_cast<std::uint32_t>(random_() % 9);
    const std::size_t least = events * sizeof(packed_event);
    modelled_block block{events == 0 ? 0 : least + random_() % 1'300, events};
    const bool fits =
        disk_->capacity() >= block.payload + sizeof(block_header) + sizeof(store_file_header);
    const auto error = disk_->append(spool_block(lane, next, block.payload, block.events));
    EXPECT_EQ(disk_->full(), static_cast<bool>(error));
    if (error) {
      EXPECT_EQ(error, std::errc::no_space_on_device);
      EXPECT_FALSE(fits);
    } else {
      newest_ = block.segment = segments().back();
      blocks_[lane][next] = block;
    }
  }

  void release() {
    const auto lane = any_lane();
    const auto up_to = next_[lane] - std::min<std::uint64_t>(next_[lane], random_() % 12);
    disk_->release(lane, up_to);
    released_[lane] = std::max(released_[lane], up_to);
    auto& blocks = blocks_[lane];
    blocks.erase(blocks.begin(), blocks.upper_bound(up_to));
  }

  void read() {
    const auto lane = any_lane();
    const auto& blocks = blocks_[lane];
    const auto wanted = next_[lane] + 2 - std::min<std::uint64_t>(next_[lane] + 2, random_() % 20);
    test::bytes bytes;
    const auto result = disk_->read(lane, wanted, bytes);
    if (blocks.empty() || wanted > blocks.rbegin()->first) {
      EXPECT_EQ(result.error, std::errc::no_such_file_or_directory);
    } else if (wanted <= released_[lane]) { // a new start may have forgotten that
      EXPECT_FALSE(result.whole || result.lost_events != 0);
    } else if (const auto found = blocks.find(wanted); found == blocks.end()) {
      EXPECT_FALSE(result.error || result.whole || result.lost_events != 0);
      EXPECT_EQ(bytes.size(), sizeof(block_header));
      block_header header;
      EXPECT_EQ(check_block(bytes, header), block_fault::none);
      EXPECT_EQ(header.session, lane);
      EXPECT_EQ(header.sequence, wanted);
      EXPECT_EQ(header.run, 7U);
      EXPECT_EQ(header.node, lane);
    } else {
      EXPECT_TRUE(result.whole);
      EXPECT_EQ(bytes, spool_block(lane, wanted, found->second.payload, found->second.events));
    }
  }

  void compare() {
    std::uint64_t blocks = 0;
    std::uint64_t events = 0;
    std::uint64_t bytes = 0;
    std::set<std::uint64_t> needed;
    for (const auto& [lane, of] : blocks_) {
      EXPECT_EQ(first_of(*disk_, lane).value_or(0), of.empty() ? 0 : of.begin()->first);
      EXPECT_EQ(last_of(*disk_, lane).value_or(0), of.empty() ? 0 : of.rbegin()->first);
      for (const auto& [sequence, block] : of) {
        ++blocks;
        events += block.events;
        bytes += block.payload + sizeof(block_header);
        needed.insert(block.segment);
      }
    }
    EXPECT_EQ(disk_->totals().blocks, blocks);
    EXPECT_EQ(disk_->totals().events, events);
    EXPECT_EQ(disk_->totals().bytes, bytes);
    EXPECT_EQ(disk_->totals().damaged, 0U);
    std::uint64_t on_disk = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
      if (file.path().extension() == ".kl3") on_disk += file.file_size();
    }
    EXPECT_EQ(disk_->totals().disk_bytes, on_disk);
    EXPECT_LE(on_disk, size);
    EXPECT_GE(disk_->capacity(), size - on_disk);
    for (const auto number : segments())
      EXPECT_TRUE(needed.contains(number) || number == newest_) << "no block in it is needed";
  }

  test::scratch_folder folder_;
  std::mt19937 random_;
  std::optional<spool> disk_;
  std::map<std::uint64_t, std::map<std::uint64_t, modelled_block>> blocks_;
  std::map<std::uint64_t, std::uint64_t> next_;
  std::map<std::uint64_t, std::uint64_t> released_;
  std::uint64_t newest_ = 0; ///< the segment being written; 0: none
};

TEST(spool_model, agrees_with_a_map) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    model both(seed);
    for (int i = 0; i < 400; ++i) {
      both.step();
      ASSERT_FALSE(::testing::Test::HasFailure()) << "step " << i;
    }
    both.finish();
  }
}

TEST(spool_threads, reads_and_releases_while_it_is_written) {
  constexpr std::uint64_t last = 3'000;
  const test::scratch_folder folder;
  spool disk(test::small_spool(folder.path(), 20'000));
  std::atomic<std::uint64_t> stored{0}; // by the far end
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> refused{0};
  {
    const std::jthread writing([&] {
      for (std::uint64_t i = 1; i <= last; ++i) {
        while (disk.append(spool_block(1, i))) {
          ++refused;
          std::this_thread::yield();
        }
        EXPECT_FALSE(disk.append(spool_block(2, i)));
        disk.release(2, i - i % 2);
      }
    });
    const std::jthread reading([&] {
      test::bytes block;
      for (std::uint64_t i = 1; i <= last;) {
        if (last_of(disk, 1).value_or(0) < i) {
          std::this_thread::yield();
          continue;
        }
        ASSERT_TRUE(disk.read(1, i, block).whole) << i;
        ASSERT_EQ(block, spool_block(1, i)) << i;
        stored = i++;
      }
    });
    const std::jthread releasing([&] {
      while (stored < last) {
        disk.release(1, stored);
        std::this_thread::yield();
      }
      disk.release(1, last);
      done = true;
    });
    const std::jthread watching([&] {
      while (!done) {
        EXPECT_LE(disk.totals().disk_bytes, mebibytes(8).bytes);
        EXPECT_LE(disk.totals().blocks, 2 * last);
        (void)(disk.full() || disk.capacity() + disk.totals().bytes + disk.totals().events +
                                      disk.totals().damaged ==
                                  0);
        std::this_thread::yield();
      }
    });
  }
  disk.release(2, last);
  EXPECT_EQ(disk.totals().blocks, 0U);
  EXPECT_EQ(disk.totals().bytes, 0U);
  EXPECT_EQ(disk.totals().damaged, 0U);
  EXPECT_LE(disk.totals().disk_bytes, 20'000U) << "the segment being written";
}

} // namespace
} // namespace l3
