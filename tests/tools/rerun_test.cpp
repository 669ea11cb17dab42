// SPDX-License-Identifier: Apache-2.0
// A kept batch is computed again with any stored results: they may be its fault.
#include "tools/rerun/rerun.hpp"

#include <gtest/gtest.h>

#include "tests/tools/temporary_folder.hpp"
#include "transport/file/batch_file.hpp"

namespace l3 {
namespace {

/// One event of one fragment that is carried as it is.
batch_file made(const stored_result& result) {
  batch_file b;
  b.events = {{.spill = 3, .number = 9, .fragments = 1}};
  b.fragments = {{.piece_bytes = 8, .bytes = 8, .raw = 1}};
  b.pieces = {0};
  b.input.resize(8);
  b.results = {result};
  b.output.resize(16);
  return b;
}

class reruns : public testing::Test {
protected:
  /// The text of a run on the serial executor, which must find differences.
  std::string told_of(const stored_result& result) const {
    const auto file = folder_.path() / "one.l3batch";
    write_batch_file(file, made(result));
    compute_settings serial;
    serial.where = backend::serial;
    testing::internal::CaptureStdout();
    EXPECT_FALSE(rerun(file, serial));
    return testing::internal::GetCapturedStdout();
  }

private:
  temporary_folder folder_;
};

TEST_F(reruns, tell_of_an_event_that_is_said_to_lie_outside_the_output) {
  constexpr std::uint64_t far_away = ~std::uint64_t{0};
  for (const auto& r : {stored_result{.offset = 8, .bytes = 9, .kept = 1},
                        stored_result{.offset = far_away, .bytes = 8, .kept = 1}}) {
    const auto told = told_of(r);
    EXPECT_NE(told.find("spill 3, event 9 has an entry that points outside the output"), told.npos)
        << told;
  }
}

TEST_F(reruns, do_not_look_where_a_rejected_event_is_said_to_lie) {
  const auto told = told_of({.offset = ~std::uint64_t{0}, .bytes = 8});
  EXPECT_NE(told.find("spill 3, event 9 is rejected"), told.npos) << told;
}

} // namespace
} // namespace l3
