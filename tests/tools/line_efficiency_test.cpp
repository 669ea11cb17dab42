// SPDX-License-Identifier: Apache-2.0
#include "tools/efficiency/line_efficiency.hpp"

#include <gtest/gtest.h>

#include "selection/trigger/line_id.hpp"

namespace l3 {
namespace {

const std::vector<std::string> names = {"signal", "through", "bias"};

summary_view event(std::vector<std::uint8_t> reasons) {
  summary_view s;
  for (std::size_t n = 0; n < names.size(); ++n) {
    s.lines.push_back({line_id(names[n]), n == 1 ? 10U : 1U});
    if (reasons[n] == line_fired) s.head.kept_by |= 1U << n;
    if (reasons[n] == line_fired || reasons[n] == line_prescale) s.head.fired |= 1U << n;
  }
  s.reasons = std::move(reasons);
  return s;
}

std::map<std::uint32_t, std::string> known() {
  std::map<std::uint32_t, std::string> all;
  for (const std::string& name : names) all.emplace(line_id(name), name);
  return all;
}

TEST(line_efficiency, counts_only_events_that_the_reference_kept) {
  settings_efficiency e(known(), false, {"through", "bias", "none"});
  e.add(event({line_fired, line_fired, line_trigger}), 100);
  e.add(event({line_veto, line_fired, line_fired}), 100);
  e.add(event({line_trigger, line_fired, line_prescale}), 100);
  e.add(event({line_fired, line_prescale, line_trigger}), 100); // the signal's own: no sample
  ASSERT_EQ(e.samples().size(), 2U);
  EXPECT_EQ(e.events(), 4U);
  EXPECT_EQ(e.link_bytes(0), 200U) << "of all events that the line kept, with a reference or not";
  const reference_sample& through = e.samples()[0];
  EXPECT_EQ(through.events, 3U);
  EXPECT_EQ(through.one_in, 10U);
  const line_efficiency& signal = through.lines[0];
  EXPECT_EQ(signal.name, "signal");
  EXPECT_EQ(signal.of_all.some, 1U);
  EXPECT_EQ(signal.of_all.all, 3U);
  EXPECT_EQ(signal.of_triggered.some, 1U);
  EXPECT_EQ(signal.of_triggered.all, 2U) << "one had other level-1 bits";
  EXPECT_EQ(signal.refused[line_veto], 1U);
  EXPECT_EQ(signal.refused[line_trigger], 1U);
  EXPECT_EQ(through.lines[2].of_all.some, 2U) << "it fires before its prescale";
  EXPECT_EQ(e.samples()[1].events, 1U);
}

} // namespace
} // namespace l3
