// SPDX-License-Identifier: Apache-2.0
// A store agrees with a model of it while its files are pulled away in any order.
#include <cstdlib>
#include <optional>
#include <set>

#include "tests/transport/store/vanishing_store.hpp"

namespace l3 {
namespace {

using namespace test;

/// What was acknowledged is in the folder, or was counted as lost; what was acknowledged after the
/// hand's last deed is in the folder.
class store_model {
public:
  explicit store_model(std::uint32_t seed) : random_(seed) { start(); }

  void step() {
    switch (random_() % 9) {
    case 0: act(); break;
    case 1: look(); break;
    case 2: start(); break;
    case 3: act_on_the_manifest(); break;
    default: append_and_commit();
    }
  }

private:
  /// The receiver before ends in order, with a ledger, or is killed; then the hand is busy.
  void start() {
    if (store_ && random_() % 2 == 0) {
      look();
      store_->forget_losses();
      lost_.clear();
    }
    store_.reset();
    if (!fs::exists(folder_)) fs::create_directory(folder_);
    for (auto deeds_left = random_() % 3; deeds_left != 0; --deeds_left)
      hand_.act(static_cast<deed>(random_() % static_cast<int>(deed::remove_folder)), "blocks-",
                random_);
    hand_.take_back("blocks-");
    // With the manifest gone, too, nothing tells what there was.
    if (!fs::exists(folder_ / "manifest.kl3m")) forget_all();
    store_settings settings = without_pauses(folder_);
    settings.file_bytes = 4 * block_of(1).size();
    settings.sync = random_() % 8 == 0;
    store_.emplace(settings);
    (void)store_->take_news();
    expect_counted();
  }

  void append_and_commit() {
    const int blocks = 1 + static_cast<int>(random_() % 3);
    sequences sent;
    bool taken = true;
    for (int i = 0; taken && i < blocks; ++i) {
      const std::uint64_t of = session + random_() % 2;
      const auto next = store_->last_stored(of) + 1;
      taken = !append(*store_, block_of(next, of));
      if (taken) sent.emplace_back(of, next);
    }
    (void)store_->commit();
    (void)store_->take_news();
    const auto now = there();
    for (const auto& block : sent) { // an append may have committed some on its way to a next file
      if (block.second > store_->last_stored(block.first)) continue;
      EXPECT_TRUE(now.contains(block)) << block.second << " was acknowledged and is not there";
      safe_.insert(block);
      lost_.erase(block); // it came again
    }
  }

  void act() {
    if (!fs::exists(folder_)) return;
    hand_.act(static_cast<deed>(random_() % deeds), "blocks-", random_);
  }

  /// It is written again by the next look.
  void act_on_the_manifest() {
    if (!fs::exists(folder_)) return;
    hand_.act(static_cast<deed>(random_() % static_cast<int>(deed::remove_folder)), "manifest",
              random_);
    if (random_() % 2 == 0) append_and_commit();
    look();
  }

  void look() {
    (void)store_->look();
    (void)store_->take_news();
    expect_counted();
    EXPECT_TRUE(hand_.target_is_whole());
  }

  /// Each block that was acknowledged is there, or is counted as lost until a ledger has told it,
  /// within the numbers that it gives.
  void expect_counted() {
    const auto now = there();
    for (const auto& block : safe_)
      if (!now.contains(block)) lost_.insert(block);
    safe_ = now;
    EXPECT_EQ(lost_blocks(*store_), lost_.size());
    for (const auto& [of, sequence] : lost_) {
      const auto told = store_->lost().find(of);
      ASSERT_NE(told, store_->lost().end());
      EXPECT_LE(told->second.first, sequence);
      EXPECT_GE(told->second.last, sequence);
    }
    std::uint64_t stored = 0;
    for (const auto& [of, s] : store_->sessions()) stored += s.blocks;
    EXPECT_EQ(stored, now.size()) << "the ledger's sum";
  }

  void forget_all() {
    safe_.clear();
    lost_.clear();
  }

  /// An independent look: links are no files of a store.
  std::set<std::pair<std::uint64_t, std::uint64_t>> there() {
    std::set<std::pair<std::uint64_t, std::uint64_t>> found;
    if (!fs::is_directory(folder_)) return found;
    for (const auto& f : fs::directory_iterator(folder_)) {
      if (f.is_symlink() || f.path().extension() != ".kl3") continue;
      const auto data = read_file(f.path());
      for (std::size_t at = sizeof(store_file_header); at < data.size();) {
        block_header header;
        const auto rest = std::span(data).subspan(at);
        if (read_block_header(rest, header) != block_fault::none) break;
        const auto size = sizeof header + header.payload_bytes;
        if (rest.size() < size || check_block(rest.first(size), header) != block_fault::none) break;
        EXPECT_TRUE(found.emplace(header.session, header.sequence).second) << "twice";
        at += size;
      }
    }
    return found;
  }

  scratch_folder outside_;
  fs::path folder_ = fs::path(outside_.path()) / "store";
  tidy_hand hand_{folder_, outside_.path()};
  std::mt19937 random_;
  std::optional<store_writer> store_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> safe_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> lost_; ///< and in no last ledger
};

TEST(vanishing_store, agrees_with_a_model_while_its_files_are_pulled_away) {
  const std::uint32_t seeds = std::getenv("L3_LONG") != nullptr ? 3000 : 40;
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    store_model both(seed);
    for (int i = 0; i < 60; ++i) {
      both.step();
      ASSERT_FALSE(::testing::Test::HasFailure()) << "step " << i;
    }
  }
}

} // namespace
} // namespace l3
