// SPDX-License-Identifier: Apache-2.0
// A spool agrees with a model of it while its files are pulled away in any order.
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "tests/transport/output/vanishing_spool.hpp"

namespace l3 {
namespace {

using namespace test;

/// Blocks that were said to be on disk are there after the hand's last deed; all others are, or
/// were counted as lost.
class spool_model {
public:
  explicit spool_model(std::uint32_t seed) : random_(seed) { start(); }

  void step() {
    switch (random_() % 12) {
    case 0: act(); break;
    case 1: look(); break;
    case 2: start(); break;
    case 3: release(); break;
    case 4:
    case 5: read(); break;
    default: append();
    }
  }

private:
  using number = std::pair<std::uint64_t, std::uint64_t>;

  /// The daemon before ends in order; then the hand is busy. It leaves released.kl3r alone, which
  /// nobody could write again.
  void start() {
    if (disk_) look();
    disk_.reset();
    fs::create_directories(folder_);
    for (auto deeds_left = random_() % 3; deeds_left != 0; --deeds_left)
      hand_.act(static_cast<deed>(random_() % static_cast<int>(deed::remove_folder)), "spool-",
                random_);
    hand_.take_back("spool-");
    disk_.emplace(small_spool(folder_, 4 * block_bytes), without_pauses());
    const auto now = there();
    const auto was_told = [&](const number& block) {
      return std::ranges::any_of(disk_->found().gone, [&](const auto& gone) {
        return gone.session == block.first && gone.first <= block.second &&
               block.second <= gone.last;
      });
    };
    const auto is_hole = [&](const number& block) { // it is counted when it is read
      const auto next = now.upper_bound(block);
      return next != now.begin() && std::prev(next)->first == block.first && next != now.end() &&
             next->first == block.first;
    };
    std::uint64_t needed = 0;
    for (auto block = safe_.begin(); block != safe_.end();) {
      if (now.contains(*block)) {
        ++needed;
        ++block;
      } else {
        EXPECT_TRUE(was_told(*block) || is_hole(*block))
            << block->second << " is gone at a start, and untold";
        block = safe_.erase(block);
      }
    }
    EXPECT_EQ(disk_->found().blocks, needed);
    lost_.clear();
  }

  void append() {
    const std::uint64_t lane = 1 + random_() % 2;
    const number block{lane, next_[lane] + 1};
    if (disk_->append(spool_block(lane, block.second))) return;
    (void)disk_->take_news();
    ++next_[lane];
    safe_.insert(block);
    EXPECT_TRUE(there().contains(block)) << block.second << " was said to be on disk";
  }

  /// A block that was lost and is released thereafter is counted, too.
  void release() {
    look();
    const std::uint64_t lane = 1 + random_() % 2;
    const auto up_to = next_[lane] - std::min<std::uint64_t>(next_[lane], random_() % 9);
    disk_->release(lane, up_to);
    released_[lane] = std::max(released_[lane], up_to);
    std::erase_if(safe_, [&](const number& b) { return b.first == lane && b.second <= up_to; });
  }

  /// Whole, or empty and counted.
  void read() {
    if (safe_.empty()) return;
    auto block = safe_.begin();
    std::advance(block, static_cast<std::ptrdiff_t>(random_() % safe_.size()));
    bytes got;
    const auto result = disk_->read(block->first, block->second, got);
    if (result.error) return;
    if (result.whole) {
      EXPECT_EQ(got, spool_block(block->first, block->second));
    } else {
      EXPECT_EQ(got.size(), sizeof(block_header));
      ++lost_[block->first];
      safe_.erase(block);
    }
  }

  void act() {
    if (!fs::exists(folder_)) return;
    const std::string prefix = random_() % 4 == 0 ? "released" : "spool-";
    hand_.act(static_cast<deed>(random_() % deeds), prefix, random_);
  }

  void look() {
    disk_->look();
    (void)disk_->take_news();
    EXPECT_TRUE(disk_->is_in_place());
    const auto now = there();
    for (auto block = safe_.begin(); block != safe_.end();) {
      if (now.contains(*block)) {
        ++block;
      } else {
        ++lost_[block->first];
        block = safe_.erase(block);
      }
    }
    constexpr std::uint64_t events = 3;
    for (const std::uint64_t lane : {1, 2})
      EXPECT_EQ(disk_->lost_events(lane), events * lost_[lane]) << "lane " << lane;
    EXPECT_EQ(disk_->totals().events, events * safe_.size()) << "the ledger's waiting";
    EXPECT_TRUE(hand_.target_is_whole());
  }

  /// An independent look: links are no segments.
  std::set<number> there() {
    std::set<number> found;
    if (!fs::is_directory(folder_)) return found;
    for (const auto& f : fs::directory_iterator(folder_)) {
      if (f.is_symlink() || f.path().extension() != ".kl3") continue;
      const auto data = read_file(f.path());
      for (std::size_t at = head_bytes; at + block_bytes <= data.size(); at += block_bytes) {
        block_header header;
        if (check_block(std::span(data).subspan(at, block_bytes), header) == block_fault::none)
          found.emplace(header.session, header.sequence);
      }
    }
    return found;
  }

  scratch_folder outside_;
  fs::path folder_ = fs::path(outside_.path()) / "spool";
  tidy_hand hand_{folder_, outside_.path()};
  std::mt19937 random_;
  std::optional<spool> disk_;
  std::set<number> safe_; ///< and neither released nor lost
  std::map<std::uint64_t, std::uint64_t> next_;
  std::map<std::uint64_t, std::uint64_t> released_;
  std::map<std::uint64_t, std::uint64_t> lost_; ///< blocks of a lane, since the start
};

TEST(vanishing_spool, agrees_with_a_model_while_its_files_are_pulled_away) {
  const std::uint32_t seeds = std::getenv("L3_LONG") != nullptr ? 3000 : 100;
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    spool_model both(seed);
    for (int i = 0; i < 150; ++i) {
      both.step();
      ASSERT_FALSE(::testing::Test::HasFailure()) << "step " << i;
    }
  }
}

} // namespace
} // namespace l3
