// SPDX-License-Identifier: Apache-2.0
#include "selection/trigger/recorded_settings.hpp"

#include <cstring>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "selection/detector/detector.hpp"
#include "selection/trigger/load_selection.hpp"
#include "selection/trigger/parse_selection.hpp"

namespace l3 {
namespace {

recorded_settings arbitrary_settings() {
  recorded_settings s;
  s.software = *rc::gen::arbitrary<std::string>();
  s.crates = readout::koto();
  s.crates.crates.resize(*rc::gen::inRange<std::size_t>(1, 19));
  if (*rc::gen::arbitrary<bool>()) return s; // no selection ran
  s.mode = *rc::gen::element(selection_mode::select, selection_mode::record);
  s.lines = *rc::gen::nonEmpty<std::string>();
  s.detector = *rc::gen::nonEmpty<std::string>();
  s.calibration = *rc::gen::arbitrary<std::string>();
  return s;
}

RC_GTEST_PROP(recorded_settings, come_back_as_they_were, ()) {
  const recorded_settings s = arbitrary_settings();
  const auto bytes = encode(s);
  RC_ASSERT(bytes.size() % 8 == 0);
  RC_ASSERT(decode_settings(bytes) == s);
}

TEST(recorded_settings, pass_over_entries_of_later_versions) {
  recorded_settings s;
  s.software = "koto-l3d 9";
  s.crates = readout::koto();
  auto bytes = encode(s);
  const std::uint32_t entry[] = {77, 5};
  const std::size_t end = bytes.size();
  bytes.resize(end + 16);
  std::memcpy(bytes.data() + end, entry, sizeof entry);
  EXPECT_EQ(decode_settings(bytes), s);
}

TEST(recorded_settings, make_the_same_tables_again) {
  const auto read =
      load_selection({built_in, built_in, "", selection_mode::record}, readout::koto(), 7);
  EXPECT_EQ(read.recorded.lines, default_selection_text());
  EXPECT_EQ(read.recorded.detector, default_detector_text());
  const auto again = decode_settings(encode(read.recorded));
  ASSERT_TRUE(again);
  const auto made = load_selection(*again, "the settings", 7);
  EXPECT_EQ(made.tables.constants.settings, read.tables.constants.settings);
  EXPECT_EQ(made.tables.constants.record, 1U);
  EXPECT_EQ(made.line_names(), read.line_names());
}

} // namespace
} // namespace l3
