// SPDX-License-Identifier: Apache-2.0
// What may be read at all, and what is said of the rest.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/toml/complaints.hpp"
#include "config/toml/table.hpp"

namespace l3 {
namespace {

template <class F>
std::string refusal(const F& read) {
  try {
    static_cast<void>(read());
  } catch (const bad_file& e) {
    return e.what();
  }
  return "";
}

std::string said(const std::string& text) {
  return refusal([&] { return parse_toml(text, "f"); });
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  while (times-- > 0) all += text;
  return all;
}

TEST(toml, what_is_nested_too_deeply_is_refused) {
  EXPECT_EQ(said(repeated("a.", 15) + "a = 1"), "");
  EXPECT_NE(said(repeated("a.", 100) + "a = 1").find("this is nested more than 16 levels deep"),
            std::string::npos);
  EXPECT_EQ(said("x = " + repeated("[", 15) + repeated("]", 15)), "");
  EXPECT_NE(said("x = " + repeated("[", 100) + repeated("]", 100)), "");
  EXPECT_NE(said("x = " + repeated("[", 10'000)), "") << "by the parser";
}

TEST(toml, a_byte_order_mark_at_the_beginning_is_passed_over) {
  EXPECT_EQ(said("\xef\xbb\xbf[a.b]\nc = [1]"), "");
}

/// Files that the kernel makes up have the size 0, or a page's, whatever they hold.
TEST(toml, files_are_read_to_their_end_whatever_their_size_says) {
  EXPECT_TRUE(read_text("/proc/version").starts_with("Linux"));
  EXPECT_NE(refusal([] {
              (void)parse_toml(read_text("/proc/version"), "/proc/version");
            }).find("this is not TOML"),
            std::string::npos);
  if (std::filesystem::exists("/sys/class/net/lo/mtu")) {
    EXPECT_EQ(read_text("/sys/class/net/lo/mtu"), "65536\n");
  }
  if (std::filesystem::exists("/proc/kallsyms")) {
    EXPECT_EQ(refusal([] { return read_text("/proc/kallsyms"); }),
              "/proc/kallsyms: has more than 1048576 bytes; at most 1048576 are read");
  }
}

TEST(toml, only_regular_files_of_some_length_are_read) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("l3-toml-test-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string file = folder / "f";
  const auto read = [&] { return refusal([&] { return read_text(file); }); };
  EXPECT_EQ(read(), file + ": cannot be read: No such file or directory");
  std::ofstream(file) << std::string(most_text_bytes, ' ');
  EXPECT_EQ(read(), "");
  std::ofstream(file, std::ios::app) << ' ';
  EXPECT_EQ(read(), file + ": has 1048577 bytes; at most 1048576 are read");
  std::filesystem::resize_file(file, std::uintmax_t{1} << 40); // and is not read to its end
  EXPECT_EQ(read(), file + ": has 1099511627776 bytes; at most 1048576 are read");
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(read(), file + ": is a pipe, not a regular file");
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_EQ(read(), file + ": is a folder, not a file");
  std::filesystem::remove_all(folder);
  EXPECT_EQ(refusal([] { return read_text("/dev/zero"); }),
            "/dev/zero: is a device, not a regular file");
  EXPECT_EQ(refusal([] { return read_text(std::string("/etc/passwd\0x", 13)); }),
            R"("/etc/passwd\u0000x": has a NUL in its name)");
}

TEST(toml, a_text_that_is_not_plain_is_refused_where_it_stands) {
  const std::string nul =
      " this text contains \\u0000, a control or invisible character; remove it";
  EXPECT_EQ(said("a = 1\nb.c = [1, 'x', \"/etc/passwd\\u0000x\"]"), "f:2:16:" + nul);
  EXPECT_EQ(said("a = {b = \"\\U00000000\"}"), "f:1:10:" + nul);
  EXPECT_NE(said(std::string("a = 'x\0y'", 9)), "") << "a byte of zero is no TOML";
  for (const char* number :
       {"\\u001b", "\\u0007", "\\u0008", "\\u007f", "\\u0080", "\\u009b", "\\u202e", "\\u200b"})
    EXPECT_NE(said(std::string("a = \"x") + number + "y\"").find(number), std::string::npos)
        << number;
  EXPECT_EQ(said("a = \"\\u00a0\\u00e9 µ … \\u4e2d\""), "");
}

TEST(toml, no_more_mistakes_are_told_than_a_person_reads) {
  for (const std::size_t mistakes : {999U, 1000U, 1001U, 5000U}) {
    std::string text;
    for (std::size_t k = 0; k < mistakes; ++k) text += "k" + std::to_string(k) + " = 1\n";
    const auto root = parse_toml(text, "f");
    complaints wrong;
    const std::string file = "f";
    toml_table(root, file, wrong).allow({}, {"known"});
    EXPECT_EQ(wrong.take().size(), std::min<std::size_t>(mistakes, 1000));
  }
}

TEST(toml, a_long_value_is_cut_in_messages) {
  const auto shown = [](const std::string& value) {
    return written(parse_toml("x = " + value, "f").as<toml_value::table>()->values.at(0));
  };
  EXPECT_EQ(shown("[1, 2.5, true, 'a', [], {}, 1979-05-27, -inf]"),
            R"([1, 2.5, true, "a", [], {…}, a date or time, -inf])");
  EXPECT_EQ(shown("'" + std::string(101, 'a') + "'"), '"' + std::string(100, 'a') + "…\"");
  EXPECT_EQ(shown("'" + std::string(99, 'a') + "é'"), '"' + std::string(99, 'a') + "…\"");
  EXPECT_LT(shown("[" + repeated("[1, 2, 3],", 10'000) + "]").size(), 120U);
  EXPECT_EQ(shown(R"("\t\n\"")"), R"("\u0009\n\"")");
  EXPECT_EQ(quote("a\u202e\xff\\"), R"("a\u202e\xff\\")");
}

TEST(nearest, knows_the_usual_slips) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("ca", "ac"), 1U);
  EXPECT_EQ(nearest("buidling", {"building", "udp"}), "building");
  EXPECT_EQ(nearest("zzzz", {"building", "udp"}), "");
}

} // namespace
} // namespace l3
