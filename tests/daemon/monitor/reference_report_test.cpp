// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/reference_report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "transport/histograms/comparison.hpp"

namespace l3 {
namespace {

std::vector<channel_change> changes_of_crate(int crate, int inputs, channel_property what) {
  std::vector<channel_change> changes;
  for (int n = 0; n < inputs; ++n)
    changes.push_back({fmt::format("{}/3/{}", crate, n), what, 1, 2});
  return changes;
}

reference_report of_inputs(std::uint64_t number, const std::string& which) {
  reference_report report;
  report.inputs = number;
  report.which_inputs = which;
  return report;
}

TEST(a_reference_report, names_a_few_inputs_and_what_changed) {
  EXPECT_EQ(report_of(run_changes{}), reference_report{});
  auto changes = changes_of_crate(4, 2, channel_property::noise);
  changes.push_back({"4/3/1", channel_property::pedestal, 1, 2});
  EXPECT_EQ(report_of({changes, {}, {}, {}}), (of_inputs(2, "4/3/0, 4/3/1 (pedestal, noise)")));
}

TEST(a_reference_report, says_of_many_inputs_how_many_each_crate_has) {
  auto changes = changes_of_crate(4, 3, channel_property::pedestal);
  const auto more = changes_of_crate(14, 16, channel_property::pedestal);
  changes.insert(changes.end(), more.begin(), more.end());
  EXPECT_EQ(report_of({changes, {}, {}, {}}),
            (of_inputs(19, "16 of crate 14, 3 of crate 4 (pedestal)")));
}

TEST(a_reference_report, counts_inputs_that_one_run_only_has) {
  const run_changes changes{
      changes_of_crate(4, 1, channel_property::time), {"7/3/0"}, {"9/3/0", "9/3/1"}, {}};
  EXPECT_EQ(report_of(changes), (of_inputs(4, "4/3/0 (time); 7/3/0 (not in the reference); "
                                              "9/3/0, 9/3/1 (only in the reference)")));
}

TEST(a_reference_report, names_histograms_with_both_means) {
  const run_changes changes{
      {}, {}, {}, {{"calorimeter_energy", "MeV", 1323, 910, 0.3}, {"crystals", "", 40, 30.5, 0.2}}};
  const reference_report report = report_of(changes);
  EXPECT_EQ(report.inputs, 0U);
  EXPECT_EQ(report.histograms, 2U);
  EXPECT_EQ(report.which_histograms, "calorimeter_energy (mean 1323 MeV, now 910 MeV), "
                                     "crystals (mean 40, now 30.5)");
}

} // namespace
} // namespace l3
