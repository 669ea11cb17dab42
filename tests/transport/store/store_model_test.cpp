// SPDX-License-Identifier: Apache-2.0
// A store agrees with a model of it through kills, power cuts, full and failing disks in any order:
// what was acknowledged is there, each block once, and of a session nothing is called stored behind
// a block that is missing.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "tests/transport/store/store_files.hpp"

namespace l3 {
namespace {

using namespace test;

time_point now{};

class store_model {
public:
  explicit store_model(std::uint32_t seed) : random_(seed) { start(); }

  void step() {
    switch (any(8)) {
    case 0: end_in_order(); break;
    case 1: cut_the_power(); break;
    case 2: complete_some(); break;
    case 3: on_full_disk(); break;
    case 4: on_failing_disk(); break;
    default: append_and_commit();
    }
    expect_all_there();
  }

private:
  std::uint32_t any(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  void start() {
    store_settings settings = on_doubtful_disk(folder_.path());
    settings.file_bytes = file_bytes_;
    settings.now = [] { return now; };
    disk_works = true;
    store_.emplace(settings);
    (void)store_->take_news();
  }

  void end_in_order() {
    EXPECT_FALSE(store_->complete_all_files());
    store_.reset();
    start();
  }

  void append_some() {
    for (auto left = 1 + any(3); left != 0; --left) {
      const std::uint64_t of = session + any(2);
      const bytes block = block_of(store_->last_stored(of) + 1, of);
      longest_file_ = std::max(longest_file_, sizeof(store_file_header) + block.size());
      if (append(*store_, block)) return;
    }
  }

  /// Commits, or takes back. What the store says then is what daemons are told.
  void commit() {
    (void)store_->commit();
    for (const auto& [of, s] : store_->sessions())
      told_[of] = std::max(told_[of], s.numbers.last());
  }

  void append_and_commit() {
    append_some();
    commit();
  }

  void on_full_disk() {
    const file_size_limit limit(sizeof(store_file_header) + any(6) * 300);
    append_and_commit();
  }

  void on_failing_disk() {
    append_some();
    disk_works = false;
    commit();
    disk_works = true;
  }

  void complete_some() {
    store_->end_session(session + any(2));
    now += std::chrono::seconds(any(4));
    (void)store_->complete_idle_files();
    (void)store_->take_news();
  }

  /// Behind what was committed, the disk has got some bytes and not others.
  void cut_the_power() {
    std::map<std::uint64_t, std::uintmax_t> sizes; // by number of the file
    commit();
    for (const auto& f : block_files_in(folder_.path()))
      sizes[f.number] = fs::file_size(folder_.path() / fs::path(f.text()));
    append_some();
    std::map<fs::path, bytes> left; // a writer that ends commits
    for (const auto& f : block_files_in(folder_.path())) {
      if (f.complete) continue; // it was flushed
      const fs::path file = folder_.path() / fs::path(f.text());
      bytes data = read_file(file);
      const std::size_t committed = sizes[f.number];
      if (data.size() > committed && any(2) == 0)
        data.resize(committed + any(static_cast<std::uint32_t>(data.size() - committed)));
      for (std::size_t at = committed; at < data.size(); at += 64)
        if (any(8) == 0)
          std::fill_n(data.begin() + static_cast<std::ptrdiff_t>(at),
                      std::min<std::size_t>(64, data.size() - at), std::byte{0});
      left[file] = std::move(data);
    }
    disk_works = false;
    store_.reset();
    for (const auto& [file, data] : left) write_file(file, data);
    start();
  }

  void expect_all_there() {
    std::map<std::uint64_t, std::set<std::uint64_t>> there;
    for (const auto& [of, sequence] : contents(folder_.path()))
      EXPECT_TRUE(there[of].insert(sequence).second) << sequence << " twice";
    for (const auto& f : block_files_in(folder_.path()))
      EXPECT_LE(fs::file_size(folder_.path() / fs::path(f.text())), longest_file_);
    for (const auto& [of, last] : told_)
      EXPECT_GE(store_->last_stored(of), last) << "it was acknowledged";
    for (const auto& [of, s] : store_->sessions())
      for (std::uint64_t n = 1; n <= s.numbers.last(); ++n)
        EXPECT_TRUE(there[of].contains(n)) << n << " is called stored";
  }

  const std::size_t file_bytes_ = 4 * block_of(1).size();
  std::size_t longest_file_ = file_bytes_; ///< a longer block has a file of its own
  scratch_folder folder_;
  std::mt19937 random_;
  std::optional<store_writer> store_;
  std::map<std::uint64_t, std::uint64_t> told_; ///< daemons, by session: the last that is stored
};

TEST(store, agrees_with_a_model_through_kills_power_cuts_and_full_disks) {
  const std::uint32_t seeds = std::getenv("L3_LONG") != nullptr ? 3000 : 60;
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
