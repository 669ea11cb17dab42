// SPDX-License-Identifier: Apache-2.0
#include "selection/detector/dead_inputs.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using addresses = std::vector<input_address>;

const detector& koto() {
  static const detector d = default_detector();
  return d;
}

calibration read(const std::string& table) {
  return calibration_of_run(table, "c.csv", koto(), 1).inputs;
}

const std::string header = "input,gain,time,threshold,dead\n";

TEST(dead_inputs, of_no_table_make_one) {
  const std::string made = with_dead("", addresses{{12, 4, 0}, {0, 3, 7}});
  EXPECT_EQ(made, header + "0/3/7,,,,1\n12/4/0,,,,1\n");
  EXPECT_EQ(dead_by(read(made), koto()), (addresses{{0, 3, 7}, {12, 4, 0}}));
  EXPECT_EQ(with_dead("", addresses{}), header);
}

TEST(dead_inputs, keep_what_else_their_lines_say) {
  const std::string table = "# of May\n" + header + "0/3/7, 0.09,-2.5,12,0\n0/3/8,0.5,,,";
  const std::string made = with_dead(table, addresses{{0, 3, 7}, {0, 3, 9}});
  EXPECT_EQ(made, "# of May\n" + header + "0/3/7,0.09,-2.5,12,1\n0/3/8,0.5,,,\n0/3/9,,,,1\n");
  const auto c = read(made);
  EXPECT_EQ(dead_by(c, koto()), (addresses{{0, 3, 7}, {0, 3, 9}}));
  EXPECT_EQ(c[koto().number_of({0, 3, 7})].gain, 0.09);
  EXPECT_EQ(c[koto().number_of({0, 3, 8})].gain, 0.5);
  EXPECT_EQ(with_dead(made, addresses{{0, 3, 9}, {0, 3, 7}}), made) << "they are dead already";
}

TEST(dead_inputs, stand_in_tables_with_pedestals) {
  const std::string levels = "input,gain,time,threshold,dead,pedestal,noise\n";
  const std::string made =
      with_dead(levels + "0/3/7,,,,,512.3,2.4\r\n", addresses{{0, 3, 7}, {0, 3, 9}});
  EXPECT_EQ(made, levels + "0/3/7,,,,1,512.3,2.4\n0/3/9,,,,1,,\n");
  EXPECT_EQ(read(made)[koto().number_of({0, 3, 7})].pedestal, 512.3);
}

TEST(dead_inputs, by_the_description_are_not_by_the_calibration) {
  detector d = default_detector();
  d.kill({0, 3, 7});
  EXPECT_EQ(dead_by(nominal_calibration(d), d), addresses{});
  const auto c = calibration_of_run(header + "0/3/7,,,,1\n0/3/8,,,,1\n", "c.csv", d, 1).inputs;
  EXPECT_EQ(dead_by(c, d), (addresses{{0, 3, 8}}));
}

} // namespace
} // namespace l3
