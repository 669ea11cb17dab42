// SPDX-License-Identifier: Apache-2.0
#include "transport/file/batch_file.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <span>
#include <stdexcept>
#include <vector>

#include "transport/format/crc32c.hpp"

namespace l3 {
namespace {

/// Two events: one of a fragment of two pieces with a board, one of two fragments.
batch_file made() {
  batch_file b;
  b.about = R"({"run":7})";
  b.configuration = "[run]\nnumber = 7\n";
  b.lines = "l";
  b.detector = "dd";
  b.calibration = "ccc";
  b.input.resize(3001);
  for (std::size_t i = 0; i < b.input.size(); ++i) b.input[i] = static_cast<std::byte>(i * 7);
  b.events = {{.spill = 3, .number = 1, .first_fragment = 0, .fragments = 1, .boards = 1},
              {.spill = 3,
               .number = 2,
               .first_fragment = 1,
               .fragments = 2,
               .first_board = 1,
               .boards = 1}};
  b.fragments = {{.first_piece = 0, .piece_bytes = 400, .bytes = 600, .boards = 1, .crate = 0},
                 {.first_piece = 2, .piece_bytes = 800, .bytes = 800, .first_board = 1, .raw = 1},
                 {.first_piece = 3,
                  .piece_bytes = 1000,
                  .bytes = 1000,
                  .first_board = 1,
                  .boards = 1,
                  .crate = 1}};
  b.pieces = {0, 400, 1000, 2000};
  b.boards = {{.offset = 4, .bytes = 500, .slot = 3}, {.offset = 4, .bytes = 900, .slot = 4}};
  b.results.resize(2);
  b.results[0] = {.offset = 0, .bytes = 40, .kept = 1};
  b.output.resize(40, std::byte{5});
  return b;
}

class batch_files : public testing::Test {
protected:
  batch_files() { std::filesystem::create_directories(folder_); }
  ~batch_files() override { std::filesystem::remove_all(folder_); }

  std::vector<char> content() const {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void replace(const std::vector<char>& content) const {
    std::ofstream(file_, std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
  }
  /// The error of reading it; "" if there is none.
  std::string read() const {
    try {
      static_cast<void>(read_batch_file(file_));
      return {};
    } catch (const std::runtime_error& e) {
      return e.what();
    }
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("l3-batch-files-" + std::to_string(::getpid()));
  std::filesystem::path file_ = folder_ / "one.l3batch";
};

TEST_F(batch_files, come_back_as_they_were_written) {
  const batch_file b = made();
  write_batch_file(file_, b);
  EXPECT_EQ(std::filesystem::file_size(file_), file_bytes(b));
  EXPECT_FALSE(std::filesystem::exists(file_.string() + ".new"));
  EXPECT_TRUE(is_batch_file(file_));
  const batch_file again = read_batch_file(file_);
  EXPECT_EQ(again.about, b.about);
  EXPECT_EQ(again.configuration, b.configuration);
  EXPECT_EQ(again.lines + again.detector + again.calibration, "lddccc");
  EXPECT_EQ(again.input, b.input);
  EXPECT_EQ(again.output, b.output);
  EXPECT_EQ(again.pieces, b.pieces);
  ASSERT_EQ(again.events.size(), 2U);
  EXPECT_EQ(again.events[1].first_fragment, 1U);
  EXPECT_EQ(again.fragments[2].boards, 1U);
  EXPECT_EQ(again.boards[1].slot, 4U);
  EXPECT_EQ(again.results[0].bytes, 40U);
}

TEST_F(batch_files, are_refused_with_any_byte_changed) {
  write_batch_file(file_, made());
  const std::vector<char> good = content();
  for (std::size_t at = 0; at < good.size(); at += 3) { // a section has headers of 24 bytes
    std::vector<char> bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    replace(bad);
    ASSERT_NE(read(), "") << "byte " << at;
  }
}

TEST_F(batch_files, of_another_version_are_refused_by_its_number) {
  write_batch_file(file_, made());
  auto old = content();
  old[4] = 1;
  constexpr std::size_t sealed = 20;
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(old).first(sealed)));
  std::memcpy(old.data() + sealed, &crc, sizeof crc);
  replace(old);
  EXPECT_NE(read().find("has version 1"), std::string::npos);
}

TEST_F(batch_files, are_refused_cut_off_or_grown) {
  write_batch_file(file_, made());
  const std::vector<char> good = content();
  for (std::size_t n = 0; n < good.size(); n += 31) {
    replace({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n)});
    ASSERT_NE(read(), "") << n << " bytes";
  }
  auto longer = good;
  longer.resize(good.size() + 8);
  replace(longer);
  EXPECT_NE(read().find("instead of"), std::string::npos);
}

TEST_F(batch_files, that_cannot_be_written_leave_nothing) {
  EXPECT_THROW(write_batch_file(folder_ / "no" / "folder", made()), std::runtime_error);
  std::filesystem::create_directory(file_); // which no file can replace
  EXPECT_THROW(write_batch_file(file_, made()), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(file_.string() + ".new"));
}

TEST(check_batch, finds_every_index_that_points_elsewhere) {
  EXPECT_EQ(wrong_with(made()), "");
  EXPECT_EQ(wrong_with({}), "");
  const std::vector<std::function<void(batch_file&)>> spoils{
      [](auto& b) { b.events[1].first_fragment = 2; },
      [](auto& b) { b.events[1].fragments = 3; },
      [](auto& b) { b.events[1].fragments = ~0U; },
      [](auto& b) { b.events[1].first_board = 0; },
      [](auto& b) { b.events[0].boards = 2; },
      [](auto& b) { b.events.pop_back(); },
      [](auto& b) { b.fragments.pop_back(); },
      [](auto& b) { b.fragments[0].first_piece = 4; },
      [](auto& b) { b.fragments[0].piece_bytes = 0; },
      [](auto& b) { b.fragments[0].piece_bytes = 401; },
      [](auto& b) { b.fragments[0].bytes = 2000; },
      [](auto& b) { b.fragments[0].bytes = ~0U; },
      [](auto& b) { b.fragments[0].first_board = 1; },
      [](auto& b) { b.fragments[0].boards = 2; },
      [](auto& b) { b.fragments[0].crate = 64; },
      [](auto& b) { b.fragments[1].raw = 2; },
      [](auto& b) { b.fragments[1].boards = 1; },
      [](auto& b) { b.pieces[3] = 2004; },
      [](auto& b) { b.pieces[3] = ~3U; },
      [](auto& b) { b.pieces[3] = 1998; },
      [](auto& b) { b.boards[1].offset = 101; },
      [](auto& b) { b.boards[1].offset = 0xffff; },
      [](auto& b) { b.boards.emplace_back(); },
      [](auto& b) { b.results.pop_back(); },
      // What admission would not let pass.
      [](auto& b) { b.fragments[2].crate = 0; }, // once more
      [](auto& b) { b.boards[1].slot = 2; },
      [](auto& b) { b.boards[1].slot = 19; },
      [](auto& b) { b.boards[1].kind = static_cast<board_kind>(2); },
      [](auto& b) { b.boards[1].opaque = 2; },
      [](auto& b) { // each piece lies in the input, but the last fragment where another does
        b.pieces[3] = 1000;
        b.input.resize(2000);
      },
  };
  for (std::size_t n = 0; n < spoils.size(); ++n) {
    batch_file b = made();
    spoils[n](b);
    EXPECT_NE(wrong_with(b), "") << "spoil " << n;
  }
  // A batch may be kept because its results are wrong: it must be readable all the same.
  batch_file b = made();
  b.results[0] = {.offset = ~std::uint64_t{0}, .bytes = 41};
  b.results[1] = b.results[0];
  EXPECT_EQ(wrong_with(b), "");
}

} // namespace
} // namespace l3
