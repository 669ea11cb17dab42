// SPDX-License-Identifier: Apache-2.0
#include "selection/detector/cable_map.hpp"

#include <algorithm>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "selection/trigger/make_tables.hpp"
#include "selection/trigger/parse_selection.hpp"
#include "tests/error_of.hpp"

namespace l3 {
namespace {

const std::string& map_of_koto() {
  static const std::string table = to_table(default_detector());
  return table;
}

/// The built-in description with this map.
std::string described(const std::string& table) {
  return std::string(default_detector_text()) + "\n#!cables cables.csv\n" + table;
}
detector with(const std::string& table) {
  return parse_detector(described(table), "detector.toml");
}

std::string refusal_of(const std::string& description) {
  return error_of([&] { return parse_detector(description, "detector.toml"); });
}

std::string refusal(const std::string& table) { return refusal_of(described(table)); }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// The map with one line changed; lines count from 1.
std::string changed(std::size_t line, const std::string& to) {
  auto lines = lines_of(map_of_koto());
  lines[line - 1] = to;
  return joined(lines);
}

std::uint32_t settings_of(const detector& d) {
  return make_tables(d, nominal_calibration(d), default_selection(), 1).constants.settings;
}

TEST(cable_map, may_have_its_lines_in_any_order) {
  auto lines = lines_of(map_of_koto());
  std::mt19937 random(1);
  std::shuffle(lines.begin() + 1, lines.end(), random);
  EXPECT_EQ(settings_of(with(joined(lines))), settings_of(default_detector()));
}

TEST(cable_map, may_put_any_part_on_any_input) {
  // The inputs of all crystals change places, and so do those of a counter's modules.
  auto lines = lines_of(map_of_koto());
  std::vector<std::string> inputs;
  const auto is_crystal = [](const std::string& line) { return line.find(",CSI,") != line.npos; };
  for (const auto& line : lines)
    if (is_crystal(line)) inputs.push_back(line.substr(0, line.find(',')));
  std::mt19937 random(2);
  std::shuffle(inputs.begin(), inputs.end(), random);
  for (auto& line : lines)
    if (is_crystal(line)) {
      line = inputs.back() + line.substr(line.find(','));
      inputs.pop_back();
    }
  const detector d = with(joined(lines));
  const detector usual = default_detector();
  ASSERT_EQ(d.crystals().size(), usual.crystals().size());
  std::size_t moved = 0;
  for (std::size_t n = 0; n < d.crystals().size(); ++n) {
    EXPECT_EQ(d.crystals()[n].x, usual.crystals()[n].x);
    moved += d.crystals()[n].at != usual.crystals()[n].at ? 1 : 0;
    EXPECT_EQ(d.at(d.number_of(d.crystals()[n].at)).index, n);
  }
  EXPECT_GT(moved, 2000U);
  EXPECT_NE(settings_of(d), settings_of(usual));
}

bool has(const std::string& said, const std::string& part) { return said.find(part) != said.npos; }

TEST(cable_map, tells_what_is_wrong_with_a_line_and_where) {
  const auto lines = lines_of(map_of_koto());
  ASSERT_EQ(lines[1], "0/3/0,CSI,0,,-587.5,-587.5,25");
  const std::pair<const char*, const char*> cases[] = {
      {"0/3,CSI,0,,-587.5,-587.5,25",
       "cables.csv:2:1: \"0/3\" is not an input; write crate/slot/channel, such as 0/3/7"},
      {"0/2/0,CSI,0,,-587.5,-587.5,25", ":2:1: the readout has no input 0/2/0"},
      {"0/3/0,CSI,zero,,-587.5,-587.5,25", ":2:11: module \"zero\" is not a number"},
      {"0/3/0,CSI,0,1,-587.5,-587.5,25", ":2:13: a crystal has no end"},
      {"0/3/0,CSI,0,,nan,-587.5,25", ":2:14: x \"nan\" is not a number"},
      {"0/3/0,CSI,0,,-9999,-587.5,25", ":2:14: x -9999 is out of range -3200..3200"},
      {"0/3/0,CSI,0,,-587.5,-587.5", ":2:1: a line has 7 fields, this one 6"},
      {"0/3/0,,0,,-587.5,-587.5,25", ":2:7: the detector is missing"},
      {"0/3/0,CSI,,,-587.5,-587.5,25", ":2:11: the module is missing"},
      {"0/3/0,CSI,0,,-587.5,-587.5,26",
       ":2:14: crystal 0 has the size 26, which is neither small_"},
      {"0/3/0,CSI,0,,-562.5,-587.5,25", ":3:14: crystal 1 overlaps crystal 0"},
  };
  for (const auto& [line, message] : cases) {
    const std::string said = refusal(changed(2, line));
    EXPECT_TRUE(has(said, message)) << line << ": " << said;
  }
  EXPECT_EQ(refusal("\xef\xbb\xbf" + map_of_koto()), "") << "a byte order mark";
  EXPECT_TRUE(has(refusal("a,b\n"), "cables.csv:1:1: the table must begin with its header; write "
                                    "input,detector,module,end,x,y,size"));
  EXPECT_TRUE(has(refusal(""), "cables.csv: the table must begin with its header"));
}

TEST(cable_map, tells_doubles_holes_and_unknown_names) {
  EXPECT_TRUE(has(refusal(changed(3, "0/3/0,CSI,1,,-562.5,-587.5,25")),
                  "cables.csv:3:1: input 0/3/0 already has line 2; remove one"));
  const std::string twice = refusal(changed(3, "0/3/1,CSI,0,,-562.5,-587.5,25"));
  EXPECT_TRUE(has(twice, ":3:11: crystal 0 has input 0/3/0 already; remove one")) << twice;
  EXPECT_TRUE(has(twice, "cables.csv: crystal 1 has no input; add a line for it")) << twice;
  auto lines = lines_of(map_of_koto());
  const auto at =
      std::ranges::find_if(lines, [](const std::string& line) { return has(line, ",CBAR,3,1"); });
  ASSERT_NE(at, lines.end());
  const std::string input = at->substr(0, at->find(','));
  const std::string place = "cables.csv:" + std::to_string(at - lines.begin() + 1) + ":" +
                            std::to_string(input.size() + 2) + ": the detector has no part ";
  const std::pair<std::string, std::string> cases[] = {
      {"# " + input, "cables.csv: CBAR module 3 end 1 has no input; add a line for it, or lower "
                     "`modules`; dead inputs are named in `dead`"},
      {input + ",CBARR,3,1,,,", place + "named \"CBARR\"; did you mean CBAR?"},
      {input + ",CBAR,64,1,,,", ": CBAR has 64 modules, from 0 to 63; correct the number"},
      {input + ",CBAR,2,1,,,", ": CBAR module 2 end 1 has input "},
      {input + ",CBAR,3,2,,,", ": end 2 is out of range 0..1"},
      {input + ",CBAR,3,1,5,,", ": a counter's input has no position; leave x, y and size empty"},
      {"15/3/0,CBAR,3,1,,,", "cables.csv:"},
      // With a place, too, such a name is unknown: it may be meant for the calorimeter's.
      {input + ",csi,3,,5,5,25", place + "named \"csi\"; there are CSI, "},
      {input + ",XYZ,3,,5,5,25", place + "named \"XYZ\"; there are CSI, "}};
  for (const auto& [line, message] : cases) {
    *at = line;
    const std::string said = refusal(joined(lines));
    EXPECT_TRUE(has(said, message)) << said;
  }
  EXPECT_FALSE(has(refusal(joined(lines)), "has no position"));
}

TEST(cable_map, that_was_cut_short_is_refused) {
  auto lines = lines_of(map_of_koto());
  std::erase_if(lines, [](const std::string& line) {
    return has(line, ",CSI,2714,") || has(line, ",CSI,2715,");
  });
  const std::string said = refusal(joined(lines));
  EXPECT_TRUE(has(said, "cables.csv: crystal 2714 has no input; add a line for it")) << said;
  EXPECT_TRUE(has(said, "crystal 2715 has no input")) << said;
  EXPECT_TRUE(has(refusal(lines[0] + "\n"), "crystal 0 has no input"));
  const std::string beyond = refusal(map_of_koto() + "10/12/12,CSI,2716,,900,900,50\n");
  EXPECT_TRUE(has(beyond, "the calorimeter has 2716 crystals, from 0 to 2715")) << beyond;
}

/// The built-in description without its rules for crystals, and with these lines instead.
std::string without_rules(const std::string& instead) {
  std::string text(default_detector_text());
  for (const char* key : {"first = \"0/3/0\"", "small_columns", "small_hole_columns",
                          "small_tile_columns", "large_radius"}) {
    const auto at = text.find(std::string("\n") + key);
    text.erase(at, text.find('\n', at + 1) - at);
  }
  return text.replace(text.find("\nfront"), 1, "\n" + instead);
}

TEST(cable_map, needs_the_number_of_crystals) {
  const auto refused = [](const std::string& instead) {
    return refusal_of(without_rules(instead) + "\n#!cables cables.csv\n" + map_of_koto());
  };
  EXPECT_EQ(refused("crystals = 2716\n"), "");
  EXPECT_TRUE(has(refused(""), "does not say how many crystals the cable map must have"));
  EXPECT_TRUE(has(refused("crystals = 2717\n"), "crystal 2716 has no input"));
  EXPECT_TRUE(has(refused("small_columns = 48\n"), "large_radius"));
}

TEST(cable_map, is_wanted_with_a_description_that_names_one) {
  EXPECT_TRUE(has(refusal_of("cables = \"cables.csv\"\n" + std::string(default_detector_text())),
                  "detector.toml:1:10: cables = \"cables.csv\" is a file beside the des"));
}

} // namespace
} // namespace l3
