// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/hot_inputs_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/transport/store/packed_events.hpp"

namespace l3 {
namespace {

using addresses = std::vector<input_address>;

const std::string header = "input,gain,time,threshold,dead\n";

class hot_inputs_files : public testing::Test {
protected:
  static const detector& koto() {
    static const detector d = default_detector();
    return d;
  }
  void write(const std::string& text) const { std::ofstream(file_) << text; }
  [[nodiscard]] std::string text() const {
    std::ostringstream all;
    all << std::ifstream(file_).rdbuf();
    return all.str();
  }
  [[nodiscard]] hot_inputs_file read() const { return read_hot_inputs(file_, koto()); }
  [[nodiscard]] added_inputs add(const addresses& hot) const {
    return add_hot_inputs(file_, hot, koto());
  }
  /// Why the file of this text masks nothing.
  [[nodiscard]] std::string refusal(const std::string& of) const {
    write(of);
    const auto found = read();
    EXPECT_TRUE(found.inputs.empty());
    return found.refusal;
  }
  [[nodiscard]] std::string told(const std::string& why) const {
    return "no input is masked: " + why + "; mend " + file_ + " or remove it";
  }

  test::scratch_folder folder_;
  std::string file_ = (std::filesystem::path(folder_.path()) / "node3.hot-inputs.csv").string();
};

TEST_F(hot_inputs_files, mask_nothing_where_there_is_none) {
  EXPECT_EQ(read().inputs, addresses{});
  EXPECT_EQ(read().refusal, "");
  EXPECT_EQ(add({}).inputs, addresses{});
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(hot_inputs_files, grow_by_what_is_hot_and_keep_what_a_person_wrote) {
  EXPECT_EQ(add({{0, 3, 7}, {12, 4, 0}}).inputs, (addresses{{0, 3, 7}, {12, 4, 0}}));
  EXPECT_EQ(text(), header + "0/3/7,,,,1\n12/4/0,,,,1\n");
  write("# the expert knows\n" + header + "12/4/0,,,,1\n0/3/9,,,,0\n"); // 0/3/7 is taken back
  EXPECT_EQ(read().inputs, (addresses{{12, 4, 0}}));
  EXPECT_EQ(add({{12, 4, 0}}).inputs, addresses{});
  EXPECT_EQ(add({{0, 3, 8}, {0, 3, 9}, {12, 4, 0}}).inputs, (addresses{{0, 3, 8}, {0, 3, 9}}));
  EXPECT_EQ(text(), "# the expert knows\n" + header + "12/4/0,,,,1\n0/3/9,,,,1\n0/3/8,,,,1\n");
  EXPECT_EQ(read().inputs, (addresses{{0, 3, 8}, {0, 3, 9}, {12, 4, 0}}));
}

TEST_F(hot_inputs_files, that_are_damaged_mask_nothing_and_stay) {
  const std::string bad = header + "0/3/7,,,,1\n0/2/7,,,,1\n";
  EXPECT_EQ(refusal(bad),
            told(file_ + ":3:1: the readout has no input 0/2/7; correct it or leave it out"));
  EXPECT_EQ(add({{0, 3, 8}}).refusal, read().refusal);
  EXPECT_EQ(text(), bad);
  EXPECT_NE(refusal(""), "");
  EXPECT_NE(refusal(std::string("\0\1\2", 3)), "");
  EXPECT_EQ(refusal("runs," + header + "7-,0/3/7,,,,1\n"), told("its lines are of some runs only"));
  for (const std::string before : {"\xef\xbb\xbf", " ", "# shifts of May\n\t"})
    EXPECT_EQ(refusal(before + "runs," + header + "7-,0/3/7,,,,1\n"),
              told("its lines are of some runs only"));
  const std::string good = header + "0/3/7,,,,1\n";
  write(good + std::string((1 << 20) - good.size(), '\n'));
  EXPECT_EQ(read().refusal, "");
  EXPECT_EQ(refusal(good + std::string((1 << 20) + 1 - good.size(), '\n')),
            told(file_ + ": has 1048577 bytes; at most 1048576 are read"));
  std::filesystem::remove(file_);
  std::filesystem::create_directory(file_);
  EXPECT_NE(read().refusal, "");
}

TEST_F(hot_inputs_files, never_mask_more_than_a_hundred) {
  addresses many;
  for (const crystal& c : koto().crystals())
    if (many.size() <= most_masked_inputs) many.push_back(c.at);
  std::ranges::sort(many);
  EXPECT_EQ(add(many).inputs, addresses{});
  EXPECT_TRUE(add(many).refusal.starts_with("101 inputs would be masked, more than 100: none"));
  EXPECT_FALSE(std::filesystem::exists(file_));
  const input_address last = many.back();
  many.pop_back();
  EXPECT_EQ(add(many).inputs, many);
  EXPECT_EQ(add({last}).inputs, addresses{});
  EXPECT_EQ(read().inputs, many);
  EXPECT_EQ(refusal(text() + to_string(last) + ",,,,1\n"),
            told("it lists 101 inputs, more than 100"));
}

TEST_F(hot_inputs_files, that_cannot_be_written_are_told) {
  file_ = "/there/is/no/folder/node3.hot-inputs.csv";
  EXPECT_EQ(add({{0, 3, 7}}).refusal, file_ + " cannot be written: No such file or directory");
}

} // namespace
} // namespace l3
