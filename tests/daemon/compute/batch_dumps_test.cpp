// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/batch_dumps.hpp"

#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "selection/engine/make_engine.hpp"
#include "tests/selection/engine/make_events.hpp"
#include "tests/tools/temporary_folder.hpp"

namespace l3::test {
namespace {

using namespace std::chrono_literals;

const auto events = make_events(4, 3, 4, 29);

class a_computed_frame : public testing::Test {
protected:
  a_computed_frame()
      : made_(make_engine({backend::serial, 0}, {capacity_for(events, 1400), 1})),
        f_(*made_->frames()[0]) {
    randomness r(1);
    fill(f_, events, 1400, r);
    made_->start(f_);
    EXPECT_TRUE(made_->wait(f_));
  }
  static dump_origin origin() {
    dump_origin o;
    o.run = 7;
    o.node = 3;
    o.version = "1.2";
    o.configuration = "[run]\nnumber = 7\n";
    o.lines = "lines";
    o.detector = "detector";
    o.calibration = "calibration";
    return o;
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> all;
    for (const auto& entry : std::filesystem::directory_iterator(dumps_))
      all.push_back(entry.path());
    return all;
  }
  static void wait_for(const batch_dumps& d, std::uint64_t files) {
    while (d.written() + d.skipped() < files) std::this_thread::yield();
  }

  temporary_folder folder_;
  std::filesystem::path dumps_ = folder_.path();
  std::unique_ptr<engine> made_;
  frame& f_;
};

TEST_F(a_computed_frame, is_skipped_so_soon_after_another_or_if_the_folder_holds_enough) {
  {
    batch_dumps d(dumps_, origin());
    d.offer("error", "first", f_);
    wait_for(d, 1);
    d.offer("error", "second", f_);
    EXPECT_EQ(d.skipped(), 1U);
    EXPECT_EQ(d.written(), 1U);
  }
  batch_dumps few(dumps_, origin(), {3, 0s});
  for (std::uint64_t n = 1; n <= 3; ++n) {
    f_.input.serial = n;
    few.offer("error", "again", f_);
    wait_for(few, n);
  }
  EXPECT_EQ(few.written(), 2U);
  EXPECT_EQ(few.skipped(), 1U);
  EXPECT_EQ(files().size(), 3U);
}

TEST_F(a_computed_frame, is_not_kept_where_nothing_can_be_written_or_without_a_folder) {
  batch_dumps d(dumps_ / "missing", origin());
  d.offer("error", "why", f_);
  wait_for(d, 1);
  EXPECT_EQ(d.skipped(), 1U);
  EXPECT_TRUE(files().empty()) << "it makes no folder";
  batch_dumps none("", origin());
  none.offer("error", "why", f_);
  EXPECT_EQ(none.skipped() + none.written(), 0U);
}

} // namespace
} // namespace l3::test
